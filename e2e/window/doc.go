// Package window drives the shipped desktop binary in a real window with real
// mouse and keys (build tag window; `make test` runs it under Xvfb). What the
// page shows is read through WebKit's inspector; pictures go to e2e/out/window.
package window
