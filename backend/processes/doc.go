// Package processes knows the processes of this machine: who they are (a pid
// alone is not an identity), who their ancestors are, when they start and
// end; and it starts, ends and accounts for the helpers of the host.
//
// It imports nothing of ours and holds no global state. Nothing in it runs
// while nothing happens: exits arrive from the kernel (pidfd on Linux, kqueue
// on macOS), starts from the process connector or from a hint.
package processes
