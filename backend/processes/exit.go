package processes

// ExitWatcher tells when processes end, children of ours or not. It costs one
// descriptor per process on Linux and one for all on macOS, and no timer.
//
// Watch calls ended exactly once when the process ends, from a goroutine of
// the watcher; ended may call Watch and stop but must not wait for Close. It
// fails with ErrGone when the process is not there any more, and then never
// calls. stop ends the watch; it does not wait for an ended that already
// runs. Close ends all watches and waits for the watcher's goroutines.
type ExitWatcher struct {
	impl exitWatcher
}

// NewExitWatcher makes a watcher. It starts nothing by itself.
func NewExitWatcher() *ExitWatcher {
	w := &ExitWatcher{}
	w.impl.init()
	return w
}

// Watch starts to watch exactly this process.
func (w *ExitWatcher) Watch(id Identity, ended func()) (stop func(), err error) {
	return w.impl.watch(id, ended)
}

// Close ends all watches without calling them.
func (w *ExitWatcher) Close() { w.impl.close() }
