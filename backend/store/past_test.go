package store

import (
	"slices"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestPastApprovalsOfOneChat(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "one")
	newChat(t, s, "two")
	put := func(chat, id string, at int64, state model.CardState) {
		card := model.ApprovalCard{Approval: agent.Approval{ID: id, Kind: agent.ApprovalTool, Title: id}, ChatID: chat, At: at, Revision: 1, State: model.CardOpen}
		if err := s.InsertApproval(ctx, card); err != nil {
			t.Fatal(err)
		}
		if err := s.UpdateApproval(ctx, chat, id, 1, func(c *model.ApprovalCard) { c.State = state }); err != nil {
			t.Fatal(err)
		}
	}
	put("one", "a", 10, model.CardConfirmed)
	put("one", "b", 20, model.CardWithdrawn)
	put("one", "c", 30, model.CardSent)
	put("one", "d", 40, model.CardOpen)
	put("two", "e", 25, model.CardConfirmed)
	for _, c := range []struct {
		before int64
		limit  int
		want   []string
		more   bool
	}{
		{0, 10, []string{"c", "b", "a"}, false},
		{0, 2, []string{"c", "b"}, true},
		{20, 2, []string{"a"}, false},
		{10, 2, nil, false},
	} {
		list, more, err := s.PastApprovals(ctx, "one", c.before, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, x := range list {
			ids = append(ids, x.ID)
		}
		if !slices.Equal(ids, c.want) || more != c.more {
			t.Errorf("before %d, at most %d: %v, more %v; want %v, %v", c.before, c.limit, ids, more, c.want, c.more)
		}
	}
}
