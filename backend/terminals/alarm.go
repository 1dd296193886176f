package terminals

import "time"

// alarm is a one-shot timer that is set at most once at a time.
type alarm struct {
	t   *time.Timer
	set bool
}

func newAlarm() *alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &alarm{t: t}
}

// C fires after atMost.
func (a *alarm) C() <-chan time.Time { return a.t.C }

// atMost lets it fire after d, unless it is set already.
func (a *alarm) atMost(d time.Duration) {
	if !a.set {
		a.set = true
		a.t.Reset(d)
	}
}

// fired is called when C was received from.
func (a *alarm) fired() { a.set = false }

func (a *alarm) stop() { a.t.Stop(); a.set = false }
