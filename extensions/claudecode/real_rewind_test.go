package claudecode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Going back takes what was said after a message out of the conversation, in
// this process and the next, in the mirror too; files go back on their own.
func TestRealRewindConversationAndFiles(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(l.cwd, "edit.txt")
	const before = "alpha\nbeta\ngamma\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	if !slices.Contains(rec.ready.Abilities, agent.AbilityRewind) {
		t.Errorf("abilities: %v", rec.ready.Abilities)
	}
	id := func(rec *recorder, text string) string {
		return rec.row(t, func(it agent.Item) bool { return it.Type == agent.ItemUser && it.Text == text }).NativeID
	}
	heard := func() string {
		asked := l.server.Turns()
		return string(asked[len(asked)-1].Raw)
	}
	l.completed(chat, "first words")
	edit := "scenario:edit path=" + file
	l.completed(chat, edit)
	l.completed(chat, "third words")

	files := chat.(agent.FileRewinder)
	would, err := files.PreviewRewind(l.ctx(), id(rec, edit))
	if err != nil || !would.Possible || !slices.Equal(would.Files, []string{file}) || would.Insertions != 1 || would.Deletions != 1 {
		t.Errorf("preview: %+v %v", would, err)
	}
	if now, _ := os.ReadFile(file); string(now) == before {
		t.Error("the preview changed the file")
	}
	if err := chat.(agent.Rewinder).Rewind(l.ctx(), id(rec, "third words")); err != nil {
		t.Fatal(err)
	}
	l.completed(chat, "fourth words")
	if said := heard(); strings.Contains(said, "third words") || !strings.Contains(said, "first words") {
		t.Error("what was taken back still reaches the model")
	}
	if err := chat.(agent.Rewinder).Rewind(l.ctx(), id(rec, "third words")); err == nil || !strings.Contains(err.Error(), "not in what Claude Code holds") {
		t.Errorf("went back to what is gone: %v", err)
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}

	// In another process: files and conversation of the one before.
	rec2 := newRecorder()
	chat2 := l.open(rec2, func(r *agent.OpenRequest) { r.Resume = rec.ready.Handle })
	if did, err := chat2.(agent.FileRewinder).RewindFiles(l.ctx(), id(rec, edit)); err != nil || !did.Possible || len(did.Files) != 1 {
		t.Errorf("files: %+v %v", did, err)
	}
	if now, _ := os.ReadFile(file); string(now) != before {
		t.Errorf("the file is %q", now)
	}
	if err := chat2.(agent.Rewinder).Rewind(l.ctx(), id(rec, edit)); err != nil {
		t.Fatal(err)
	}
	// It is written down a moment after the answer.
	written := func(times int) {
		t.Helper()
		path, _ := transcriptPath(configDir(l.host, nil), rec.ready.Handle.NativeID, l.cwd)
		w := l.host.Watcher.Watch(filepath.Dir(path))
		defer w.Close()
		for {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(data), `"rewound":true`) >= times {
				return
			}
			select {
			case <-w.Wake():
				w.Take()
			case <-l.ctx().Done():
				t.Fatal("the way back was not written down")
			}
		}
	}
	mirrored := func() string {
		s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
		defer stop()
		s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
		return s.texts()
	}
	written(2)
	const greeting = "Hello from the scripted model."
	if got := mirrored(); got != "first words | "+greeting {
		t.Errorf("the mirror shows %s", got)
	}
	if err := chat2.(agent.Rewinder).Rewind(l.ctx(), id(rec, "first words")); err != nil {
		t.Fatal(err)
	}
	written(3)
	if got := mirrored(); got != "" {
		t.Errorf("after going back to the beginning the mirror shows %s", got)
	}
	if err := chat2.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	rec3 := newRecorder()
	chat3 := l.open(rec3, func(r *agent.OpenRequest) { r.Resume = rec.ready.Handle })
	l.completed(chat3, "begun anew")
	if said := heard(); strings.Contains(said, "first words") || strings.Contains(said, "fourth words") {
		t.Error("a resume does not follow the way back")
	}
	if got := mirrored(); got != "begun anew | "+greeting {
		t.Errorf("the mirror shows %s", got)
	}
}
