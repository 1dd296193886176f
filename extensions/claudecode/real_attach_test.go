package claudecode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// A mention is the agent's own: it reads the files that a prompt names after an @,
// also in quotes. A picture goes by its path, and what the agent does not take is
// told behind the person's words, which its own file keeps as they were sent.
func TestRealMentionsAndAttachments(t *testing.T) {
	l := newLab(t)
	for name, text := range map[string]string{"note.txt": "THE-PLAIN-NOTE", "two words.md": "THE-QUOTED-NOTE"} {
		if err := os.WriteFile(filepath.Join(l.cwd, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	png := filepath.Join(t.TempDir(), "dot.png")
	if err := os.WriteFile(png, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder()
	chat := l.open(rec, nil)
	said := `hello, look at @note.txt and @"two words.md" please`
	sent := agent.JoinAttached(said, []string{agent.AttachedFile(agent.Attachment{Name: "r.pdf", Path: "/tmp/r.pdf"}), agent.AttachedText(agent.Attachment{Name: "log"}, "a\n\nb")})
	end, err := chat.Prompt(l.ctx(), agent.Prompt{Text: sent, ClientID: "attach-1", Attachments: []agent.Attachment{{Kind: "image", Name: "dot.png", Mime: "image/png", Path: png}}})
	if err != nil || end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("%+v %v", end, err)
	}
	raw := string(l.server.Turns()[0].Raw)
	for _, want := range []string{"THE-PLAIN-NOTE", "THE-QUOTED-NOTE", `"media_type":"image/png"`, "/tmp/r.pdf"} {
		if !strings.Contains(raw, want) {
			t.Errorf("%s did not reach the model", want)
		}
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the file", func() bool { return s.caught > 0 })
	stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.items {
		if it.Type != agent.ItemUser {
			continue
		}
		if text, list := agent.SplitAttached(it.Text); text != said || len(list) != 2 || list[0].Path != "/tmp/r.pdf" {
			t.Errorf("%q %+v", text, list)
		}
		return
	}
	t.Error("the prompt is not in the agent's own file")
}
