package agentkit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func tailed(t *testing.T, tail *Tail) (ids []string, restarted bool) {
	t.Helper()
	restarted, err := tail.Read(func(l Line) { ids = append(ids, string(l.Data)) })
	if err != nil {
		t.Fatal(err)
	}
	return ids, restarted
}

func put(t *testing.T, path, text string, flag int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, tail *Tail, restarted bool, want ...string) {
	t.Helper()
	got, again := tailed(t, tail)
	if strings.Join(got, "|") != strings.Join(want, "|") || again != restarted {
		t.Fatalf("got %q (restarted %v), want %q (%v)", got, again, want, restarted)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	tail := NewTail(path, TailState{})
	defer tail.Close()
	expect(t, tail, false)
	put(t, path, "one\ntwo\npar", os.O_APPEND)
	expect(t, tail, false, "one", "two")
	put(t, path, "t\n", os.O_APPEND)
	expect(t, tail, false, "part")
	expect(t, tail, false)

	// A restart continues where it stopped.
	again := NewTail(path, tail.State())
	defer again.Close()
	put(t, path, "three\n", os.O_APPEND)
	expect(t, again, false, "three")
	expect(t, tail, false, "three")

	// Cut and rewritten, also to the same size.
	put(t, path, "new\n", os.O_TRUNC)
	expect(t, tail, true, "new")
	put(t, path, "old\n", os.O_TRUNC)
	expect(t, tail, true, "old")

	// Renamed away and replaced: the last lines of the old one are not lost.
	put(t, path, "last words\n", os.O_APPEND)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	put(t, path, "first\n", 0)
	expect(t, tail, true, "last words", "first")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect(t, tail, false)
	put(t, path, "back\n", 0)
	expect(t, tail, true, "back")
}

func TestCaseX06_TailOpensRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	link, pipe := filepath.Join(dir, "link.jsonl"), filepath.Join(dir, "x.jsonl")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, pipe} {
		if _, err := NewTail(path, TailState{}).Read(func(Line) {}); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

func TestT03AnyCutAndAnyRestartLosesAndDoublesNothing(t *testing.T) {
	whole := `{"uuid":"u1","text":"привет 👩‍👩‍👧"}` + "\n" + `{"uuid":"u2"}` + "\n" + `{"uuid":"u3","text":"т"}` + "\n"
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		f, err := os.CreateTemp(dir, "*.jsonl")
		if err != nil {
			rt.Fatal(err)
		}
		defer f.Close()
		tail := NewTail(f.Name(), TailState{})
		defer func() { tail.Close() }()
		var got []string
		rest := whole
		for rest != "" {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			if _, err := f.WriteString(rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
			if rapid.Bool().Draw(rt, "restart") {
				state := tail.State()
				tail.Close()
				tail = NewTail(f.Name(), state)
			}
			if _, err := tail.Read(func(l Line) { got = append(got, string(l.Data)) }); err != nil {
				rt.Fatal(err)
			}
		}
		if strings.Join(got, "\n")+"\n" != whole {
			rt.Fatalf("got %q", got)
		}
	})
}

func TestLastAndFirstLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	put(t, path, strings.Repeat("0123456789\n", 20_000)+"tail 1\ntail 2\n", 0)
	var last []string
	if err := LastLines(path, 20, func(l Line) { last = append(last, string(l.Data)) }); err != nil {
		t.Fatal(err)
	}
	if strings.Join(last, "|") != "tail 1|tail 2" {
		t.Errorf("last: %q", last)
	}
	n := 0
	if err := FirstLines(path, 100, func(l Line) bool { n++; return !l.Partial }); err != nil {
		t.Fatal(err)
	}
	if n != 9 {
		t.Errorf("first: %d lines of 100 bytes", n)
	}
}
