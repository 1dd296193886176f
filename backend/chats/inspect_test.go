package chats

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// What the agent of the tests can do beside turns: it names files by the message
// it is asked about, and "n-lost" is one it does not know.
func (s *scene) PreviewRewind(_ context.Context, id string) (agent.FileRewind, error) {
	if id == "n-lost" {
		return agent.FileRewind{WhyNot: "no copy was kept"}, nil
	}
	return agent.FileRewind{Possible: true, Files: []string{"/w/" + id}, Insertions: 2}, nil
}

func (s *scene) RewindFiles(ctx context.Context, id string) (agent.FileRewind, error) {
	return s.PreviewRewind(ctx, id)
}

func (s *scene) Inspect(context.Context) (agent.Inspection, error) {
	return agent.Inspection{Servers: []agent.ServerState{{Name: "lab", Status: "failed", Error: "it ended"}}}, nil
}

func (s *scene) CancelItem(_ context.Context, id string) error {
	if id != "sub" {
		return errors.New("nothing of this kind runs")
	}
	return nil
}

func TestRewindFilesAlone(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.Item(agent.Item{ID: "n1", Type: agent.ItemUser, ClientID: "c1", NativeID: "n1", Text: "go"})
	sc.say("t1", "one", true)
	sc.done()
	s.ends(id, 1)
	p, err := s.m.PreviewRewind(ctx, id, "user-c1")
	if err != nil || !p.Conversation || p.Rows != 2 || p.Files == nil || !p.Files.Possible || p.Files.Files[0] != "/w/n1" {
		t.Fatalf("%+v %v", p, err)
	}
	if err := s.m.Rewind(ctx, id, "user-c1", RewindFiles); err != nil {
		t.Fatal(err)
	}
	items := s.get(id).Items
	if len(items) != 3 || items[2].Type != agent.ItemNotice || !strings.Contains(items[2].Text, "put back") {
		t.Fatalf("%+v", items)
	}
	if err := s.m.Rewind(ctx, id, "user-c1", "everything"); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if err := s.m.Rewind(ctx, id, "user-c1", RewindBoth); err != nil {
		t.Fatal(err)
	}
	if items := s.get(id).Items; len(items) != 0 {
		t.Fatalf("%+v", items)
	}
}

// Files that cannot be put back leave everything as it was.
func TestRewindBothStopsAtTheFiles(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.Item(agent.Item{ID: "n-lost", Type: agent.ItemUser, ClientID: "c1", NativeID: "n-lost", Text: "go"})
	sc.done()
	s.ends(id, 1)
	if err := s.m.Rewind(ctx, id, "user-c1", RewindBoth); err == nil || !strings.Contains(err.Error(), "no copy was kept") {
		t.Fatal(err)
	}
	if items := s.get(id).Items; len(items) != 1 {
		t.Fatalf("%+v", items)
	}
	if _, err := s.m.PreviewRewind(ctx, id, "user-none"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func TestStatusAsksOnlyALivingAgent(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	st, err := s.m.Status(ctx, id) // also while a turn runs
	if err != nil || st.Inspection == nil || st.Inspection.Servers[0].Error != "it ended" {
		t.Fatalf("%+v %v", st, err)
	}
	if err := s.m.CancelItem(ctx, id, "sub"); err != nil {
		t.Fatal(err)
	}
	if err := s.m.CancelItem(ctx, id, "t1"); err == nil || !strings.Contains(err.Error(), "nothing of this kind runs") {
		t.Fatal(err)
	}
	sc.done()
	s.ends(id, 1)
	if err := s.m.CloseChat(ctx, id); err != nil {
		t.Fatal(err)
	}
	if st, err := s.m.Status(ctx, id); err != nil || st.Inspection != nil {
		t.Fatalf("%+v %v", st, err)
	}
	if err := s.m.CancelItem(ctx, id, "sub"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if len(s.agent.scenes) != 0 {
		t.Error("an agent was started to be asked")
	}
}

func (s *scene) Rename(_ context.Context, title string) error {
	if title == "refused" {
		return errors.New("no")
	}
	s.Title("the agent's own: " + title) // a person's title stays
	s.Item(agent.Item{ID: "renamed-" + title, Type: agent.ItemNotice, Level: agent.LevelInfo, Text: "renamed " + title})
	return nil
}

// A person's title goes to the agent's own session: at once while it lives, else
// at the end of its next turn, and once.
func TestTitleIsToldToTheAgent(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	title := func(text string) {
		t.Helper()
		if _, _, err := s.m.Set(ctx, Caller{}, id, "title", json.RawMessage(`"`+text+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	told := func() (list []string) {
		for _, r := range s.get(id).Items {
			if name, ok := strings.CutPrefix(r.ID, "renamed-"); ok {
				list = append(list, name)
			}
		}
		return list
	}
	title("one")
	s.log.until(t, "the first title", func() bool { return slices.Equal(told(), []string{"one"}) })
	sc.done()
	s.ends(id, 1)
	if err := s.m.CloseChat(ctx, id); err != nil {
		t.Fatal(err)
	}
	title("two")
	title("refused")
	title("three")
	s.send(id, "c2", "go on")
	sc = s.scene()
	s.prompt(sc)
	if got := told(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("told before there is something to name: %v", got)
	}
	sc.done()
	s.ends(id, 2)
	s.log.until(t, "the last title", func() bool { return slices.Equal(told(), []string{"one", "three"}) })
	if got := s.get(id).Title; got != "three" {
		t.Errorf("the title is %q", got)
	}
}
