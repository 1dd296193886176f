package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func pagedRows(n, size, perTurn int) []agent.PagedItem {
	var rows []agent.PagedItem
	for i := range n {
		at := agent.Position{Offset: int64(1000 + i/perTurn), RecordID: fmt.Sprint("r", i/perTurn)}
		rows = append(rows, agent.PagedItem{Item: agent.Item{ID: fmt.Sprint("i", i), Type: agent.ItemText, Text: strings.Repeat("x", size)}, At: at})
	}
	return rows
}

// A page fits an answer, ends with its last row, and what it leaves out comes with
// the next one.
func TestSessionPageFits(t *testing.T) {
	from := agent.Position{Offset: 500}
	for _, c := range []struct {
		n, size, perTurn int
		first            string
		before           int64
	}{
		{10, 100, 2, "i0", 500},
		{100, 10_000, 2, "i76", 1038},
		{100, 10_000, 100, "i75", 1000}, // one turn: its beginning is left out
		{40, 100_000, 1, "i33", 1033},   // each is cut
	} {
		p := fitPage(pagedRows(c.n, c.size, c.perTurn), from)
		if len(p.Items) == 0 || p.Items[0].ID != c.first || p.Items[len(p.Items)-1].ID != fmt.Sprint("i", c.n-1) || p.Before == nil || p.Before.Offset != c.before {
			t.Errorf("%+v: from %s, before %+v, %d items", c, p.Items[0].ID, p.Before, len(p.Items))
		}
	}
	if p := fitPage(pagedRows(3, 10, 1), agent.Position{}); p.Before != nil || len(p.Items) != 3 {
		t.Errorf("at the beginning: %+v", p)
	}
}
