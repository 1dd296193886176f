// Package shell is what the desktop window needs beside the webview itself:
// starting and supervising the host, raising the one main window, noticing that
// the page died, the environment WebKit needs, links that may leave the window
// and where the window stood. It has no domain logic and needs neither cgo nor
// a display, so that it is tested without them.
package shell
