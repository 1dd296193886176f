package claudecode

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// tui is the real program's own interface in a pseudo terminal.
type tui struct {
	t    testing.TB
	cmd  *exec.Cmd
	file *os.File

	mu      sync.Mutex
	screen  strings.Builder
	changed chan struct{}
	ended   chan struct{}
}

var escapes = regexp.MustCompile("\x1b(\\[[0-9;?<>=]*[A-Za-z]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[()][A-Z0-9]|[=>78])")

// acceptFolder answers the interface's first-run questions beforehand.
func (l *lab) acceptFolder() { l.acceptFolderIn(l.home) }

func (l *lab) acceptFolderIn(dir string) {
	l.t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		l.t.Fatal(err)
	}
	state := map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark",
		"customApiKeyResponses": map[string]any{"approved": []string{"sk-test-dummy-key-0000"[2:]}, "rejected": []string{}},
		"projects":              map[string]any{l.cwd: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	}
	file := filepath.Join(dir, ".claude.json")
	had := map[string]any{}
	if data, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(data, &had); err != nil {
			l.t.Fatal(err)
		}
	}
	if before, ok := had["projects"].(map[string]any); ok {
		for k, v := range before {
			if k != l.cwd {
				state["projects"].(map[string]any)[k] = v
			}
		}
	}
	for k, v := range state {
		had[k] = v
	}
	data, err := json.Marshal(had)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// terminal runs a command of the harness in a pseudo terminal.
func (l *lab) terminal(c agent.Command) *tui {
	l.t.Helper()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Cwd
	cmd.Env = l.host.Environ(c.Env)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		l.t.Fatal(err)
	}
	u := &tui{t: l.t, cmd: cmd, file: f, changed: make(chan struct{}), ended: make(chan struct{})}
	go u.read()
	l.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-u.ended
		_ = cmd.Wait()
		if text := u.text(0); l.t.Failed() {
			l.t.Logf("the interface printed:\n%s", text[max(0, len(text)-3000):])
		}
	})
	return u
}

func (u *tui) read() {
	defer close(u.ended)
	buf := make([]byte, 32<<10)
	for {
		n, err := u.file.Read(buf)
		u.mu.Lock()
		u.screen.Write(buf[:n])
		close(u.changed)
		u.changed = make(chan struct{})
		u.mu.Unlock()
		if err != nil {
			_ = u.file.Close()
			return
		}
	}
}

// text is what was printed after the given mark, without escapes.
func (u *tui) text(from int) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return escapes.ReplaceAllString(u.screen.String()[from:], " ")
}

func (u *tui) mark() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.screen.Len()
}

// see waits until the interface printed the words (in any spacing).
func (u *tui) see(ctx context.Context, from int, words string) {
	u.t.Helper()
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for {
		u.mu.Lock()
		changed := u.changed
		u.mu.Unlock()
		if strings.Contains(squeeze(u.text(from)), squeeze(words)) {
			return
		}
		select {
		case <-changed:
		case <-u.ended:
			u.t.Fatalf("the interface ended without %q: %s", words, u.text(from))
		case <-ctx.Done():
			u.t.Fatalf("the interface did not show %q: %s", words, u.text(from))
		}
	}
}

// line types a line and confirms it until it was taken: the interface treats
// keys that come at once as pasted, and drops them just after a dialog opened.
func (u *tui) line(ctx context.Context, text string, taken func(context.Context) bool) {
	u.t.Helper()
	from := u.mark()
	if _, err := io.WriteString(u.file, text); err != nil {
		u.t.Fatal(err)
	}
	u.see(ctx, from, text)
	u.press(ctx, "\r", taken)
}

// say types a line and confirms it once it stands there, twice with a moment
// between: the first may be taken for a part of what was pasted.
func (u *tui) say(text string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	u.see(ctx, 0, "❯")
	from := u.mark()
	if _, err := io.WriteString(u.file, text); err != nil {
		u.t.Fatal(err)
	}
	u.see(ctx, from, text)
	from = u.mark()
	u.press(ctx, "\r", func(ctx context.Context) bool { return u.shown(ctx, from, "esc to interrupt", "done", "proceed?") })
}

// shown waits until one of the words was printed.
func (u *tui) shown(ctx context.Context, from int, words ...string) bool {
	for {
		u.mu.Lock()
		changed := u.changed
		u.mu.Unlock()
		text := strings.Join(strings.Fields(u.text(from)), "")
		for _, w := range words {
			if strings.Contains(text, strings.Join(strings.Fields(w), "")) {
				return true
			}
		}
		select {
		case <-changed:
		case <-u.ended:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// press types a key, again if it was not taken within a while.
func (u *tui) press(ctx context.Context, key string, taken func(context.Context) bool) {
	u.t.Helper()
	for ctx.Err() == nil {
		if _, err := io.WriteString(u.file, key); err != nil {
			u.t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(ctx, 2*time.Second)
		ok := taken(soon)
		cancel()
		if ok {
			return
		}
	}
	u.t.Fatalf("the interface did not take %q", key)
}

// board is the host's end of a session source.
type board struct {
	mu      sync.Mutex
	rows    map[string]agent.Snapshot
	history []agent.Snapshot
	changed chan struct{}
}

func newBoard() *board {
	return &board{rows: map[string]agent.Snapshot{}, changed: make(chan struct{})}
}

func (b *board) Reset(list []agent.Snapshot) []agent.Rejected {
	b.mu.Lock()
	b.rows = map[string]agent.Snapshot{}
	b.mu.Unlock()
	return b.Upsert(list...)
}

func (b *board) Upsert(list ...agent.Snapshot) []agent.Rejected {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range list {
		if issues := agent.ValidateSnapshot(s, nil); len(issues) > 0 {
			panic(issues)
		}
		b.rows[s.ID] = s
		b.history = append(b.history, s)
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return nil
}

func (b *board) Remove(_ string, ids ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		delete(b.rows, id)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *board) Diagnostic(string, string) {}

// taken waits for a row that fulfils cond, for [tui.press].
func (b *board) taken(cond func(agent.Snapshot) bool) func(context.Context) bool {
	return func(ctx context.Context) bool {
		_, ok := b.find(ctx, true, cond)
		return ok
	}
}

// wait returns once some row fulfils cond, or with want false once none does.
func (b *board) wait(ctx context.Context, t *testing.T, what string, want bool, cond func(agent.Snapshot) bool) agent.Snapshot {
	t.Helper()
	s, ok := b.find(ctx, want, cond)
	if !ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		t.Fatalf("waited in vain for %s; rows: %+v", what, b.rows)
	}
	return s
}

func (b *board) find(ctx context.Context, want bool, cond func(agent.Snapshot) bool) (agent.Snapshot, bool) {
	for {
		b.mu.Lock()
		changed := b.changed
		var found *agent.Snapshot
		for _, s := range b.rows {
			if cond(s) {
				found = &s
				break
			}
		}
		b.mu.Unlock()
		switch {
		case want && found != nil:
			return *found, true
		case !want && found == nil:
			return agent.Snapshot{}, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return agent.Snapshot{}, false
		}
	}
}

// observe runs the source until the test ends.
func (l *lab) observe() *board {
	l.t.Helper()
	b := newBoard()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- l.h.Source.Start(ctx, agent.SourceStart{Harnesses: []string{harnessID}, Publisher: b})
	}()
	l.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
	})
	return b
}

// sheet is the host's end of a mirror.
type sheet struct {
	mu      sync.Mutex
	order   []string
	items   map[string]agent.Item
	state   agent.MirrorState
	pos     agent.Position
	caught  int
	changed chan struct{}
}

func newSheet() *sheet { return &sheet{items: map[string]agent.Item{}, changed: make(chan struct{})} }

func (s *sheet) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *sheet) Item(it agent.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.items[it.ID]; !ok {
		s.order = append(s.order, it.ID)
	}
	s.items[it.ID] = it
	s.touch()
}

func (s *sheet) State(v agent.MirrorState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = v
	s.touch()
}

func (s *sheet) CaughtUp(p agent.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pos = p
	s.caught++
	s.touch()
}

func (s *sheet) wait(ctx context.Context, t *testing.T, what string, cond func() bool) {
	t.Helper()
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s; rows: %v", what, s.items)
		}
	}
}

// mirror follows a session until the test ends or stop is called.
func (l *lab) mirror(h agent.Handle, from agent.Position) (*sheet, func()) {
	l.t.Helper()
	s := newSheet()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.h.Handover.Mirror(ctx, h, from, s) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				l.t.Error(err)
			}
		})
	}
	l.t.Cleanup(stop)
	return s, stop
}
