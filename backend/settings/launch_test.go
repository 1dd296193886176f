package settings

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func TestOneThatExtendsTakesWhatItDoesNotSetItself(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "base.env"), "KEY=base\nFILE=base\n")
	write(t, filepath.Join(home, "own.env"), "FILE=own\n")
	v := Values{Harnesses: map[string]Harness{
		"base": {Binary: "/opt/base", Args: []string{"-a"}, EnvFile: "~/base.env", Env: map[string]string{"SET": "base", "LEFT": "base"}},
		"own":  {Extends: "base", Args: []string{"-b"}, EnvFile: "~/own.env", Env: map[string]string{"SET": "own"}},
		"bare": {Extends: "base"},
	}}
	for id, want := range map[string]agent.Launch{
		"base":    {Binary: "/opt/base", Args: []string{"-a"}, Env: map[string]string{"KEY": "base", "FILE": "base", "SET": "base", "LEFT": "base"}},
		"own":     {Binary: "/opt/base", Args: []string{"-b"}, Env: map[string]string{"KEY": "base", "FILE": "own", "SET": "own", "LEFT": "base"}},
		"bare":    {Binary: "/opt/base", Args: []string{"-a"}, Env: map[string]string{"KEY": "base", "FILE": "base", "SET": "base", "LEFT": "base"}},
		"unnamed": {Env: map[string]string{}},
	} {
		if got, err := v.Launch(id, home); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v %s", id, err, cmp.Diff(want, got))
		}
	}
	if err := os.Remove(filepath.Join(home, "base.env")); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Launch("own", home); err == nil || !strings.Contains(err.Error(), "base.env") {
		t.Errorf("without the file of the one it extends: %v", err)
	}
}

func TestAFileOfSecretsIsOnesOwn(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		write(t, path, text)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", "A=1\n", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, part := range map[string]string{
		good: "", file("read-only", "A=1\n", 0o400): "",
		file("group", "A=1\n", 0o640): "chmod 600", file("world", "A=1\n", 0o604): "chmod 600", file("run", "A=1\n", 0o700): "chmod 600",
		link: "is a link", pipe: "regular file", dir: "regular file", filepath.Join(dir, "none"): "none",
		file("large", strings.Repeat("#", limitEnvFile+1), 0o600): "regular file", file("latin", "A=\xe9\n", 0o600): "UTF-8",
	} {
		got, err := Harness{EnvFile: path}.Environment("/")
		switch {
		case part == "" && (err != nil || got["A"] != "1"):
			t.Errorf("%s: %v %v", path, got, err)
		case part != "" && (err == nil || !strings.Contains(err.Error(), part)):
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWhatCanBeExtended(t *testing.T) {
	f := Open(Options{Path: filepath.Join(t.TempDir(), FileName), Builtin: []string{"one", "two"}})
	t.Cleanup(f.Close)
	for _, c := range []struct{ path, value, fault string }{
		{"harnesses.mine", `{"extends": "one", "label": "Mine", "args": ["-x"]}`, ""},
		{"harnesses.mine.label", `""`, "$.harnesses.mine.label"},
		{"harnesses.mine.extends", `"mine"`, "$.harnesses.mine.extends"},
		{"harnesses.mine.extends", `"three"`, "$.harnesses.mine.extends"},
		{"harnesses.other", `{"extends": "mine"}`, "$.harnesses.other.extends"},
		{"harnesses.one.extends", `"two"`, "$.harnesses.one.extends"},
		{"harnesses.other.label", `"Other"`, "$.harnesses.other.label"},
		{"harnesses.mine.args", `["ok", 2]`, "$.harnesses.mine.args[1]"},
		{"harnesses.mine.env", `{"no name": "x"}`, "$.harnesses.mine.env.no name"},
		{"harnesses.two.enabled", `false`, ""},
	} {
		_, err := f.Set(c.path, json.RawMessage(c.value))
		var bad *InvalidError
		switch {
		case c.fault == "" && err != nil:
			t.Errorf("%s = %s: %v", c.path, c.value, err)
		case c.fault != "" && (!errors.As(err, &bad) || bad.Issues[0].Path != c.fault):
			t.Errorf("%s = %s: %v, not a fault at %s", c.path, c.value, err, c.fault)
		}
	}
	want := Harness{Extends: "one", Label: "Mine", Args: []string{"-x"}}
	if diff := cmp.Diff(want, f.Values().Harness("mine")); diff != "" {
		t.Error(diff)
	}
}

// A file that a person edited by hand counts without what is wrong in it.
func TestAWrongExtensionInTheFileIsToldAndLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	write(t, path, `{"harnesses": {"mine": {"extends": "gone", "args": ["-x"]}, "one": {"binary": 3}, "ok": {"extends": "one"}}}`)
	f := Open(Options{Path: path, Builtin: []string{"one"}})
	t.Cleanup(f.Close)
	var at []string
	for _, p := range f.Get().Problems {
		at = append(at, p.Path)
	}
	if diff := cmp.Diff([]string{"$.harnesses.one.binary", "$.harnesses.mine.extends"}, at); diff != "" {
		t.Error(diff)
	}
	if v := f.Values(); v.Harness("ok").Extends != "one" || v.Harness("mine").Extends != "" || len(v.Harness("mine").Args) != 1 {
		t.Errorf("%+v", v.Harnesses)
	}
}
