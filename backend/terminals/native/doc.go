// Package native works with the terminals that are not ours: it finds which
// are installed, opens a command in one, tells where a process runs (a
// terminal app, a tmux pane) and raises that place.
//
// A command is never passed as a string to a terminal: each gets the path of
// one launch script, which reports the agent's own process, its exit and the
// terminal it runs in, and then deletes itself.
package native
