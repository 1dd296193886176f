// Package git runs the git program for what is only read: which files a folder
// holds, what differs from the last commit.
//
// It never takes a lock (--no-optional-locks), asks for nothing (no terminal, no
// pager, no credentials), and starts no program that a repository's own
// configuration names: no file system monitor, no hooks, no external diff, no
// text conversion, no filter. Looking at a folder must not run what the folder
// brings along, and a person who looks has not decided to trust it.
//
// Every run is bounded in time and output and ends with its context.
package git
