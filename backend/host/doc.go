// Package host is the composition root: it builds every part of Whippletree but
// the window, starts them in order, serves the API on the socket and stops them
// in order. It is a library, used by `whippletree serve` and by the desktop
// binary with --in-process.
//
// # One host per home
//
// A lock (flock) on <home>/host.lock decides; the file's text names the socket
// and the process. The kernel ends the lock with the process, so what a killed
// host left behind never stops a start.
//
// # Life
//
// Windows and running commands hold leases. A goodbye ends one at once, a lost
// connection after 30 s; without a lease the host ends, unless it is to keep
// running. See leases.go.
package host
