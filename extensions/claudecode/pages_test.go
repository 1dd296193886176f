package claudecode

import (
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Case T17: a session is opened on its end, and going back page by page gives the
// rows that reading it whole gives, whatever the size of a page.
func TestCaseT17PagesFromTheEnd(t *testing.T) {
	home := t.TempDir()
	h := bigSession(t, home, "/w/big", 500)
	l := &lab{t: t, host: bigHost(t, home)}
	l.h = New(l.host)
	whole := l.whole(h, agent.Position{})
	for _, size := range []int64{1, 10_000, 100_000, 1 << 30} {
		var ids []string
		items := map[string]agent.Item{}
		var at agent.Position
		for n := 0; ; n++ {
			page, from, err := l.h.Handover.(agent.PageReader).ReadPage(t.Context(), h, at, size)
			if err != nil || n > 5000 || n > 0 && from.Offset >= at.Offset {
				t.Fatal(err, n, from)
			}
			var part []string
			for _, p := range page {
				part = append(part, p.Item.ID)
				items[p.Item.ID] = p.Item
			}
			ids = append(part, ids...)
			if at = from; at.Offset == 0 {
				break
			}
		}
		if d := cmp.Diff(whole.order, ids); d != "" {
			t.Fatalf("pages of %d bytes: %d rows of %d\n%.2000s", size, len(ids), len(whole.order), d)
		}
		if d := cmp.Diff(whole.items, items); d != "" {
			t.Errorf("pages of %d bytes: %.2000s", size, d)
		}
	}
}

// A session of 200 MB is opened on its end in the memory of a page.
func TestCaseT17BigSessionIsOpenedOnItsEnd(t *testing.T) {
	home := t.TempDir()
	h := bigSession(t, home, "/w/big", 6_000)
	l := &lab{t: t, host: bigHost(t, home)}
	l.h = New(l.host)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	page, from, err := l.h.Handover.(agent.PageReader).ReadPage(t.Context(), h, agent.Position{}, 256<<10)
	runtime.ReadMemStats(&after)
	if err != nil || len(page) < 50 || from.Offset == 0 {
		t.Fatal(err, len(page), from)
	}
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 24 {
		t.Errorf("%d MB were allocated for a page of 256 KB", mb)
	}
	if !slices.IsSortedFunc(page, func(a, b agent.PagedItem) int { return int(a.At.Offset - b.At.Offset) }) {
		t.Error("the rows of the page are out of order")
	}
	// A page can be cut where a row says so.
	cut := page[len(page)/2]
	rest, _, err := l.h.Handover.(agent.PageReader).ReadPage(t.Context(), h, cut.At, 256<<10)
	i := slices.IndexFunc(page, func(p agent.PagedItem) bool { return p.At == cut.At })
	if err != nil || i == 0 || rest[len(rest)-1].Item.ID != page[i-1].Item.ID {
		t.Errorf("the page before row %d ends otherwise: %v", i, err)
	}
}
