package projects

import (
	"context"
	"sync"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Folders is the part of the store that remembers folders.
type Folders interface {
	Folder(ctx context.Context, cwd string) (model.Project, error)
	RememberFolder(cwd string, p model.Project) error
}

// Stored is a Memory in the store; it writes only what is new.
func Stored(f Folders) Memory { return &storedMemory{folders: f, noted: map[string]model.Project{}} }

type storedMemory struct {
	folders Folders
	mu      sync.Mutex
	noted   map[string]model.Project
}

func (m *storedMemory) Recall(cwd string) (model.Project, bool) {
	p, err := m.folders.Folder(context.Background(), cwd)
	return p, err == nil
}

func (m *storedMemory) Remember(cwd string, p model.Project) {
	p.Branch = "" // changes often and is worth nothing later
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noted[cwd] == p {
		return
	}
	if len(m.noted) >= maxKnown {
		clear(m.noted)
	}
	m.noted[cwd] = p
	_ = m.folders.RememberFolder(cwd, p) // a closed store forgets one folder
}
