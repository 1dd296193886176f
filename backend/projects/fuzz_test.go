package projects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever stands in .git and HEAD, the answer is a project that contains the
// folder or is its repository, and nothing panics or blocks.
func FuzzRepositoryFiles(f *testing.F) {
	f.Add("gitdir: ../r/.git/worktrees/x\n", "ref: refs/heads/main\n", "../..\n")
	f.Add("gitdir: /", "0123456789012345678901234567890123456789\n", "/")
	f.Add("gitdir: .git", "ref: refs/heads/.invalid", "")
	f.Add("", "ref: ", "..")
	f.Fuzz(func(t *testing.T, dot, head, common string) {
		dir := t.TempDir()
		work, admin := filepath.Join(dir, "w"), filepath.Join(dir, "r", ".git", "worktrees", "x")
		for _, d := range []string{work, admin} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for path, text := range map[string]string{filepath.Join(work, ".git"): dot, filepath.Join(admin, "HEAD"): head, filepath.Join(admin, "commondir"): common} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p := New(Options{})
		defer p.Close()
		got := p.Of(work)
		if !filepath.IsAbs(got.Root) || got.Name == "" || got.Gone || len(got.Branch) > 4096 {
			t.Fatalf("%+v", got)
		}
		if b := branchOf(head); utf8.ValidString(head) && strings.ContainsAny(b, "\r\n") && !strings.ContainsAny(strings.TrimSpace(head), "\r\n") {
			t.Fatalf("branch %q", b)
		}
	})
}
