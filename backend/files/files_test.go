package files

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/whippletree-app/whippletree/backend/git"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func program(t testing.TB) git.Git {
	home := t.TempDir()
	return git.Git{Env: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home} }, Home: home}
}

func none() git.Git {
	return git.Git{Env: func() []string { return nil }, Look: func() string { return "" }}
}

func write(t interface{ Fatal(...any) }, path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t interface{ Fatal(...any) }, dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(args, err, string(out))
	}
	return string(out)
}

func all(l *listing) []string {
	var list []string
	for i := range l.len() {
		if p := l.path(i); !strings.HasSuffix(p, "/") {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// A repository is listed as git sees it, from any folder in it: nested
// .gitignore files, negation, what is tracked although it is ignored.
func TestRepository(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "init", "-q")
	for _, p := range []string{"a.go", "build/x.o", "build/keep.me", "sub/.gitignore", "sub/log.txt", "sub/deep/log.txt", "sub/deep/ü ö.md", "kept.o"} {
		write(t, filepath.Join(dir, p), "x")
	}
	write(t, filepath.Join(dir, ".gitignore"), "*.o\nbuild/*\n!build/keep.me\n")
	write(t, filepath.Join(dir, "sub/.gitignore"), "log.txt\n!/log.txt\n")
	run(t, dir, "add", "-f", "kept.o")
	for _, in := range []struct {
		dir  string
		want []string
	}{
		{dir, []string{".gitignore", "a.go", "build/keep.me", "kept.o", "sub/.gitignore", "sub/deep/ü ö.md", "sub/log.txt"}},
		{filepath.Join(dir, "sub"), []string{".gitignore", "deep/ü ö.md", "log.txt"}},
	} {
		l, err := list(context.Background(), program(t), in.dir, nil, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in.want, all(l)); diff != "" || l.how != "git" {
			t.Error(in.dir, l.how, diff)
		}
	}
	// Without git the walk gives the same but what only the index knows.
	l, err := list(context.Background(), none(), dir, nil, time.Now)
	if err != nil || l.how != "walk" {
		t.Fatal(l, err)
	}
	if diff := cmp.Diff([]string{".gitignore", "a.go", "build/keep.me", "sub/.gitignore", "sub/deep/ü ö.md", "sub/log.txt"}, all(l)); diff != "" {
		t.Error(diff)
	}
}

// The walk ignores exactly what git does, for any patterns.
func TestWalkIgnoresAsGit(t *testing.T) {
	names := []string{"a", "b", "ab", "a.b", "[x]", "foo bar", "ä", "B"}
	bits := append([]string{"*", "**", "?", "/", "/", "!", "#", " ", `\`, "[ab]", "[!a]", "[a-z]", "[[:upper:]]", "."}, names...)
	n := 0
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom(names)
		for _, p := range rapid.SliceOfN(rapid.SliceOfN(name, 1, 4), 1, 12).Draw(t, "paths") {
			path := filepath.Join(append([]string{dir}, p...)...)
			_ = os.MkdirAll(filepath.Dir(path), 0o755)
			_ = os.WriteFile(path, nil, 0o644) // a folder of that name may be there
		}
		line := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 1, 5).Draw(t, "line"), "")
		})
		dirs := []string{dir}
		_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, p)
			}
			return err
		})
		for range rapid.IntRange(1, 3).Draw(t, "files") {
			at := rapid.SampledFrom(dirs).Draw(t, "at")
			write(t, filepath.Join(at, ".gitignore"), strings.Join(rapid.SliceOfN(line, 1, 4).Draw(t, "lines"), "\n"))
		}
		l, err := walk(context.Background(), dir, nil, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		run(t, dir, "init", "-q", "--separate-git-dir", filepath.Join(base, fmt.Sprint(n, ".git")))
		want := strings.Split(strings.TrimSuffix(run(t, dir, "ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00")
		if want[0] == "" {
			want = nil
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, all(l)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestWalkIsNotHeldUp(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, ".gitignore"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "inner/.git/config"), "")
	write(t, filepath.Join(dir, "inner/x"), "")
	write(t, filepath.Join(dir, "node_modules/y"), "")
	if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	l, err := walk(context.Background(), dir, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".gitignore", "inner/x", "root"}, all(l)); diff != "" {
		t.Error(diff)
	}
}

func listOf(paths ...string) *listing {
	b := newBuilder()
	for _, p := range paths {
		b.add(p)
	}
	return b.done("", time.Time{})
}

func TestMatch(t *testing.T) {
	l := listOf("src/upload/retry_test.go", "src/upload/retry.go", "docs/retry-policy.md", "src/retries/index.ts", "frontend/src/lib/stores/chat.svelte.ts",
		"Makefile", "src/Übersicht.md", "данные/отчёт.txt", "a/b/c/main.go", "main.go", "src/main/go.mod")
	for _, in := range []struct{ query, first string }{
		{"retry.go", "src/upload/retry.go"}, {"retry", "src/upload/retry.go"}, {"rt", "src/upload/retry_test.go"}, {"RETRYT", "src/upload/retry_test.go"},
		{"chatsvelte", "frontend/src/lib/stores/chat.svelte.ts"}, {"stores/chat", "frontend/src/lib/stores/chat.svelte.ts"}, {"über", "src/Übersicht.md"},
		{"отч", "данные/отчёт.txt"}, {"main", "main.go"}, {"abc", "a/b/c/"}, {"upload/", "src/upload/"}, {"make", "Makefile"},
	} {
		got := l.find(in.query, 3)
		if len(got) == 0 || l.path(got[0]) != in.first {
			var have []string
			for _, i := range got {
				have = append(have, l.path(i))
			}
			t.Errorf("%q: %v, want %q first", in.query, have, in.first)
		}
	}
	if got := l.find("zzz", 3); len(got) != 0 {
		t.Error(got)
	}
	if got := l.find("", 3); l.path(got[0]) != "main.go" && l.path(got[0]) != "Makefile" {
		t.Error(l.path(got[0]))
	}
}

// Whatever is typed: what is found has the letters in order, each once.
func TestMatchFindsWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfNDistinct(rapid.StringMatching(`[abÄж]{1,4}(/[abÄж.]{1,4}){0,3}`), 1, 20, rapid.ID).Draw(t, "paths")
		l := listOf(paths...)
		p := []rune(rapid.SampledFrom(paths).Draw(t, "path"))
		var q []rune
		for _, r := range p {
			if rapid.Bool().Draw(t, "keep") {
				q = append(q, r)
			}
		}
		found := false
		for _, i := range l.find(string(q), 200) {
			found = found || l.path(i) == string(p)
		}
		if !found {
			t.Fatalf("%q does not find %q", string(q), string(p))
		}
	})
}

// Two goroutines find what one finds, in the same order.
func TestMatchInHalves(t *testing.T) {
	b := newBuilder()
	for i := range parallelFrom + 500 {
		b.add(fmt.Sprintf("Part%02d/mod%d/File_%d.ts", i%30, i%7, i))
	}
	l := b.done("", time.Time{})
	for _, q := range []string{"", "file", "p3m2", "File_20499.ts", "zz"} {
		runes := strings.Split(strings.ToLower(q), "")
		want := places(l.best(strings.ToLower(q), mask(strings.ToLower(q)), runes, 40, 0, l.len()), 40)
		if diff := cmp.Diff(want, l.find(q, 40)); diff != "" {
			t.Error(q, diff)
		}
	}
}

// A question is answered from what is known; with fresh it sees what is new, and
// what is gone is never offered.
func TestFinderIsLazyAndFresh(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "one.txt"), "")
	f := New(Options{Git: program(t), StaleAfter: time.Hour})
	defer f.Close()
	find := func(query string, fresh bool) Found {
		t.Helper()
		got, err := f.Find(t.Context(), dir, query, 10, fresh)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := find("one", false); !slices.Equal(got.Paths, []string{"one.txt"}) || got.Stale {
		t.Fatal(got)
	}
	write(t, filepath.Join(dir, "two.txt"), "")
	if got := find("two", false); len(got.Paths) != 0 {
		t.Fatal(got)
	}
	if got := find("two", true); !slices.Equal(got.Paths, []string{"two.txt"}) || got.Stale {
		t.Fatal(got)
	}
	if err := os.Remove(filepath.Join(dir, "one.txt")); err != nil {
		t.Fatal(err)
	}
	if got := find("one", false); len(got.Paths) != 0 {
		t.Fatal(got)
	}
	if _, err := f.Find(t.Context(), filepath.Join(dir, "gone"), "", 10, false); err == nil {
		t.Error("a folder that is not there was listed")
	}
	if _, err := f.Find(t.Context(), "relative", "", 10, false); err == nil {
		t.Error("a relative folder was listed")
	}
}

func TestFinderForgets(t *testing.T) {
	f := New(Options{Git: none()})
	defer f.Close()
	for i := range maxRoots + 3 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		write(t, filepath.Join(dir, "x"), "")
		if _, err := f.Find(t.Context(), dir, "x", 1, false); err != nil {
			t.Fatal(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.roots) > maxRoots {
		t.Error(len(f.roots), "folders are known")
	}
}

func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"*.o", "!a/**/b", "[!a-z]x", `\#x\ `, "[", "[a-", "a[[:digit:]]", "**", "/**/"} {
		f.Add(s, "a/b")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		g := &ignore{patterns: parseIgnore(text)}
		g.ignored(path, false)
		g.ignored(path, true)
	})
}

func BenchmarkFind100k(b *testing.B) {
	build := newBuilder()
	for i := range 100_000 {
		build.add(fmt.Sprintf("packages/part%03d/src/module%02d/file_%05d.ts", i%300, i%40, i))
	}
	l := build.done("", time.Time{})
	for _, q := range []string{"", "f", "file", "part12mod", "file_99999.ts", "pkgsrcmodts"} {
		b.Run("q="+q, func(b *testing.B) {
			for b.Loop() {
				l.find(q, 50)
			}
		})
	}
}
