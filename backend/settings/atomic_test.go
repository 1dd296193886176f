package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func ownerOf(info fs.FileInfo) (uid, gid uint32) {
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid, st.Gid
}

// saveForever changes the settings until it is killed.
func saveForever(path string) {
	f := Open(Options{Path: path})
	fmt.Println("ready")
	for i := 0; ; i++ {
		value, _ := json.Marshal(strings.Repeat("x", i%200) + fmt.Sprint(i))
		if _, err := f.Set("general.chatFont", value); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// Case C01: killed in the middle of saves, the file is always whole.
func TestC01KilledWhileSaving(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	write(t, path, "{\n  // kept\n  \"general\": {}\n}\n")
	for round := range 40 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SETTINGS_TEST_CHILD="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		for range 1 + round%7*50 {
			// Reading is the clock: the kill falls anywhere in a save.
			before := read(t, path)
			if doc, err := parse([]byte(before)); err != nil {
				t.Fatalf("a reader found %q (%v)", before, err)
			} else if !strings.Contains(string(doc.bytes()), "// kept") {
				t.Fatalf("a reader found %q", before)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		f := Open(Options{Path: path})
		if s := f.Get(); len(s.Problems) != 0 {
			t.Fatalf("round %d: %+v", round, s.Problems)
		}
		f.Close()
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != FileName && e.Name() != FileName+".bak" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

type crash string

// A crash before any step leaves the old content, after the rename the new one.
func TestC01CrashAtEveryStep(t *testing.T) {
	for _, at := range []string{"create", "write", "mode", "sync", "rename", "renamed"} {
		path := filepath.Join(t.TempDir(), FileName)
		write(t, path, `{"general": {"zoom": 90}}`)
		f := Open(Options{Path: path, step: func(s string) {
			if s == at {
				panic(crash(s))
			}
		}})
		func() {
			defer func() {
				if _, ok := recover().(crash); !ok {
					t.Errorf("no crash at %s", at)
				}
			}()
			_, _ = f.Set("general.zoom", json.RawMessage("110"))
		}()
		want := `{"general": {"zoom": 90}}`
		if at == "renamed" {
			want = `{"general": {"zoom": 110}}`
		}
		if got := read(t, path); got != want {
			t.Errorf("after a crash at %s: %s", at, got)
		}
	}
}

// A folder that cannot be written to is an error with the old file in place.
func TestUnwritableFolder(t *testing.T) {
	if os.Getuid() == 0 {
		// Root may write anywhere: a file in place of the folder stands in.
		dir := t.TempDir()
		write(t, filepath.Join(dir, "x"), "")
		f := open(t, filepath.Join(dir, "x", FileName))
		if _, err := f.Set("general.zoom", json.RawMessage("90")); err == nil {
			t.Error("wrote below a file")
		}
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	write(t, path, "{}")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	f := open(t, path)
	if _, err := f.Set("general.zoom", json.RawMessage("90")); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if read(t, path) != "{}" {
		t.Error("changed")
	}
}
