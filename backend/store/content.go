package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Bounds of texts. A field over inline bytes is kept in the content table in
// parts; a row shows at most shown bytes of it (output: head and tail, others:
// head); chunk is the most that Content serves at once.
const (
	inline = 32 << 10
	shown  = agent.LimitOutputShown
	part   = 32 << 10
	chunk  = 192 << 10
)

// field is one possibly large text of an item. Exactly one of text, raw and
// bytes is set.
type field struct {
	name  string
	text  *string
	raw   *json.RawMessage
	bytes *[]byte
}

func (f field) get() string {
	switch {
	case f.text != nil:
		return *f.text
	case f.raw != nil:
		return string(*f.raw)
	default:
		return base64.StdEncoding.EncodeToString(*f.bytes)
	}
}

// show puts what a row shows of a whole of size bytes; text is its shown part.
func (f field) show(text string) {
	switch {
	case f.text != nil:
		*f.text = text
	case f.raw != nil:
		b, _ := json.Marshal(text) // a string always can
		*f.raw = b
	default:
		*f.bytes = nil
	}
}

// restore puts the whole back.
func (f field) restore(whole string) error {
	switch {
	case f.text != nil:
		*f.text = whole
	case f.raw != nil:
		*f.raw = json.RawMessage(whole)
	default:
		b, err := base64.StdEncoding.DecodeString(whole)
		*f.bytes = b
		return err
	}
	return nil
}

func (f field) size() int {
	if f.bytes != nil {
		return base64.StdEncoding.EncodedLen(len(*f.bytes))
	}
	return len(f.get())
}

// fieldsOf lists the texts of an item that may be large. it must be a detached
// copy when they are going to be changed.
func fieldsOf(it *agent.Item) []field {
	list := []field{{name: "text", text: &it.Text}, {name: "output", text: &it.Output}}
	if d := it.Detail; d != nil {
		if d.Execute != nil {
			list = append(list, field{name: "command", text: &d.Execute.Command})
		}
		if d.Edit != nil {
			list = append(list, field{name: "diff", text: &d.Edit.Diff}, field{name: "old", text: &d.Edit.Old}, field{name: "new", text: &d.Edit.New})
		}
		if d.Write != nil {
			list = append(list, field{name: "content", text: &d.Write.Content})
		}
		if d.Task != nil {
			list = append(list, field{name: "prompt", text: &d.Task.Prompt})
		}
		if d.MCP != nil {
			list = append(list, field{name: "input", raw: &d.MCP.Input})
		}
		if d.Unknown != nil {
			list = append(list, field{name: "input", raw: &d.Unknown.Input}, field{name: "result", raw: &d.Unknown.Output})
		}
	}
	for i := range it.Attachments {
		list = append(list, field{name: fmt.Sprintf("attachment:%d", i), bytes: &it.Attachments[i].Bytes})
	}
	return list
}

// detach copies what fieldsOf points into.
func detach(it agent.Item) agent.Item {
	it.Attachments = slices.Clone(it.Attachments)
	if it.Detail != nil {
		d := *it.Detail
		d.Execute, d.Edit, d.Write = copied(d.Execute), copied(d.Edit), copied(d.Write)
		d.Task, d.MCP, d.Unknown = copied(d.Task), copied(d.MCP), copied(d.Unknown)
		it.Detail = &d
	}
	return it
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// Shorten returns the row as a window gets it: texts over 64 KiB are cut (tool
// output to head and tail, others to the head) and named in Cut with their whole
// size; Content serves the rest. It gives the same row that Tail and its
// siblings read for the whole one.
func Shorten(row model.Row) model.Row {
	cut := false
	for _, f := range fieldsOf(&row.Item) {
		cut = cut || f.size() > f.limit()
	}
	if !cut {
		return row
	}
	row.Item = detach(row.Item)
	row.Cut = maps.Clone(row.Cut)
	for _, f := range fieldsOf(&row.Item) {
		if n := f.size(); n > f.limit() {
			whole := f.get()
			showCut(&row, f, whole[:min(n, shown)], whole[n-min(n, shown/2):], int64(n))
		}
	}
	return row
}

// limit is up to which size a row shows the whole field.
func (f field) limit() int {
	if f.bytes != nil {
		return inline
	}
	return shown
}

// showCut puts the shown part of a field into row: head are its first bytes (at
// most shown), tail its last (at most half of it).
func showCut(row *model.Row, f field, head, tail string, size int64) {
	if row.Cut == nil {
		row.Cut = map[string]int64{}
	}
	row.Cut[f.name] = size
	if f.name != "output" {
		f.show(wholeRunes(head))
		return
	}
	row.OutputSize = int(size)
	f.show(wholeRunes(head[:min(len(head), shown/2)]) + fmt.Sprintf("\n[... %d bytes in all, the middle is left out ...]\n", size) + fromRune(tail))
}

// wholeRunes cuts an unfinished character off the end.
func wholeRunes(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// fromRune cuts the rest of a character off the beginning.
func fromRune(s string) string {
	for i := 0; i < utf8.UTFMax && i < len(s); i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}

// take moves large fields of a detached item out and returns them with sizes.
func take(it *agent.Item) (wholes map[string]string, sizes map[string]int64) {
	for _, f := range fieldsOf(it) {
		if f.size() <= inline {
			continue
		}
		if wholes == nil {
			wholes, sizes = map[string]string{}, map[string]int64{}
		}
		whole := f.get()
		wholes[f.name], sizes[f.name] = whole, int64(len(whole))
		if f.raw != nil {
			*f.raw = nil
		} else {
			f.show("")
		}
	}
	return wholes, sizes
}

func (tx *Tx) putContent(k int64, itemID, name, whole string) error {
	for i := 0; len(whole) > 0; i++ {
		n := min(part, len(whole))
		if err := tx.exec("INSERT INTO content(chat, item_id, field, part, data) VALUES(?,?,?,?,?)", k, itemID, name, i, []byte(whole[:n])); err != nil {
			return err
		}
		whole = whole[n:]
	}
	return nil
}

// contentRange reads length bytes from offset of a stored field.
func contentRange(ctx context.Context, q querier, k int64, itemID, name string, offset, length int64) (string, error) {
	var b strings.Builder
	err := each(ctx, q, func(r *sql.Rows) error {
		var i int64
		var data sql.RawBytes
		if err := r.Scan(&i, &data); err != nil {
			return err
		}
		from := max(0, offset-i*part)
		to := min(int64(len(data)), offset+length-i*part)
		if from < to {
			b.Write(data[from:to])
		}
		return nil
	}, "SELECT part, data FROM content WHERE chat = ? AND item_id = ? AND field = ? AND part BETWEEN ? AND ? ORDER BY part",
		k, itemID, name, offset/part, (offset+length-1)/part)
	return b.String(), err
}

// Content returns at most 192 KiB of a whole field of an item from the byte
// offset on, cut at whole characters. next is 0 at the end; size is the whole
// size in bytes. Fields are the names in Row.Cut (of attachment:N the base64
// text), and those of a row that is not cut. ErrNotFound for anything else.
func (s *Store) Content(ctx context.Context, chatID, itemID, name string, offset int64) (text string, next, size int64, err error) {
	q := s.read()
	var k int64
	var big, body string
	if err := one(ctx, q, []any{&k, &big, &body}, "SELECT chat, big, item FROM rows WHERE chat = (SELECT k FROM chats WHERE id = ?) AND item_id = ?", chatID, itemID); err != nil {
		return "", 0, 0, err
	}
	sizes, err := parseSizes(big)
	if err != nil {
		return "", 0, 0, err
	}
	size, large := sizes[name]
	if !large {
		var it agent.Item
		if err := json.Unmarshal([]byte(body), &it); err != nil {
			return "", 0, 0, err
		}
		i := slices.IndexFunc(fieldsOf(&it), func(f field) bool { return f.name == name })
		if i < 0 {
			return "", 0, 0, fmt.Errorf("field %q: %w", name, ErrNotFound)
		}
		text = fieldsOf(&it)[i].get()
		size = int64(len(text))
		if offset < 0 || offset > size {
			return "", 0, size, errors.New("the offset lies outside the text")
		}
		return text[offset:], 0, size, nil
	}
	if offset < 0 || offset > size {
		return "", 0, size, errors.New("the offset lies outside the text")
	}
	text, err = contentRange(ctx, q, k, itemID, name, offset, chunk)
	if err != nil {
		return "", 0, size, err
	}
	if offset+int64(len(text)) < size {
		text = wholeRunes(text)
		next = offset + int64(len(text))
	}
	return text, next, size, nil
}

func parseSizes(big string) (map[string]int64, error) {
	if big == "" {
		return nil, nil
	}
	var sizes map[string]int64
	return sizes, json.Unmarshal([]byte(big), &sizes)
}
