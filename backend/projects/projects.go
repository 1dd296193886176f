// Package projects tells which project a folder belongs to: the repository it
// lies in, a linked worktree of it, or the folder itself. It reads git's files
// and never starts git.
//
// Two spellings of one folder (through a link, with another case or another
// Unicode form where the file system folds them) are one project: folders are
// compared by device and inode.
package projects

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Memory keeps what a folder was, so that it is still known when the folder is
// gone (a removed worktree). Both are called while a project is looked up and
// must be quick; nil forgets at the end of the process.
type Memory interface {
	Recall(cwd string) (model.Project, bool)
	Remember(cwd string, p model.Project)
}

// Watch is a watched folder (agentkit.Watch).
type Watch interface {
	Wake() <-chan struct{}
	Take() (paths []string, rescan bool)
	Close()
}

// Options have useful zero values.
type Options struct {
	Memory Memory
	// Watch watches a folder for Follow; nil: nothing is followed.
	Watch func(dir string) Watch
}

// identity names a folder whatever it is called.
type identity struct{ dev, ino uint64 }

// Projects looks up and remembers. All methods may be called from any goroutine.
type Projects struct {
	o Options

	mu     sync.Mutex
	known  map[string]entry    // by the cwd as it was asked for
	spelt  map[identity]string // the spelling in use for a root
	closed chan struct{}
	once   sync.Once
	done   sync.WaitGroup
}

// entry is an answer with what it was read from; it holds while they are the same.
type entry struct {
	project model.Project
	prints  []print
}

// New makes an empty set.
func New(o Options) *Projects {
	return &Projects{o: o, known: map[string]entry{}, spelt: map[identity]string{}, closed: make(chan struct{})}
}

// Close ends everything that is followed and waits.
func (p *Projects) Close() {
	p.once.Do(func() { close(p.closed) })
	p.done.Wait()
}

// maxKnown bounds the cache; beyond it everything is looked up anew.
const maxKnown = 4096

// Of returns the project of a folder. It costs a few stat calls when nothing
// changed since the last time. A folder that does not exist any more (also as
// the kernel shows it, "/x (deleted)") belongs to the project it had, or to that
// of its nearest parent, and is marked Gone.
func (p *Projects) Of(cwd string) model.Project {
	if cwd == "" {
		return model.Project{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.known[cwd]; ok && same(e.prints) {
		return e.project
	}
	e := p.look(cwd)
	if len(p.known) >= maxKnown {
		clear(p.known)
	}
	p.known[cwd] = e
	return e.project
}

func (p *Projects) look(cwd string) entry {
	path := filepath.Clean(cwd)
	info, err := os.Stat(path)
	if err != nil {
		if cut, ok := strings.CutSuffix(path, " (deleted)"); ok {
			path = cut
			info, err = os.Stat(path)
		}
	}
	if err == nil && info.IsDir() {
		found := p.living(path)
		if p.o.Memory != nil {
			p.o.Memory.Remember(path, found.project)
		}
		found.prints = append(found.prints, printOf(path))
		if path != filepath.Clean(cwd) {
			found.prints = append(found.prints, printOf(filepath.Clean(cwd)))
		}
		return found
	}
	return p.gone(path)
}

// living looks up a folder that exists.
func (p *Projects) living(path string) entry {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	repo, prints := findRepository(real)
	root := real
	if repo.root != "" {
		root = repo.root
	}
	root = p.spelling(root)
	return entry{prints: prints, project: model.Project{Root: root, Name: nameOf(root), Worktree: repo.worktree, Branch: repo.branch}}
}

// gone looks up a folder that does not exist.
func (p *Projects) gone(path string) entry {
	prints := []print{printOf(path)}
	if p.o.Memory != nil {
		if old, ok := p.o.Memory.Recall(path); ok {
			old.Branch, old.Gone = "", true
			return entry{old, prints}
		}
	}
	if e, ok := p.known[path]; ok { // asked before under this very name
		old := e.project
		old.Branch, old.Gone = "", true
		return entry{old, prints}
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				if repo, more := findRepository(real); repo.root != "" {
					root := p.spelling(repo.root)
					return entry{model.Project{Root: root, Name: nameOf(root), Worktree: repo.worktree, Gone: true}, append(prints, more...)}
				}
			}
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return entry{model.Project{Root: path, Name: nameOf(path), Gone: true}, prints}
}

// spelling returns the spelling of a folder that was used first, so that other
// spellings of the same one fall into one group.
func (p *Projects) spelling(path string) string {
	id, ok := identify(path)
	if !ok {
		return path
	}
	if first, ok := p.spelt[id]; ok {
		if again, ok := identify(first); ok && again == id {
			return first
		}
	}
	p.spelt[id] = path
	return path
}

// Same reports whether two paths name one existing folder or file.
func Same(a, b string) bool {
	x, ok := identify(a)
	if !ok {
		return false
	}
	y, ok := identify(b)
	return ok && x == y
}

// Within reports whether path is root or lies below it, by whole segments; both
// are absolute. Links are not followed.
func Within(root, path string) bool {
	root, path = filepath.Clean(root), filepath.Clean(path)
	if root == path {
		return true
	}
	if !strings.HasSuffix(root, string(filepath.Separator)) {
		root += string(filepath.Separator)
	}
	return strings.HasPrefix(path, root)
}

func nameOf(root string) string {
	name := filepath.Base(root)
	if name == ".bare" || name == ".git" {
		name = filepath.Base(filepath.Dir(root))
	}
	if cut := strings.TrimSuffix(name, ".git"); cut != "" {
		name = cut
	}
	return name
}

// print is how a file or folder stood when it was read.
type print struct {
	path  string
	id    identity
	mtime int64
	there bool
}

func printOf(path string) print {
	info, err := os.Stat(path)
	if err != nil {
		return print{path: path}
	}
	pr := print{path: path, there: true}
	pr.id, _ = identityOf(info)
	if !info.IsDir() { // a folder's time changes with every file in it
		pr.mtime = info.ModTime().UnixNano()
	}
	return pr
}

func same(prints []print) bool {
	for _, old := range prints {
		if printOf(old.path) != old {
			return false
		}
	}
	return len(prints) > 0
}

func identify(path string) (identity, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, false
	}
	return identityOf(info)
}

// readSmall reads a regular file of git's of at most 4 KiB.
func readSmall(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 4096 {
		return "", fs.ErrInvalid
	}
	b, err := os.ReadFile(path)
	return string(b), err
}
