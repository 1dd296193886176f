package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

func item(t *rapid.T) agent.Item {
	big := rapid.Custom(func(t *rapid.T) string {
		unit := rapid.SampledFrom([]string{"x", "я", "連", "👩‍👩‍👧", "a\n", "\x00", `"`}).Draw(t, "unit")
		size := rapid.SampledFrom([]int{0, 1, inline - 1, inline, inline + 1, part*2 - 1, shown - 1, shown, shown + 1, shown + part, chunk + 5}).Draw(t, "size")
		return strings.Repeat(unit, size/len(unit)+1)
	})
	it := agent.Item{ID: "i", Type: agent.ItemTool, CallID: "c", Name: "n", State: agent.StateCompleted, Output: big.Draw(t, "output")}
	raw, _ := json.Marshal(map[string]string{"k": big.Draw(t, "raw")})
	switch rapid.IntRange(0, 4).Draw(t, "detail") {
	case 0:
		it.Detail = &agent.Detail{Edit: &agent.EditDetail{Path: "p", Old: big.Draw(t, "old"), New: big.Draw(t, "new"), Diff: big.Draw(t, "diff")}}
	case 1:
		it.Detail = &agent.Detail{Write: &agent.WriteDetail{Path: "p", Content: big.Draw(t, "content")}}
	case 2:
		it.Detail = &agent.Detail{MCP: &agent.MCPDetail{Server: "s", Tool: "t", Input: raw}}
	case 3:
		it.Detail = &agent.Detail{Unknown: &agent.UnknownDetail{Input: raw, Output: raw}}
	case 4:
		it.Text = big.Draw(t, "text")
		it.Attachments = []agent.Attachment{{Kind: "image", Name: "n", Bytes: []byte(big.Draw(t, "bytes"))}}
	}
	return it
}

func TestBigItemsComeBackWhole(t *testing.T) {
	// The items are large; a few of them meet every border.
	if err := flag.Set("rapid.checks", "25"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = flag.Set("rapid.checks", "100") }()
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	rapid.Check(t, func(t *rapid.T) {
		want := model.Row{Item: item(t)}
		before, _ := json.Marshal(want)
		if err := s.PutRows(ctx, "c", text("i", "small"), want, text("after", "x"), want); err != nil {
			t.Fatal(err)
		}
		if now, _ := json.Marshal(want); !bytes.Equal(now, before) {
			t.Fatal("storing changed the caller's item")
		}
		got, err := s.Row(ctx, "c", "i")
		if err != nil {
			t.Fatal(err)
		}
		if !agent.SameRow(got.Item, want.Item) || len(got.Cut) != 0 {
			t.Fatalf("another item came back")
		}
		tail, err := s.Tail(ctx, "c", 10)
		if err != nil || len(tail) != 2 {
			t.Fatalf("%d rows, %v", len(tail), err)
		}
		live := Shorten(want)
		live.Seq = tail[0].Seq
		a, _ := json.Marshal(tail[0])
		b, _ := json.Marshal(live)
		if !bytes.Equal(a, b) {
			t.Fatalf("stored and live differ:\n%.300s\n%.300s", a, b)
		}
		whole := detach(want.Item)
		for _, f := range fieldsOf(&whole) {
			var all strings.Builder
			for offset := int64(0); ; {
				text, next, size, err := s.Content(ctx, "c", "i", f.name, offset)
				if err != nil || size != int64(f.size()) || len(text) > chunk {
					t.Fatalf("%s at %d: size %d of %d, %d bytes, %v", f.name, offset, size, f.size(), len(text), err)
				}
				all.WriteString(text)
				if next == 0 {
					break
				}
				offset = next
			}
			if all.String() != f.get() {
				t.Fatalf("%s: the chunks are not the whole", f.name)
			}
		}
	})
	if err := s.DeleteRows(ctx, "c", 2); err != nil {
		t.Fatal(err)
	}
	if n, last, err := s.CountRows(ctx, "c"); err != nil || n != 1 || last != 1 {
		t.Errorf("after the rewind %d rows, last %d, %v", n, last, err)
	}
}

func TestShortenedRowIsNeverStored(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	if _, err := s.PutRow(ctx, "c", Shorten(text("a", strings.Repeat("x", shown+1)))); !errors.Is(err, ErrConflict) {
		t.Errorf("stored a shortened row: %v", err)
	}
	if _, err := s.PutRow(ctx, "nobody", text("a", "x")); !errors.Is(err, ErrNotFound) {
		t.Errorf("a row without a chat: %v", err)
	}
}

func TestPagesMeet(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	for i := range 25 {
		if _, err := s.PutRow(ctx, "c", text(fmt.Sprint(i), "x")); err != nil {
			t.Fatal(err)
		}
	}
	var up []int64
	for before := int64(0); ; {
		page, err := s.Before(ctx, "c", before, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		before = page[0].Seq
		for i := len(page) - 1; i >= 0; i-- {
			up = append(up, page[i].Seq)
		}
	}
	if len(up) != 25 || up[0] != 25 || up[24] != 1 {
		t.Errorf("paging up gave %v", up)
	}
	down, err := s.After(ctx, "c", 20, 100)
	if err != nil || len(down) != 5 || down[0].Seq != 21 {
		t.Errorf("after 20: %d rows, %v", len(down), err)
	}
}
