package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// Formats of a document.
const (
	Markdown = "markdown"
	JSON     = "json"
)

// ErrRequest: the format or the cursor is none of ours.
var ErrRequest = errors.New("this cannot be exported")

// Source is where a chat is read from.
type Source interface {
	Chat(ctx context.Context, id string) (store.ChatRecord, error)
	Turns(ctx context.Context, chatID string) ([]store.Turn, error)
	Queue(ctx context.Context, chatID string) ([]model.QueueEntry, error)
	ChatApprovals(ctx context.Context, chatID string) ([]model.ApprovalCard, error)
	ItemIDs(ctx context.Context, chatID string) (map[string]int64, error)
	// WholeAfter returns the first whole rows after a place, at most limit.
	WholeAfter(ctx context.Context, chatID string, after int64, limit int) ([]model.Row, error)
}

// Chunk is the next part of a document. Next is the cursor of the following
// one, "" at the end.
type Chunk struct {
	Name string // of a file for it
	Mime string
	Text string
	Next string
}

// Bounds of a chunk: bytes of text, and of the text as it stands in JSON.
const (
	chunkBytes = 192 << 10
	chunkJSON  = 224 << 10
)

// Exporter writes documents.
type Exporter struct {
	Source  Source
	Version string // of the program
	Now     func() time.Time
	// AgentName is what a harness is called; nil leaves its id.
	AgentName func(harness string) string
}

// document is one chat being written.
type document struct {
	e     *Exporter
	rec   store.ChatRecord
	turns map[int64]store.Turn
	list  []store.Turn
	cards []model.ApprovalCard
	known map[string]int64 // item ids, when there are cards
	queue []model.QueueEntry
	at    time.Time
	write writer
}

// writer is a format. Each part is a function of the document and the rows
// alone, so that it is the same when a chunk begins in the middle of it.
type writer interface {
	head(*document) (string, error)
	// row writes one row; last is set for the last row of its turn.
	row(d *document, row model.Row, first, last bool) (string, error)
	tail(*document) (string, error)
}

// Chunk returns the part of the document at a cursor ("" is its beginning).
func (e *Exporter) Chunk(ctx context.Context, chatID, format, cursor string) (Chunk, error) {
	d := &document{e: e, turns: map[int64]store.Turn{}}
	c := Chunk{}
	switch format {
	case Markdown:
		d.write, c.Mime, c.Name = markdown{}, "text/markdown", ".md"
	case JSON:
		d.write, c.Mime, c.Name = jsonDocument{}, "application/json", ".json"
	default:
		return Chunk{}, fmt.Errorf("%w: the format is markdown or json, not %q", ErrRequest, format)
	}
	at, err := parsePlace(cursor)
	if err != nil {
		return Chunk{}, err
	}
	if err := d.load(ctx, chatID); err != nil {
		return Chunk{}, err
	}
	if d.at = time.UnixMilli(at.when); at.when == 0 {
		d.at = e.Now()
		at.when = d.at.UnixMilli()
	}
	c.Name = fileName(d.rec) + c.Name
	var b strings.Builder
	for raw, encoded := chunkBytes, chunkJSON; at.part != partEnd; {
		text, next, err := d.part(ctx, at)
		if err != nil {
			return Chunk{}, err
		}
		text = text[min(at.offset, len(text)):]
		n := whole(text, raw)
		for n > 0 && encodedSize(text[:n]) > encoded {
			n = whole(text, n/2)
		}
		b.WriteString(text[:n])
		if n < len(text) {
			at.offset += n
			break
		}
		raw, encoded = raw-n, encoded-encodedSize(text)
		at = next
	}
	c.Text = b.String()
	if at.part != partEnd {
		c.Next = at.String()
	}
	return c, nil
}

func (d *document) load(ctx context.Context, chatID string) (err error) {
	s := d.e.Source
	if d.rec, err = s.Chat(ctx, chatID); err != nil {
		return err
	}
	if d.list, err = s.Turns(ctx, chatID); err != nil {
		return err
	}
	for _, t := range d.list {
		d.turns[t.Turn] = t
	}
	if d.queue, err = s.Queue(ctx, chatID); err != nil {
		return err
	}
	if d.cards, err = s.ChatApprovals(ctx, chatID); err != nil || len(d.cards) == 0 {
		return err
	}
	ids, err := s.ItemIDs(ctx, chatID)
	d.known = ids
	return err
}

// part writes the part at a place and says where the next one begins.
func (d *document) part(ctx context.Context, at place) (string, place, error) {
	next := place{part: partRows, when: at.when}
	switch at.part {
	case partHead:
		text, err := d.write.head(d)
		return text, next, err
	case partTail:
		text, err := d.write.tail(d)
		return text, place{part: partEnd}, err
	}
	rows, err := d.e.Source.WholeAfter(ctx, d.rec.ID, at.after, 2)
	if err != nil {
		return "", place{}, err
	}
	if len(rows) == 0 {
		next.part = partTail
		return "", next, nil
	}
	next.after = rows[0].Seq
	last := len(rows) == 1 || rows[1].Turn != rows[0].Turn
	text, err := d.write.row(d, rows[0], at.after == 0, last)
	return text, next, err
}

// agentName is what the agent is called.
func (d *document) agentName() string {
	if f := d.e.AgentName; f != nil {
		if name := f(d.rec.Harness); name != "" {
			return name
		}
	}
	return d.rec.Harness
}

// Parts of a document.
const (
	partHead = "h"
	partRows = "r"
	partTail = "t"
	partEnd  = ""
)

// place is where a chunk begins: which part, behind which row, how many bytes
// into it, and when the document was begun.
type place struct {
	part   string
	after  int64
	offset int
	when   int64
}

func (p place) String() string {
	return fmt.Sprintf("%s.%d.%d.%d", p.part, p.after, p.offset, p.when)
}

func parsePlace(cursor string) (place, error) {
	if cursor == "" {
		return place{part: partHead}, nil
	}
	f := strings.Split(cursor, ".")
	bad := fmt.Errorf("%w: the cursor %q is none of ours", ErrRequest, cursor)
	if len(f) != 4 || f[0] != partHead && f[0] != partRows && f[0] != partTail {
		return place{}, bad
	}
	p := place{part: f[0]}
	var err1, err2, err3 error
	p.after, err1 = strconv.ParseInt(f[1], 10, 64)
	p.offset, err2 = strconv.Atoi(f[2])
	p.when, err3 = strconv.ParseInt(f[3], 10, 64)
	if errors.Join(err1, err2, err3) != nil || p.offset < 0 || p.after < 0 || p.when < 0 {
		return place{}, bad
	}
	return p, nil
}

// whole is how many bytes of s, at most n, end at a character's end.
func whole(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// encodedSize is the size of s as the API sends it.
func encodedSize(s string) int {
	b, err := json.Marshal(s)
	if err != nil {
		return len(s)
	}
	return len(b)
}

// fileName of a document, without its ending: the title in letters and digits,
// then the day.
func fileName(rec store.ChatRecord) string {
	var b strings.Builder
	for _, r := range rec.Title {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 60 {
			break
		}
	}
	name := strings.Trim(b.String(), "-")
	if name == "" {
		name = "chat"
	}
	return name + "-" + time.UnixMilli(rec.CreatedAt).UTC().Format("2006-01-02")
}

// cardsOf are the cards that belong behind a row: its own, and behind the last
// row of a turn those of no row.
func (d *document) cardsOf(row model.Row, last bool) []model.ApprovalCard {
	var list []model.ApprovalCard
	for _, c := range d.cards {
		if _, itsRow := d.known[c.ItemID]; c.ItemID == row.ID || last && !itsRow && c.Turn == row.Turn {
			list = append(list, c)
		}
	}
	return list
}

// loose are the cards that belong behind no row.
func (d *document) loose() []model.ApprovalCard {
	var list []model.ApprovalCard
	for _, c := range d.cards {
		_, itsRow := d.known[c.ItemID]
		if _, itsTurn := d.turns[c.Turn]; !itsRow && !itsTurn {
			list = append(list, c)
		}
	}
	return list
}

// end is how a turn ended behind its last row; nil when it is open or unknown.
func (d *document) end(row model.Row, last bool) *agent.TurnEnd {
	if t, ok := d.turns[row.Turn]; ok && last {
		return t.End
	}
	return nil
}
