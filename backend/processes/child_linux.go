package processes

// waitExited waits until the process has ended and leaves it unreaped. It
// costs no thread. When the kernel has no pidfd it returns at once and the
// caller's wait does the waiting.
func waitExited(id Identity) {
	f, err := openPidfdAny(id.Pid)
	if err != nil {
		return
	}
	defer f.Close()
	_ = waitPidfd(f)
}

// ReadUnreaped reads a row like Read, a zombie's as well: a parent that has
// not waited yet can tell who its child was.
func ReadUnreaped(pid int) (Proc, error) {
	var buf [1024]byte
	return readStat(pid, buf[:])
}
