package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestPromptsOfAChat(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{Ballast: -1})
	if _, _, err := s.CreateChat(ctx, ChatRecord{ID: "c1", ClientID: "x", Harness: "h"}); err != nil {
		t.Fatal(err)
	}
	for i, it := range []agent.Item{
		{ID: "user-1", Type: agent.ItemUser, Text: "first"}, {ID: "t1", Type: agent.ItemText, Text: "answer"},
		{ID: "user-2", Type: agent.ItemUser, Text: strings.Repeat("x", 40<<10)}, {ID: "user-3", Type: agent.ItemUser, Text: "third"},
		{ID: "user-4", Type: agent.ItemUser},
	} {
		if _, err := s.PutRow(ctx, "c1", model.Row{Item: it, Seq: int64(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Prompts(ctx, "c1", 10)
	if err != nil || !slices.Equal(got, []string{"third", "first"}) {
		t.Errorf("%q %v", got, err)
	}
}
