package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// A list is cut to what one answer holds; what is behind the cut is a page, a
// text or the beginning of an id away.
func TestThousandsOfChatsStayReachable(t *testing.T) {
	const many = 5000
	w := newWorld(t, "")
	st, err := store.Open(w.home)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ids := make([]string, many)
	for part := range 50 {
		wg.Go(func() {
			for i := part; i < many; i += 50 {
				ids[i] = uuid.NewString()
				if _, _, err := st.CreateChat(t.Context(), store.ChatRecord{
					ID: ids[i], ClientID: ids[i], Title: fmt.Sprintf("Chat number %d", i), Harness: "rehearsal", Kind: agent.KindWorkspace,
					Cwd: w.work, Hand: model.Hand{State: model.HandApp}, CreatedAt: int64(i + 1), UpdatedAt: int64(i + 1),
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}

	w.serve("--keep")
	c := w.client(api.ClientOptions{})
	var r api.Listing
	seen := map[string]bool{}
	for pages := 1; ; pages++ {
		got, err := api.Call[api.Chats](t.Context(), c, "chats.list", r)
		if err != nil || got.Total != many || len(got.Chats) == 0 {
			t.Fatalf("page %d: %d chats of %d, %v", pages, len(got.Chats), got.Total, err)
		}
		for _, x := range got.Chats {
			if seen[x.ID] {
				t.Fatalf("%s is on two pages", x.Title)
			}
			seen[x.ID] = true
		}
		if r.Cursor = got.Next; r.Cursor == "" {
			if pages < 2 {
				t.Error("everything fitted one page; the test is too small")
			}
			break
		}
	}
	if len(seen) != many {
		t.Errorf("the pages hold %d chats", len(seen))
	}
	got, err := api.Call[api.Chats](t.Context(), c, "chats.list", api.Listing{Limit: 3, Cursor: ids[many-1]})
	if err != nil || len(got.Chats) != 3 || got.Chats[0].ID != ids[many-2] || got.Next != ids[many-4] {
		t.Errorf("%d chats, next %q, %v", len(got.Chats), got.Next, err)
	}
	if _, err := api.Call[api.Chats](t.Context(), c, "chats.list", api.Listing{Cursor: "gone"}); codeText(err) != api.CodeConflict {
		t.Errorf("a cursor that is gone: %v", err)
	}

	// The oldest is far behind the cut.
	if r := w.cli("stop", ids[0][:13]); r.code != 0 {
		t.Errorf("by the beginning of its id: %+v", r)
	}
	if r := w.cli("stop", "not-there"); r.code != exitNotFound {
		t.Errorf("one that is not there: %+v", r)
	}
	if r := w.cli("chats", "number 7 "); r.code != 0 || strings.Contains(r.out, "number") {
		t.Errorf("%+v", r)
	}
	if r := w.cli("chats", "NUMBER 4999"); r.code != 0 || strings.Count(r.out, "Chat number") != 1 || !strings.Contains(r.out, ids[4999]) {
		t.Errorf("%+v", r)
	}
	all := w.cli("chats", "--json")
	var list api.Chats
	if err := json.Unmarshal([]byte(all.out), &list); err != nil || len(list.Chats) != many {
		t.Errorf("the command lists %d chats, %v", len(list.Chats), err)
	}
}
