package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// transcript appends to one session file. There is no lock on purpose: like
// with real agents, two processes on one session make two branches.
type transcript struct {
	mu      sync.Mutex
	f       *os.File
	path    string
	cwd     string
	session string
	tip     string
	failed  error
}

// story is what an existing session file told.
type story struct {
	cwd      string
	title    string
	settings wire.Settings
	usage    wire.Usage
	open     []wire.Block // begun and never ended, in order
	turn     *wire.Turn   // begun and never ended
	tail     []wire.Block // the last ended blocks, for the terminal to show
}

func now() int64 { return time.Now().UnixMilli() }

// newTranscript prepares the file of a new session. It is made with the first
// record, so that a session nobody talked to leaves nothing behind.
func newTranscript(home wire.Home, id, cwd string) (*transcript, error) {
	if _, err := os.Lstat(home.Transcript(id)); err == nil {
		return nil, fmt.Errorf("session %s exists already; continue it with --resume %s", id, id)
	}
	return &transcript{session: id, path: home.Transcript(id), cwd: cwd}, nil
}

// begin makes the file and its first record.
func (t *transcript) begin() error {
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	t.f = f
	return t.append(wire.Record{Type: wire.RecordSession, Cwd: t.cwd, Release: wire.Release})
}

// resumeTranscript reads a session file and goes on at its newest record.
func resumeTranscript(home wire.Home, id string) (*transcript, story, error) {
	f, err := os.OpenFile(home.Transcript(id), os.O_APPEND|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, story{}, fmt.Errorf("there is no session %s", id)
	}
	if err != nil {
		return nil, story{}, err
	}
	all, clean, err := readRecords(f)
	if err != nil {
		f.Close()
		return nil, story{}, err
	}
	if len(all) == 0 {
		f.Close()
		return nil, story{}, fmt.Errorf("session %s holds no readable record", id)
	}
	if !clean { // a writer was killed in the middle of its last line
		if _, err := f.WriteString("\n"); err != nil {
			f.Close()
			return nil, story{}, err
		}
	}
	thread, _ := wire.Thread(all)
	t := &transcript{f: f, session: id, tip: thread[len(thread)-1].ID}
	return t, tell(thread), nil
}

func readRecords(r io.Reader) (all []wire.Record, clean bool, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	clean = true
	for {
		line, err := br.ReadBytes('\n')
		if rec, ok := wire.ParseRecord(line); ok {
			all = append(all, rec)
		}
		if len(line) > 0 {
			clean = bytes.HasSuffix(line, []byte("\n"))
		}
		if err == io.EOF {
			return all, clean, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}

func tell(thread []wire.Record) story {
	var s story
	begun := map[string]int{}
	for _, r := range thread {
		switch {
		case r.Type == wire.RecordSession:
			s.cwd = r.Cwd
		case r.Type == wire.RecordTitle:
			s.title = r.Title
		case r.Settings != nil:
			s.settings = *r.Settings
		case r.Usage != nil:
			s.usage = *r.Usage
		case r.Turn != nil && r.Turn.State == wire.TurnStarted:
			s.turn = r.Turn
		case r.Turn != nil:
			s.turn = nil
		case r.Block != nil && r.Block.EndedAt == 0:
			if _, known := begun[r.Block.ID]; !known {
				begun[r.Block.ID] = len(s.open)
				s.open = append(s.open, *r.Block)
			} else {
				s.open[begun[r.Block.ID]] = *r.Block
			}
		case r.Block != nil:
			if i, known := begun[r.Block.ID]; known {
				s.open[i].ID = ""
				delete(begun, r.Block.ID)
			}
			s.tail = append(s.tail, *r.Block)
			if len(s.tail) > 12 {
				s.tail = s.tail[1:]
			}
		}
	}
	var open []wire.Block
	for _, b := range s.open {
		if b.ID != "" {
			open = append(open, b)
		}
	}
	s.open = open
	return s
}

// write appends one record. The first fault is kept and shown by the engine.
func (t *transcript) write(r wire.Record) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil && t.failed == nil {
		t.failed = t.begin()
	}
	if t.failed == nil {
		t.failed = t.append(r)
	}
}

// append writes a record in one call, so that a kill tears at most the last
// line.
func (t *transcript) append(r wire.Record) error {
	r.ID, r.Parent, r.Session, r.At = uuid.NewString(), t.tip, t.session, now()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := t.f.Write(append(line, '\n')); err != nil {
		return err
	}
	t.tip = r.ID
	return nil
}

// fault is the first error of a write.
func (t *transcript) fault() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *transcript) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f != nil {
		t.f.Close()
	}
}

// used reports whether the file exists: settings of a session nobody talked to
// are not worth one.
func (t *transcript) used() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.f != nil
}
