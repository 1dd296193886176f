package agentkit

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestR04LookPath(t *testing.T) {
	home := t.TempDir()
	put := func(dir string) string {
		t.Helper()
		path := filepath.Join(home, dir, "some-agent")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := []string{"PATH=/usr/bin:/bin:relative"}
	if path, searched := LookPath(env, home, "some-agent"); path != "" || !slices.Contains(searched, "/usr/bin") || slices.Contains(searched, "relative") {
		t.Errorf("found %q in %v", path, searched)
	}
	put(".nvm/versions/node/v9.0.0/bin")
	want := put(".nvm/versions/node/v22.1.0/bin")
	if path, _ := LookPath(env, home, "some-agent"); path != want {
		t.Errorf("got %q, want the newest version", path)
	}
	for _, dir := range []string{".volta/bin", ".bun/bin", ".local/bin"} { // each before the ones found so far
		want := put(dir)
		if path, _ := LookPath(env, home, "some-agent"); path != want {
			t.Errorf("got %q, want %q", path, want)
		}
	}
	inPath := put("own")
	if path, _ := LookPath([]string{"PATH=/nowhere", "PATH=" + filepath.Dir(inPath)}, home, "some-agent"); path != inPath {
		t.Errorf("PATH comes first: %q", path)
	}
	if path, _ := LookPath(nil, home, inPath); path != inPath {
		t.Errorf("absolute: %q", path)
	}
}
