package projects

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func temp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t *testing.T, path ...string) string {
	t.Helper()
	p := filepath.Join(path...)
	if err := os.MkdirAll(p, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// repo makes a repository "app" on branch main with one linked worktree.
func repo(t *testing.T) (dir, app, linked string) {
	t.Helper()
	dir = temp(t)
	app = mkdir(t, dir, "app")
	git(t, app, "init", "-q", "-b", "main")
	git(t, app, "commit", "-q", "--allow-empty", "-m", "x")
	linked = filepath.Join(dir, "app-wt1")
	git(t, app, "worktree", "add", "-q", "-b", "feature/one", linked)
	return dir, app, linked
}

func want(t *testing.T, p *Projects, cwd string, w model.Project) {
	t.Helper()
	if d := cmp.Diff(w, p.Of(cwd)); d != "" {
		t.Errorf("%s:\n%s", cwd, d)
	}
}

func TestRepositoryAndLinkedWorktree(t *testing.T) {
	dir, app, linked := repo(t)
	p := New(Options{})
	defer p.Close()
	in := model.Project{Root: app, Name: "app", Branch: "main"}
	want(t, p, app, in)
	want(t, p, mkdir(t, app, "a", "b"), in)
	want(t, p, app+"/a/../a/b/", in)
	out := model.Project{Root: app, Name: "app", Worktree: "app-wt1", Branch: "feature/one"}
	want(t, p, linked, out)
	want(t, p, mkdir(t, linked, "deep"), out)
	// A folder whose name only begins the same is another project.
	other := mkdir(t, dir, "app-other")
	want(t, p, other, model.Project{Root: other, Name: "app-other"})
	// Another branch is seen at the next look.
	git(t, app, "checkout", "-q", "-b", "next")
	want(t, p, app, model.Project{Root: app, Name: "app", Branch: "next"})
	git(t, app, "checkout", "-q", "--detach")
	if b := p.Of(app).Branch; !strings.HasPrefix(b, "detached at ") {
		t.Errorf("branch %q", b)
	}
	// A folder becomes a repository.
	git(t, other, "init", "-q", "-b", "trunk")
	want(t, p, other, model.Project{Root: other, Name: "app-other", Branch: "trunk"})
}

func TestBareRepositoryAndSubmodule(t *testing.T) {
	dir, app, _ := repo(t)
	bare := filepath.Join(dir, "lib.git")
	git(t, dir, "clone", "-q", "--bare", app, bare)
	tree := filepath.Join(dir, "lib-main")
	git(t, bare, "worktree", "add", "-q", tree, "main")
	p := New(Options{})
	defer p.Close()
	want(t, p, tree, model.Project{Root: bare, Name: "lib", Worktree: "lib-main", Branch: "main"})

	git(t, app, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bare, "sub")
	sub := filepath.Join(app, "sub")
	want(t, p, sub, model.Project{Root: sub, Name: "sub", Branch: "main"})
}

// Links and second spellings lead to one project; a real folder that looks like
// the kernel's mark of a removed one is itself.
func TestPathIdentity(t *testing.T) {
	dir, app, _ := repo(t)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(app, link); err != nil {
		t.Fatal(err)
	}
	p := New(Options{})
	defer p.Close()
	if got := p.Of(mkdir(t, link, "x")); got.Root != app {
		t.Errorf("through a link: %+v", got)
	}
	if !Same(app, link) || Same(app, dir) || Same(app, filepath.Join(dir, "none")) {
		t.Error("identity")
	}
	marked := mkdir(t, dir, "x (deleted)")
	want(t, p, marked, model.Project{Root: marked, Name: "x (deleted)"})
	for path, in := range map[string]bool{"/w/app": true, "/w/app/": true, "/w/app/x": true, "/w/app-2": false, "/w": false, "/w/ap": false} {
		if Within("/w/app", path) != in {
			t.Errorf("%s within /w/app: %v", path, !in)
		}
	}
	if !Within("/", "/x") {
		t.Error("the root holds everything")
	}
}

type memory map[string]model.Project

func (m memory) Recall(cwd string) (model.Project, bool) { p, ok := m[cwd]; return p, ok }
func (m memory) Remember(cwd string, p model.Project)    { m[cwd] = p }

// Case T16: the folder of a removed worktree stays with its repository, in this
// process and in the next.
func TestT16FolderGone(t *testing.T) {
	dir, app, linked := repo(t)
	m := memory{}
	p := New(Options{Memory: m})
	defer p.Close()
	deep := mkdir(t, linked, "deep")
	p.Of(deep)
	p.Of(linked)
	git(t, app, "worktree", "remove", "--force", linked)
	gone := model.Project{Root: app, Name: "app", Worktree: "app-wt1", Gone: true}
	want(t, p, linked, gone)
	want(t, p, deep, gone)
	want(t, p, linked+" (deleted)", gone) // as /proc/<pid>/cwd shows it
	next := New(Options{Memory: m})
	defer next.Close()
	want(t, next, linked, gone)
	// Without any memory: the repository of the nearest parent, or itself.
	bare := New(Options{})
	defer bare.Close()
	want(t, bare, filepath.Join(app, "removed", "x"), model.Project{Root: app, Name: "app", Gone: true})
	want(t, bare, filepath.Join(dir, "never"), model.Project{Root: filepath.Join(dir, "never"), Name: "never", Gone: true})
	// And it lives again.
	git(t, app, "worktree", "add", "-q", linked, "feature/one")
	want(t, p, linked, model.Project{Root: app, Name: "app", Worktree: "app-wt1", Branch: "feature/one"})
	// Removed by hand, with git's administration pruned: still of its repository.
	if err := os.RemoveAll(filepath.Join(app, ".git", "worktrees")); err != nil {
		t.Fatal(err)
	}
	want(t, bare, linked, model.Project{Root: app, Name: "app", Worktree: "app-wt1"})
}

// Case T14: projects are told apart by the folders that records name, never by
// a decoded name: two that an encoding folds together are two.
func TestT14FoldersThatEncodeAlike(t *testing.T) {
	dir := temp(t)
	p := New(Options{})
	defer p.Close()
	seen := map[string]bool{}
	for _, name := range []string{"my.app", "my_app", "my-app", "my app", "проект x"} {
		path := mkdir(t, dir, name)
		got := p.Of(path)
		if got.Root != path || got.Name != name || seen[got.Root] {
			t.Errorf("%q: %+v", name, got)
		}
		seen[got.Root] = true
	}
	if got := p.Of(""); got != (model.Project{}) {
		t.Errorf("without a folder: %+v", got)
	}
}

// What is no repository of git's does not become one, and never blocks.
func TestFalseRepositories(t *testing.T) {
	dir := temp(t)
	p := New(Options{})
	defer p.Close()
	for name, content := range map[string]string{"text": "hello", "empty": "", "nowhere": "gitdir: /nowhere/at/all\n", "huge": "gitdir: " + strings.Repeat("x", 5000)} {
		path := mkdir(t, dir, name)
		if err := os.WriteFile(filepath.Join(path, ".git"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		want(t, p, path, model.Project{Root: path, Name: name})
	}
	path := mkdir(t, dir, "folder")
	mkdir(t, path, ".git")
	want(t, p, path, model.Project{Root: path, Name: "folder"})
	pipe := mkdir(t, dir, "pipe")
	if err := mkfifo(filepath.Join(pipe, ".git")); err != nil {
		t.Fatal(err)
	}
	want(t, p, pipe, model.Project{Root: pipe, Name: "pipe"})
}

// Followed, a change of branch, a new repository and a removed folder are told.
func TestFollow(t *testing.T) {
	_, app, linked := repo(t)
	w := agentkit.NewWatcher(agentkit.WatcherOptions{})
	defer func() { _ = w.Close() }()
	p := New(Options{Watch: func(dir string) Watch { return w.Watch(dir) }})
	defer p.Close()
	told := make(chan model.Project, 100)
	stop := p.Follow(linked, func(pr model.Project) { told <- pr })
	defer stop()
	wait := func(ok func(model.Project) bool) {
		t.Helper()
		for pr := range told {
			if ok(pr) {
				return
			}
		}
	}
	git(t, linked, "checkout", "-q", "-b", "two")
	wait(func(pr model.Project) bool { return pr.Branch == "two" })
	git(t, app, "worktree", "remove", "--force", linked)
	wait(func(pr model.Project) bool { return pr.Gone && pr.Root == app })
	stop()
}
