package changes

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Bounds of what is read and told.
const (
	maxFiles    = 700
	pageRows    = 50
	maxPiece    = 48 << 10  // bytes of one diff that are told at once
	maxPage     = 190 << 10 // bytes of JSON
	maxCompared = 512 << 10 // bytes of an old and a new text that are compared here
)

// Rows reads the rows of a chat whose tools write files, whole, in order: those of
// one turn, or with turn < 0 all; at most limit after a place.
type Rows interface {
	Edits(ctx context.Context, chatID string, turn, after int64, limit int) ([]model.Row, error)
}

// Of is a chat of which changes are told. Turn -1 means all of it.
type Of struct {
	ChatID string
	Cwd    string
	Turn   int64
}

// Summary are the files a chat or a turn changed, by path.
type Summary struct {
	Files          []model.ChangedFile
	Added, Removed int
	Total          int
	Limited        bool
}

// Files sums up what the tools changed. Calls that failed or were refused changed
// nothing.
func Files(ctx context.Context, rows Rows, of Of) (Summary, error) {
	byPath := map[string]*model.ChangedFile{}
	err := each(ctx, rows, of, 0, func(row model.Row) bool {
		path, e := edited(row, of.Cwd)
		f := byPath[path]
		if f == nil {
			f = &model.ChangedFile{Path: path, Rel: below(path, of.Cwd), Turns: []int64{}}
			byPath[path] = f
		}
		f.Created = f.Created || e.created
		f.Added += e.added
		f.Removed += e.removed
		f.Unknown = f.Unknown || e.unknown
		f.Pieces++
		if !slices.Contains(f.Turns, row.Turn) {
			f.Turns = append(f.Turns, row.Turn)
		}
		return true
	})
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Total: len(byPath), Files: make([]model.ChangedFile, 0, len(byPath))}
	for _, f := range byPath {
		s.Added += f.Added
		s.Removed += f.Removed
		s.Files = append(s.Files, *f)
	}
	slices.SortFunc(s.Files, func(a, b model.ChangedFile) int { return strings.Compare(a.Path, b.Path) })
	if len(s.Files) > maxFiles {
		s.Files, s.Limited = s.Files[:maxFiles], true
	}
	return s, nil
}

// each calls f with the rows that changed a file, until it says enough.
func each(ctx context.Context, rows Rows, of Of, after int64, f func(model.Row) bool) error {
	for {
		page, err := rows.Edits(ctx, of.ChatID, of.Turn, after, pageRows)
		if err != nil {
			return err
		}
		for _, row := range page {
			after = row.Seq
			if row.State != agent.StateCompleted || row.Detail == nil || row.Detail.Edit == nil && row.Detail.Write == nil {
				continue
			}
			if !f(row) {
				return nil
			}
		}
		if len(page) < pageRows {
			return nil
		}
	}
}

// edit is what one row changed.
type edit struct {
	added, removed   int
	created, unknown bool
}

func edited(row model.Row, cwd string) (path string, e edit) {
	if w := row.Detail.Write; w != nil {
		return absolute(w.Path, cwd), edit{added: lines(w.Content), created: w.Created, unknown: !w.Created}
	}
	d := row.Detail.Edit
	e = edit{added: d.Added, removed: d.Removed}
	if d.Added == 0 && d.Removed == 0 {
		diff, ok := diffOf(d)
		e.added, e.removed = counted(diff)
		e.unknown = !ok
	}
	return absolute(d.Path, cwd), e
}

func absolute(path, cwd string) string {
	if !filepath.IsAbs(path) && cwd != "" {
		path = filepath.Join(cwd, path)
	}
	return filepath.Clean(path)
}

// below is the path relative to the folder, "" outside of it.
func below(path, cwd string) string {
	rel, err := filepath.Rel(cwd, path)
	if err != nil || cwd == "" || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return filepath.ToSlash(rel)
}

func lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// counted counts the lines of a unified diff without file names.
func counted(diff string) (added, removed int) {
	for line := range strings.Lines(diff) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// diffOf is an edit as a unified diff without file names.
func diffOf(d *agent.EditDetail) (string, bool) {
	if d.Diff != "" {
		return body(d.Diff), true
	}
	if len(d.Old)+len(d.New) > maxCompared {
		return "", false
	}
	diff := body(udiff.Unified("a", "b", d.Old, d.New))
	if at := d.StartLine; at > 1 {
		diff = moved(diff, at-1)
	}
	return diff, true
}

// body cuts the names of files off a unified diff.
func body(diff string) string {
	if i := strings.Index(diff, "@@"); i > 0 && (strings.HasPrefix(diff, "---") || strings.HasPrefix(diff, "diff ") || strings.HasPrefix(diff, "Index:")) {
		return diff[i:]
	}
	return diff
}

// moved adds to the line numbers of a diff's first hunks what stands before the
// text that was compared.
func moved(diff string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		if rest, ok := strings.CutPrefix(line, "@@ -"); ok {
			if old, new, ok := strings.Cut(rest, " +"); ok {
				b.WriteString("@@ -" + shift(old, by) + " +" + shift(new, by))
				continue
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

func shift(s string, by int) string {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return s
	}
	return strconv.Itoa(n+by) + s[end:]
}

// Pieces are the edits of one file in order, as many as one answer holds. Cursor
// and next are places; next is "" at the end.
func Pieces(ctx context.Context, rows Rows, of Of, path, cursor string) (list []model.ChangePiece, next string, err error) {
	after, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil && cursor != "" {
		return nil, "", err
	}
	want := absolute(path, of.Cwd)
	size := 0
	list = []model.ChangePiece{}
	err = each(ctx, rows, of, after, func(row model.Row) bool {
		if p, _ := edited(row, of.Cwd); p != want {
			return true
		}
		piece := pieceOf(row)
		raw, err := json.Marshal(piece)
		if err != nil || len(raw) > maxPage { // escapes can make it six times as long
			piece.Diff = whole(piece.Diff, maxPiece/8)
			raw, _ = json.Marshal(piece)
		}
		if size += len(raw); size > maxPage && len(list) > 0 {
			next = strconv.FormatInt(row.Seq-1, 10)
			return false
		}
		list = append(list, piece)
		return true
	})
	return list, next, err
}

func pieceOf(row model.Row) model.ChangePiece {
	p := model.ChangePiece{ItemID: row.ID, Turn: row.Turn, At: row.At, Title: row.Title}
	if w := row.Detail.Write; w != nil {
		p.Field = "content"
		p.Diff = added(w.Content)
		if !w.Created {
			p.Why = "The file was written over. What stood there before was not told."
		}
	} else {
		var ok bool
		p.Field = "diff"
		if p.Diff, ok = diffOf(row.Detail.Edit); !ok {
			p.Why = "The texts are too large to be compared here."
		}
		if row.Detail.Edit.Diff == "" {
			p.Field = "new"
		}
	}
	if len(p.Diff) > maxPiece {
		p.Cut = int64(len(p.Diff))
		p.Diff = whole(p.Diff, maxPiece)
	} else {
		p.Field = ""
	}
	return p
}

// added shows a text as added.
func added(text string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("@@ -0,0 +1," + strconv.Itoa(lines(text)) + " @@\n")
	for line := range strings.Lines(text) {
		b.WriteByte('+')
		b.WriteString(line)
	}
	return b.String()
}

// whole cuts a text to at most n bytes, at the end of a line where there is one.
func whole(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if i := strings.LastIndexByte(s[:n], '\n'); i > n/2 {
		return s[:i+1]
	}
	return strings.ToValidUTF8(s[:n], "")
}
