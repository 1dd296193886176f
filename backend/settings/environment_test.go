package settings

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironmentOfAHarness(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "agent.env"), "\ufeff# keys\r\nexport A=one\nB = 'two # not a comment'\nC=\"a \\\"b\\\" \\n\\x\"\nD=plain # comment\nE=\n\nOVER=file\n")
	got, err := Harness{EnvFile: "~/agent.env", Env: map[string]string{"OVER": "set"}}.Environment(home)
	want := map[string]string{"A": "one", "B": "two # not a comment", "C": "a \"b\" \n\\x", "D": "plain", "E": "", "OVER": "set"}
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	write(t, filepath.Join(home, "bad.env"), "A=1\nsecret-without-a-name\n")
	for file, part := range map[string]string{"~/bad.env": "line 2", "~/none.env": "none.env", "relative": "absolute", "~/": "regular"} {
		if _, err := (Harness{EnvFile: file}).Environment(home); err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", file, err)
		}
	}
	if got, err := (Harness{}).Environment(home); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}

func FuzzParseEnv(f *testing.F) {
	for _, s := range []string{"A=1", "A='x'", "A=\"x\\", "export =", "A=\"\"x", "#", "A='"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env, err := parseEnv(strings.NewReader(text))
		if err != nil {
			return
		}
		for name, value := range env {
			if !envName.MatchString(name) || strings.ContainsRune(value, 0) {
				t.Fatalf("%q=%q", name, value)
			}
		}
	})
}
