package claudecode

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// A copy shows what was said before it is made, goes on by itself, and leaves
// the original alone.
func TestRealForkGoesItsOwnWay(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	if _, err := l.h.Provider.(agent.Forker).Fork(l.ctx(), *rec.ready.Handle); err == nil {
		t.Error("an empty session was copied")
	}
	l.completed(chat, "scenario:think")
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	original, ok := transcriptPath(configDir(l.host, nil), rec.ready.Handle.NativeID, l.cwd)
	before, err := os.ReadFile(original)
	if err != nil || !ok {
		t.Fatal(err)
	}
	copied, err := l.h.Provider.(agent.Forker).Fork(l.ctx(), *rec.ready.Handle)
	if err != nil || copied.NativeID == rec.ready.Handle.NativeID {
		t.Fatalf("%+v %v", copied, err)
	}
	s, _ := l.mirror(copied, agent.Position{})
	s.wait(l.ctx(), t, "the rows of the original", func() bool { return s.caught > 0 && len(s.items) > 0 })
	sameRows(t, rec.rows(), s)

	for _, prompt := range []string{"hello copy", "hello again"} { // in a process of its own each
		rec2 := newRecorder()
		chat2 := l.open(rec2, func(r *agent.OpenRequest) { r.Resume = &copied })
		if rec2.ready.Handle.NativeID != copied.NativeID || !agent.AbilityFork.In(rec2.ready.Abilities) {
			t.Errorf("opened %+v", rec2.ready)
		}
		l.completed(chat2, prompt)
		if err := chat2.Close(l.ctx()); err != nil {
			t.Fatal(err)
		}
		copied = *rec2.ready.Handle
	}
	asked := l.server.Turns()
	if last := string(asked[len(asked)-1].Raw); !strings.Contains(last, "scenario:think") || !strings.Contains(last, "hello copy") {
		t.Error("the copy does not know what was said before")
	}
	s.wait(l.ctx(), t, "what was said in the copy", func() bool {
		for _, it := range s.items {
			if it.Text == "hello again" {
				return true
			}
		}
		return false
	})
	whole, _ := l.mirror(copied, agent.Position{})
	whole.wait(l.ctx(), t, "the copy", func() bool { return whole.caught > 0 })
	s.mu.Lock()
	order := strings.Join(s.order, " ")
	s.mu.Unlock()
	whole.mu.Lock()
	if got := strings.Join(whole.order, " "); got != order {
		t.Errorf("followed and read whole differ:\n%s\n%s", order, got)
	}
	whole.mu.Unlock()
	if after, err := os.ReadFile(original); err != nil || string(after) != string(before) {
		t.Errorf("the original was changed: %v", err)
	}
}

func TestRealImagesUsageRenameAndCompaction(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")
	end, err := chat.Prompt(l.ctx(), agent.Prompt{
		Text: "hello image", ClientID: "image-1", Attachments: []agent.Attachment{{Kind: "image", Name: "dot.png", Mime: "image/png", Bytes: png}},
	})
	if err != nil || end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("%+v %v", end, err)
	}
	if raw := string(l.server.Turns()[0].Raw); !strings.Contains(raw, `"media_type":"image/png"`) {
		t.Error("the image did not reach the model")
	}
	u, err := chat.(agent.UsageReporter).Usage(l.ctx())
	if err != nil || u.Input == 0 || u.CostUSD == 0 || u.Context == nil || u.Context.Max == 0 || u.Context.Used == 0 {
		t.Errorf("usage: %+v %v", u, err)
	}
	if len(rec.usage) == 0 || rec.usage[0].Context == nil || rec.usage[0].CacheRead == 0 {
		t.Errorf("usage of the turn: %+v", rec.usage)
	}
	if _, err := chat.(agent.ThinkingSetter).SetThinking(l.ctx(), "high"); err != nil || rec.settings.Thinking != "high" {
		t.Errorf("thinking: %+v %v", rec.settings, err)
	}
	if end, err := chat.(agent.CommandRunner).RunCommand(l.ctx(), "rename", "A new name"); err != nil || end.Outcome != agent.OutcomeCompleted {
		t.Errorf("rename: %+v %v", end, err)
	}
	for i := range 2 { // T12: what was said before a compaction is still shown
		if end, err := chat.(agent.CommandRunner).RunCommand(l.ctx(), "compact", ""); err != nil || end.Outcome != agent.OutcomeCompleted {
			t.Errorf("compact: %+v %v", end, err)
		}
		l.completed(chat, "hello after "+strconv.Itoa(i))
	}
	if end := l.say(chat, "hello after 1"); end.Outcome != agent.OutcomeFailed { // the same message again
		t.Errorf("a repeated message ended %+v", end)
	}
	if it := rec.row(t, ofType(agent.ItemCompaction)); it.Trigger != "manual" || it.TokensBefore == 0 || it.State != agent.StateCompleted {
		t.Errorf("compaction: %+v", it)
	}
	rec.wait(t, "the title", func() bool { return rec.title == "A new name" })
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the title", func() bool { return s.state.Title == "A new name" })
	stop()
	sameRows(t, rec.rows(), s)
}
