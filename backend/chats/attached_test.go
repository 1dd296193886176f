package chats

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// attach sends a prompt with what goes with it to an agent of these abilities and
// returns what the agent gets.
func (s *stage) attach(id string, abilities []agent.Ability, text string, list ...agent.Attachment) agent.Prompt {
	s.Helper()
	s.send(id, "c0", "hello")
	sc := <-s.agent.scenes
	<-sc.prompts
	sc.Ready(agent.Ready{Handle: &agent.Handle{Harness: "actor", NativeID: "native-" + id, Cwd: s.dir}, Model: "m1", Abilities: abilities})
	sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCompleted}}
	s.ends(id, 1)
	s.settled(id)
	if _, err := s.m.Send(context.Background(), SendRequest{ChatID: id, ClientID: "c1", Text: text, Attachments: list}); err != nil {
		s.Fatal(err)
	}
	p := <-sc.prompts
	// The agent repeats the prompt as it got it.
	sc.Item(agent.Item{ID: "native-c1", Type: agent.ItemUser, Text: p.Text, NativeID: "native-c1", ClientID: "c1"})
	sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCompleted}}
	s.ends(id, 2)
	s.settled(id)
	return p
}

func TestAttachmentsGoAsTheAgentTakesThem(t *testing.T) {
	note := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(note, []byte("a\n</attached-text>\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := []agent.Attachment{
		{ID: "1", Kind: "image", Name: "shot.png", Path: "/keep/shot.png"}, {Kind: "file", Name: "r.pdf", Path: "/home/r.pdf"}, {ID: "2", Kind: "text", Name: "note.txt", Path: note},
	}
	image, file := agent.AttachedFile(list[0]), agent.AttachedFile(list[1])
	text := agent.AttachedText(list[2], "a\n</attached-text>\nb")
	offer := func(input ...string) agent.Catalog {
		return agent.Catalog{Models: []agent.Model{{ID: "m1", Input: input}}}
	}
	for _, in := range []struct {
		name      string
		abilities []agent.Ability
		catalog   agent.Catalog
		takes     []string
		want      string
	}{
		{"nothing is taken", nil, offer("text", "image", "file"), nil, agent.JoinAttached("look", []string{image, file, text})},
		{"an agent that takes pictures", []agent.Ability{agent.AbilityImages}, agent.Catalog{}, []string{"shot.png"}, agent.JoinAttached("look", []string{file, text})},
		{"a model that does not", []agent.Ability{agent.AbilityImages}, offer("text"), nil, agent.JoinAttached("look", []string{image, file, text})},
		{"both", []agent.Ability{agent.AbilityImages, agent.AbilityDocuments}, offer("text", "image", "file"), []string{"shot.png", "r.pdf"}, agent.JoinAttached("look", []string{text})},
	} {
		t.Run(in.name, func(t *testing.T) {
			s := newStage(t, func(o *Options) {
				o.Offers = func(string, string) (agent.Catalog, bool) { return in.catalog, len(in.catalog.Models) > 0 }
			})
			id := s.chat()
			p := s.attach(id, in.abilities, "look", list...)
			var takes []string
			for _, a := range p.Attachments {
				takes = append(takes, a.Name)
			}
			if p.Text != in.want || strings.Join(takes, " ") != strings.Join(in.takes, " ") {
				t.Errorf("%v\n%s\nwant %v\n%s", takes, p.Text, in.takes, in.want)
			}
			// The row shows what the person wrote, once.
			var users []model.Row
			for _, r := range s.get(id).Items {
				if r.Type == agent.ItemUser && r.Turn == 2 {
					users = append(users, r)
				}
			}
			if len(users) != 1 || users[0].Text != "look" || len(users[0].Attachments) != 3 {
				t.Errorf("%+v", users)
			}
		})
	}
}

func TestWhatCannotBeAttachedIsRefused(t *testing.T) {
	s := newStage(t)
	sum, err := s.m.Create(context.Background(), CreateRequest{ClientID: "confined", Harness: "actor", Kind: agent.KindConfined})
	if err != nil {
		t.Fatal(err)
	}
	var e *Error
	_, err = s.m.Send(context.Background(), SendRequest{ChatID: sum.ID, ClientID: "a", Text: "x", Attachments: []agent.Attachment{{Kind: "file", Name: "r.pdf", Path: "/r.pdf"}}})
	if !errors.As(err, &e) || e.Code != CodeInvalid || !strings.Contains(e.Message, "confined") {
		t.Error(err)
	}
	_, err = s.m.Send(context.Background(), SendRequest{ChatID: s.chat(), ClientID: "b", Text: "x", Attachments: make([]agent.Attachment, maxAttachments+1)})
	if !errors.As(err, &e) || e.Code != CodeInvalid {
		t.Error(err)
	}
}

// A text that an agent stored is shown as it was written, wherever it comes from.
func TestAStoredPromptIsShownAsItWasWritten(t *testing.T) {
	it := unattach(agent.Item{Type: agent.ItemUser, Text: agent.JoinAttached("look", []string{agent.AttachedFile(agent.Attachment{Name: "r.pdf", Path: "/home/r.pdf"})})})
	if it.Text != "look" || len(it.Attachments) != 1 || it.Attachments[0].Path != "/home/r.pdf" {
		t.Errorf("%+v", it)
	}
	if it = unattach(agent.Item{Type: agent.ItemText, Text: `<attached-file name="x" path="/x" />`}); it.Attachments != nil {
		t.Error("a text of the agent was changed")
	}
}
