package chats

import "time"

// Two clocks: durations and deadlines go by now, whose readings are monotonic, so
// that a clock that is set moves none of them; what is stored and shown is wall
// time. The order of rows is their place, never their time.

func (c *chat) now() time.Time { return c.m.o.Now() }

// wall is the time of day in epoch milliseconds.
func (c *chat) wall() int64 { return c.m.o.Wall().UnixMilli() }

// used is the next stamp of a chat's last use: it never goes back, so that the
// list stays in the order of use also after the clock was set back.
func (m *Manager) used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastUse = max(m.lastUse+1, m.o.Wall().UnixMilli())
	return m.lastUse
}

// Deadlines of a chat; one timer serves them all and is armed only while one
// of them is set.
const (
	dlFrame = iota
	dlSave
	dlBound
	dlSilence
	dlAnswer
	dlIdle
	dlAck
	deadlines
)

var noTime time.Time

// deadline sets one deadline; the zero time clears it.
func (c *chat) deadline(which int, at time.Time) {
	c.due[which] = at
	c.arm()
}

func (c *chat) arm() {
	var next time.Time
	for _, at := range c.due {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		c.timer.Stop()
		return
	}
	c.timer.Reset(max(0, next.Sub(c.now())))
}

func (c *chat) fire() {
	now := c.now()
	var ripe [deadlines]bool
	for i, at := range c.due {
		if !at.IsZero() && !at.After(now) {
			ripe[i] = true
			c.due[i] = noTime
		}
	}
	if ripe[dlFrame] {
		c.frame(now)
	}
	if ripe[dlSave] {
		c.save()
	}
	if ripe[dlAck] {
		c.unconfirm(now)
	}
	if ripe[dlBound] {
		c.pastBound()
	}
	if ripe[dlAnswer] {
		c.unanswered()
	}
	if ripe[dlSilence] {
		c.quiet(now)
	}
	if ripe[dlIdle] {
		c.idleOut()
	}
	c.arm()
}
