package claudecode

import (
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// S07: a message that may have been delivered before (the host died and does
// not know) is never run twice, and does not hang the chat.
func TestRealSameMessageAgainIsNotRunTwice(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	l.completed(chat, "hello")
	if end := l.say(chat, "hello"); end.Outcome != agent.OutcomeFailed || end.Text == "" {
		t.Errorf("the same again: %+v", end)
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	rec2 := newRecorder()
	again := l.open(rec2, func(r *agent.OpenRequest) { r.Resume = rec.ready.Handle })
	if end := l.say(again, "hello"); end.Outcome != agent.OutcomeFailed {
		t.Errorf("after a resume: %+v", end)
	}
	if n := len(l.server.Turns()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	l.completed(again, "something else")
}
