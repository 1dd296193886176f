package changes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/git"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type repo struct {
	*testing.T
	dir string
	g   git.Git
}

func newRepo(t *testing.T) repo {
	r := repo{T: t, dir: t.TempDir()}
	home := t.TempDir()
	r.g = git.Git{Home: home, Env: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home} }}
	r.run("init", "-q", "-b", "main")
	r.run("config", "user.name", "me")
	r.run("config", "user.email", "me@example.org")
	return r
}

func (r repo) run(args ...string) {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, append(r.g.Env(), "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatal(args, err, string(out))
	}
}

func (r repo) write(name, text string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		r.Fatal(err)
	}
}

func (r repo) status() model.GitStatus {
	r.Helper()
	st, err := Status(r.Context(), r.g, r.dir)
	if err != nil {
		r.Fatal(err)
	}
	return st
}

func TestGitStatusTellsEveryKind(t *testing.T) {
	r := newRepo(t)
	if st := r.status(); !st.Repo || st.Head != "" || st.Branch != "main" || len(st.Files) != 0 {
		t.Errorf("%+v", st)
	}
	for _, f := range []string{"mod.txt", "gone.txt", "old name.txt", "both.txt"} {
		r.write(f, strings.Repeat(f+"\n", 10))
	}
	r.write("pic.bin", "a\x00b")
	r.run("add", ".")
	r.run("commit", "-qm", "one")
	r.write("mod.txt", strings.Repeat("mod.txt\n", 9)+"new\nnew\n")
	r.write("pic.bin", "a\x00c")
	r.run("mv", "old name.txt", "new näme.txt")
	if err := os.Remove(filepath.Join(r.dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	r.write("both.txt", "staged\n")
	r.run("add", "both.txt")
	r.write("both.txt", "staged\nand not\n")
	r.write("sub/\"quoted\"\t.txt", "x\n")
	st := r.status()
	want := []model.GitFile{
		{Path: "both.txt", Kind: "modified", Staged: true, Changed: true, Added: 2, Removed: 10},
		{Path: "gone.txt", Kind: "deleted", Changed: true, Removed: 10},
		{Path: "mod.txt", Kind: "modified", Changed: true, Added: 2, Removed: 1},
		{Path: "new näme.txt", From: "old name.txt", Kind: "renamed", Staged: true},
		{Path: "pic.bin", Kind: "modified", Changed: true, Added: -1, Removed: -1, Binary: true},
		{Path: "sub/\"quoted\"\t.txt", Kind: "untracked", Changed: true, Added: -1, Removed: -1},
	}
	if diff := cmp.Diff(want, st.Files, cmpopts.SortSlices(func(a, b model.GitFile) bool { return a.Path < b.Path })); diff != "" {
		t.Error(diff)
	}
	for _, in := range []struct {
		f    model.GitFile
		diff string
		why  string
	}{
		{want[2], "-mod.txt\n+new\n+new\n", ""},
		{want[1], "-gone.txt\n", ""},
		{want[3], "", "Only the name changed"},
		{want[4], "", "binary"},
		{want[5], "@@ -0,0 +1,1 @@\n+x\n", ""},
		{model.GitFile{Path: "nothing.txt"}, "", "Nothing differs"},
	} {
		diff, next, size, why, err := GitDiff(t.Context(), r.g, r.dir, in.f, 0)
		if err != nil || !strings.Contains(diff, in.diff) || !strings.Contains(why, in.why) || next != 0 || int64(len(diff)) != size {
			t.Errorf("%s: %q %q %v", in.f.Path, diff, why, err)
		}
	}
}

func TestGitDiffStaysInTheRepository(t *testing.T) {
	r := newRepo(t)
	out := filepath.Join(filepath.Dir(r.dir), "secret")
	if err := errors.Join(os.WriteFile(out, []byte("secret"), 0o600), os.Symlink(filepath.Dir(r.dir), filepath.Join(r.dir, "up"))); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"../secret", "/etc/passwd", "a/../../secret", "a\x00b"} {
		if _, _, _, _, err := GitDiff(t.Context(), r.g, r.dir, model.GitFile{Path: p, Kind: "untracked"}, 0); !errors.Is(err, ErrPath) {
			t.Errorf("%q: %v", p, err)
		}
	}
	if diff, _, _, why, _ := GitDiff(t.Context(), r.g, r.dir, model.GitFile{Path: "up/secret", Kind: "untracked"}, 0); diff != "" || why == "" {
		t.Errorf("a link led out: %q %q", diff, why)
	}
}

func TestALongDiffComesInChunks(t *testing.T) {
	r := newRepo(t)
	r.write("long.txt", strings.Repeat("a line\n", 60_000))
	var got strings.Builder
	for offset := int64(0); ; {
		diff, next, size, why, err := GitDiff(t.Context(), r.g, r.dir, model.GitFile{Path: "long.txt", Kind: "untracked"}, offset)
		if err != nil || why != "" || !strings.HasSuffix(diff, "\n") || size < 400_000 {
			t.Fatal(len(diff), size, why, err)
		}
		got.WriteString(diff)
		if offset = next; next == 0 {
			break
		}
	}
	if strings.Count(got.String(), "+a line\n") != 60_000 {
		t.Error("the chunks are not the whole")
	}
	r.write("huge.txt", strings.Repeat("x", maxDiff+1))
	if _, _, _, why, err := GitDiff(t.Context(), r.g, r.dir, model.GitFile{Path: "huge.txt", Kind: "untracked"}, 0); err != nil || !strings.Contains(why, "larger than") {
		t.Error(why, err)
	}
}

func TestNoRepositoryAndNoGit(t *testing.T) {
	r := newRepo(t)
	other := t.TempDir()
	if st, err := Status(t.Context(), r.g, other); err != nil || st.Repo || !strings.Contains(st.Why, "no git repository") {
		t.Errorf("%+v %v", st, err)
	}
	if st, err := Status(t.Context(), r.g, filepath.Join(other, "gone")); err != nil || st.Repo || !strings.Contains(st.Why, "not there") {
		t.Errorf("%+v %v", st, err)
	}
	none := git.Git{Env: func() []string { return nil }, Look: func() string { return "" }}
	if st, err := Status(t.Context(), none, r.dir); err != nil || st.Why != "git is not installed." {
		t.Errorf("%+v %v", st, err)
	}
}

// Looking at a folder runs nothing that it brings along and takes no lock.
func TestLookingRunsNothingOfTheRepository(t *testing.T) {
	r := newRepo(t)
	mark := filepath.Join(t.TempDir(), "ran")
	evil := "sh -c 'touch " + mark + "; cat'"
	r.write("a.txt", "one\n")
	r.write(".gitattributes", "*.txt filter=evil diff=evil\n")
	r.run("add", ".")
	r.run("commit", "-qm", "one")
	for _, kv := range [][2]string{
		{"core.fsmonitor", "touch " + mark + ";:"}, {"filter.evil.clean", evil}, {"filter.evil.smudge", evil}, {"filter.evil.process", evil}, {"filter.evil.required", "true"},
		{"diff.evil.textconv", evil}, {"diff.evil.command", evil}, {"diff.external", evil}, {"core.pager", evil}, {"core.hooksPath", filepath.Join(r.dir, "hooks")},
		{"core.sshCommand", evil}, {"core.editor", evil},
	} {
		r.run("config", kv[0], kv[1])
	}
	r.write("hooks/post-index-change", "#!/bin/sh\ntouch "+mark+"\n")
	r.write("hooks/fsmonitor-watchman", "#!/bin/sh\ntouch "+mark+"\n")
	for _, h := range []string{"post-index-change", "fsmonitor-watchman"} {
		if err := os.Chmod(filepath.Join(r.dir, "hooks", h), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.write("a.txt", "two\n")
	index := filepath.Join(r.dir, ".git/index")
	before, err := os.Stat(index)
	if err != nil {
		t.Fatal(err)
	}
	// A lock that somebody holds does not matter.
	if err := os.WriteFile(index+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st := r.status()
	if len(st.Files) < 2 {
		t.Errorf("%+v", st)
	}
	diff, _, _, why, err := GitDiff(t.Context(), r.g, r.dir, model.GitFile{Path: "a.txt"}, 0)
	if err != nil || !strings.Contains(diff, "-one\n+two\n") {
		t.Errorf("%q %q %v", diff, why, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository ran")
	}
	after, err := os.Stat(index)
	if err != nil || !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		t.Error("the index was written", err)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.oid (initial)\x001 .M N... 100644 100644 100644 a b c d.txt\x002 R. N... 1 1 1 a b R100 x\x00y\x00u UU N... 1 1 1 1 a b c z\x00? q\x00")
	f.Fuzz(func(t *testing.T, s string) {
		var out model.GitStatus
		parseStatus(s, &out)
	})
}
