package claudecode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// How much of each end of a transcript is read for its facts, in bytes: a little,
// and more when the first prompt or the last answer is not in it.
const (
	firstWindow = 16 << 10
	lastWindow  = 1 << 20
	// lastRecords is how much of the end is looked at record by record first.
	lastRecords = 4 << 10
)

// factsReader reads the facts of transcripts; one goroutine uses it.
type factsReader struct {
	ends agentkit.Ends
	recs agentkit.Records
	side agentkit.Records // titles and modes, wherever they stand
}

func newFactsReader() *factsReader {
	return &factsReader{
		recs: agentkit.Records{Known: knownTypes},
		side: agentkit.Records{Known: map[string]bool{"custom-title": true, "ai-title": true, "permission-mode": true}},
	}
}

// read gathers the facts out of the ends of a file.
func (x *factsReader) read(path string, now time.Time) (f facts, stamp agentkit.Stamp, state agentkit.TailState, err error) {
	for window := int64(firstWindow); ; window *= 4 {
		if stamp, state, err = x.ends.Read(path, window); err != nil {
			return f, stamp, state, err
		}
		f = x.fold(now)
		if !x.ends.Gap() || window >= lastWindow || f.First != "" && f.Cwd != "" && f.Model != "" {
			return f, stamp, state, nil
		}
	}
}

func (x *factsReader) fold(now time.Time) facts {
	x.recs.Counts = agentkit.RecordCounts{}
	begin := facts{now: now.UnixMilli()}
	after := x.ends.First(func(l agentkit.Line) bool {
		x.recs.Take(l, begin.add)
		return begin.First == "" || begin.Cwd == ""
	})
	skipped := x.recs.Counts.Skipped
	var f facts
	for n := int64(lastRecords); ; n *= 4 {
		f = begin
		f.Open, f.last = nil, bytes.Clone(begin.last)
		x.recs.Counts = agentkit.RecordCounts{Skipped: skipped}
		begun := false
		whole := func() { // what the beginning leaves open may have ended in between
			if !begun {
				begun = true
				f.Turn, f.TurnEnd, f.Fault, f.Model, f.Last, f.last = "", 0, "", "", "", nil
			}
		}
		more := x.ends.Last(n, after, func(l agentkit.Line) {
			if l.Offset > after {
				whole()
			}
			begun = true
			x.recs.Take(l, f.add)
		})
		if !more || f.Model != "" && (f.Last != "" || f.last != nil) {
			break
		}
	}
	f.Skipped = x.recs.Counts.Skipped
	// The newest title and mode count, also where they are older than what was
	// looked at. The program writes such records with their type first.
	x.ends.Beginning(`{"type":"`, func(l agentkit.Line) { x.side.Take(l, f.add) })
	return f
}

// catchUp is how much of a file that grew is read on from where reading stopped,
// in bytes; of more, the ends are read anew.
const catchUp = 1 << 20

// readOn continues with what was known of a file.
func (x *factsReader) readOn(path string, size int64, known facts, state agentkit.TailState, now time.Time) (facts, agentkit.TailState, error) {
	if behind := size - state.Offset; behind < 0 || behind > catchUp {
		f, _, state, err := x.read(path, now)
		return f, state, err
	}
	tail := agentkit.NewTail(path, state)
	defer func() { _ = tail.Close() }()
	fol := follower{tail: tail, facts: known, recs: &x.recs}
	if err := fol.read(now); err != nil {
		return facts{}, agentkit.TailState{}, err
	}
	if fol.restarted { // it is another file: the beginning counts as well
		f, _, state, err := x.read(path, now)
		return f, state, err
	}
	return fol.facts, tail.State(), nil
}

func newRecords() *agentkit.Records { return &agentkit.Records{Known: knownTypes} }

// eachRecord gives out the records of a line. The big ones that tell nothing are
// not decoded.
func eachRecord(recs *agentkit.Records, l agentkit.Line, take func(*record)) {
	recs.Take(l, func(r *agentkit.Record) bool {
		if strings.HasPrefix(r.Type, "api-request") || r.Type == "file-history-snapshot" {
			return true
		}
		x, ok := decode(r)
		if ok {
			take(&x)
		}
		return ok
	})
}

// decode reads a record for its rows; ok is false when it is none.
func decode(r *agentkit.Record) (x record, ok bool) {
	x, err := parseRecord(r.Data)
	if r.TooLong && r.Cut == "message" {
		x.Message.Content = tooLarge(x.Message.Content, r.Size)
	}
	return x, err == nil
}

// tooLarge says behind the last block of a message that its rest is missing.
func tooLarge(content json.RawMessage, size int64) json.RawMessage {
	list := blocks(content)
	if len(list) == 0 {
		return content
	}
	note := fmt.Sprintf("… content too large (%d MB)", (size+500_000)/1_000_000)
	switch b := &list[len(list)-1]; b.Type {
	case "text":
		b.Text += note
	case "thinking":
		b.Thinking += note
	case "tool_result":
		b.Content, _ = json.Marshal(plainText(b.Content) + note) // a text is always JSON
	}
	data, err := json.Marshal(list)
	if err != nil {
		return content
	}
	return data
}

// cheap decodes a line unless its beginning shows that it is one of the big
// records that tell nothing.
func cheap(l agentkit.Line) (record, bool) {
	if !l.Object() {
		return record{}, false
	}
	head := string(l.Data[:min(len(l.Data), 64)])
	if strings.Contains(head, `"type":"api-request`) || strings.Contains(head, `"type":"file-history`) {
		return record{}, false
	}
	r, err := parseRecord(l.Data)
	return r, err == nil
}

// follower keeps the facts of one live transcript up to date.
type follower struct {
	path  string
	tail  *agentkit.Tail
	facts facts
	recs  *agentkit.Records
	// restarted says that the last read found another file in the place.
	restarted bool
}

// follow begins with what the index knows of the file, else with its ends.
func (x *factsReader) follow(path string, known agentkit.Indexed, now time.Time) (*follower, error) {
	fol := &follower{path: path, recs: &agentkit.Records{Known: knownTypes}}
	var err error
	var state agentkit.TailState
	had, ok := loadFacts(&known)
	if ok {
		fol.facts, state = had, known.Tail
	} else if fol.facts, _, state, err = x.read(path, now); err != nil {
		return nil, err
	}
	fol.tail = agentkit.NewTail(path, state)
	return fol, nil
}

func (fol *follower) close() { _ = fol.tail.Close() }

// read takes what was appended. A file that was replaced is read whole.
func (fol *follower) read(now time.Time) error {
	fol.facts.now = now.UnixMilli()
	before, skipped := fol.tail.State(), fol.recs.Counts.Skipped
	fresh := facts{now: fol.facts.now}
	begun := false
	var err error
	fol.restarted, err = fol.tail.Read(func(l agentkit.Line) {
		if l.Offset < before.Offset && !begun { // restarted
			begun = true
			fol.facts = fresh
		}
		fol.recs.Take(l, fol.facts.add)
	})
	fol.facts.Skipped += fol.recs.Counts.Skipped - skipped
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
