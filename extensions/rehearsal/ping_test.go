package rehearsal

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// TestPing: a program answers for itself in a silent turn; one that is stopped
// does not.
func TestPing(t *testing.T) {
	rec, s := openChat(t, "--silent")
	rec.BeginPrompt()
	done := make(chan struct{})
	go func() {
		defer close(done)
		end, err := s.Prompt(context.Background(), agent.Prompt{Text: "hello", ClientID: "c"})
		rec.EndPrompt(end, err)
	}()
	rec.MustWait(t, deadline, "our own row", func() bool { return len(rec.Items()) == 1 })
	p := s.(agent.Pinger)
	if err := p.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	pid := rec.ReadyEvents()[0].Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// A signal stops a program a moment later, and one thread after the other.
	for end := time.Now().Add(deadline); !processes.Frozen(pid); {
		if time.Now().After(end) {
			t.Fatal("it does not stop")
		}
		<-time.After(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if p.Ping(ctx) == nil {
		t.Error("a stopped program answered")
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := s.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	<-done
}
