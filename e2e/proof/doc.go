// Package proof holds the end-to-end tests of the main job: the real host
// binary, the real Claude Code against the scripted model, real terminals (tabs
// of ours, tmux, xterm). Nothing of the product runs inside the test process; it
// is one more client of the host's socket. They need the tag agents.
package proof
