package terminals

import (
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// update changes what the terminal says of itself; the change is published
// by run.
func (t *terminal) update(change func(*model.Terminal)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.info
	change(&t.info)
	if t.info != before {
		t.dirty = true
	}
}

func (t *terminal) takeChanged() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dirty
}

func (t *terminal) snapshot() model.Terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info
}

// publish tells the change.
func (t *terminal) publish() {
	t.lastChange = time.Now()
	t.mu.Lock()
	t.dirty = false
	info := t.info
	t.mu.Unlock()
	t.m.changed(info, false)
}

// The signals of a program, from the responder.

func (t *terminal) title(s string) {
	if s == "" {
		s = t.name
	}
	t.update(func(i *model.Terminal) { i.Title = s })
}

func (t *terminal) cwd(path string) {
	t.toldCwd = true
	t.update(func(i *model.Terminal) { i.Cwd = path })
}

func (t *terminal) bell() { t.update(func(i *model.Terminal) { i.Bell = true }) }

func (t *terminal) notice(text string) {
	if text != "" && t.m.opt.OnNotice != nil {
		t.m.opt.OnNotice(t.id, text)
	}
}

// promptStarted: the shell is back, so whoever reported a status is not in
// front any more.
func (t *terminal) promptStarted() { t.program(nil) }

// program takes an OSC 7501 report. It lives no longer than the process
// group that was in the foreground when it came.
func (t *terminal) program(p *model.ProgramStatus) {
	t.update(func(i *model.Terminal) { i.Program = p })
	t.wake()
	if p == nil {
		t.forgetProgram()
		return
	}
	id, err := processes.Identify(foreground(t.f))
	if err != nil {
		return
	}
	if t.reporter == id {
		return
	}
	t.forgetProgram()
	stop, err := t.m.exits.Watch(id, func() {
		_ = t.do(func() {
			if t.reporter == id {
				t.program(nil)
			}
		})
	})
	if err != nil {
		t.update(func(i *model.Terminal) { i.Program = nil })
		return
	}
	t.reporter, t.stopWatch = id, stop
}

func (t *terminal) forgetProgram() {
	if t.stopWatch != nil {
		t.stopWatch()
		t.stopWatch = nil
	}
	t.reporter = processes.Identity{}
}
