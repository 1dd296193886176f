// Package agents finds the real agents that tests run. They are installed by
// npm, one folder each with a lock file (see README.md); a test that needs one
// fails where they must be there and says that it did not run elsewhere.
package agents

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// RequireEnv makes a missing agent a failure: set in CI.
const RequireEnv = "WHIPPLETREE_REQUIRE_AGENTS"

// Binary returns the absolute path of program from the agent installed in the
// folder of this name. Without it the test is skipped, saying so, or fails
// when RequireEnv is set.
func Binary(t testing.TB, folder, program string) string {
	t.Helper()
	path := filepath.Join(Dir(), folder, "node_modules", ".bin", program)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path
	}
	text := folder + " is not installed: npm ci --prefix e2e/agents/" + folder
	if os.Getenv(RequireEnv) != "" {
		t.Fatal(text)
	}
	t.Skip("not run: " + text)
	return ""
}

// FullEnv set to "full" runs the whole matrix over the real agents.
const FullEnv = "WHIPPLETREE_AGENTS"

// Full marks a test of the whole matrix. It runs wherever the agent is
// installed, except in the short tier of CI (RequireEnv without FullEnv), where
// it says that it did not run.
func Full(t testing.TB) {
	t.Helper()
	if os.Getenv(RequireEnv) != "" && !IsFull() {
		t.Skip("not run in this tier: make test-agents runs it")
	}
}

// IsFull reports whether the whole matrix was asked for: what takes minutes runs
// only then.
func IsFull() bool { return os.Getenv(FullEnv) == "full" }

// Dir is this folder.
func Dir() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return ""
	}
	return filepath.Dir(file)
}

// Home makes a private home with a short path (some agents put sockets below
// it) that the test removes.
func Home(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wt")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Environ is an environment without anything of the machine's user: a private
// home, the system's programs, and set.
func Environ(home string, set map[string]string) []string {
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/sh", "USER=tester",
		"TMPDIR=" + os.TempDir(),
	}
	for k, v := range set {
		env = append(env, k+"="+v)
	}
	return env
}
