package projects

import (
	"os"
	"path/filepath"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Follow calls changed when the project of a folder may have become another one
// (another branch, the folder removed or made a repository), from one goroutine,
// until stop. It watches the folder that holds HEAD and the one above cwd.
// changed should return soon; stop does not wait for it.
func (p *Projects) Follow(cwd string, changed func(model.Project)) (stop func()) {
	if p.o.Watch == nil || cwd == "" {
		return func() {}
	}
	select {
	case <-p.closed:
		return func() {}
	default:
	}
	quit := make(chan struct{})
	last := p.Of(cwd)
	p.done.Add(1)
	go func() {
		defer p.done.Done()
		p.follow(cwd, last, changed, quit)
	}()
	ended := false
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !ended {
			ended = true
			close(quit)
		}
	}
}

func (p *Projects) follow(cwd string, last model.Project, changed func(model.Project), quit <-chan struct{}) {
	above := p.o.Watch(filepath.Dir(filepath.Clean(cwd)))
	defer above.Close()
	var head Watch
	var headDir string
	defer func() {
		if head != nil {
			head.Close()
		}
	}()
	for {
		dir := ""
		if info, err := os.Stat(cwd); err == nil && info.IsDir() {
			if real, err := filepath.EvalSymlinks(cwd); err == nil {
				repo, _ := findRepository(real)
				if dir = repo.gitDir; dir == "" {
					dir = real // a repository may be made here
				}
			}
		}
		if dir != headDir {
			if head != nil {
				head.Close()
				head = nil
			}
			if headDir = dir; dir != "" {
				head = p.o.Watch(dir)
			}
		}
		var wake <-chan struct{}
		if head != nil {
			wake = head.Wake()
		}
		select {
		case <-above.Wake():
			above.Take()
		case <-wake:
			head.Take()
		case <-quit:
			return
		case <-p.closed:
			return
		}
		if now := p.Of(cwd); now != last {
			last = now
			changed(now)
		}
	}
}
