package agentkit

import "syscall"

// mtime is a file's time of change, in nanoseconds of the epoch.
func mtime(st *syscall.Stat_t) int64 { return st.Mtimespec.Nano() }
