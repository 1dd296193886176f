package agentkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Indexed is what is remembered of a file that holds a stored session.
type Indexed struct {
	Harness, Path string
	// Stamp is how the file stood, Tail where reading continues when it grew.
	Stamp Stamp
	Tail  TailState
	// Listed is false for a file that is known and holds no conversation.
	Listed  bool
	Session agent.StoredSession
	// Facts are the harness's own, to continue with; at most [MaxFacts] bytes.
	Facts []byte
}

// MaxFacts bounds what a harness keeps of a session beside its row, in bytes.
const MaxFacts = 1536

// Index remembers stored sessions between starts of the host. All methods may be
// called from any goroutine.
type Index interface {
	// Stamps calls visit for every file that is known of a harness.
	Stamps(ctx context.Context, harness string, visit func(path string, s Stamp)) error
	// Known returns what is remembered of a file; ok is false when nothing is.
	Known(ctx context.Context, harness, path string) (x Indexed, ok bool, err error)
	Put(ctx context.Context, files ...Indexed) error
	Remove(ctx context.Context, harness string, paths ...string) error
	// Page lists sessions, newest first.
	Page(ctx context.Context, q StoredQuery) (list []agent.StoredSession, next string, err error)
	// Folders lists their working folders, newest first.
	Folders(ctx context.Context, harness string) ([]agent.StoredFolder, error)
}

// StoredQuery is one page of a list. Cwds limits it to these folders when it is
// not empty; Cursor is "" or the next of the page before.
type StoredQuery struct {
	Harness string
	Cwds    []string
	Cursor  string
	Limit   int
}

// ErrBadCursor says that a cursor is none of the list.
var ErrBadCursor = errors.New("this is no cursor of the list of stored sessions; list them from the beginning")

// MemoryIndex is an [Index] that ends with the process: for tests, and where the
// host keeps none. The zero value is empty.
type MemoryIndex struct {
	mu    sync.Mutex
	files map[[2]string]Indexed
}

// Stamps implements [Index].
func (m *MemoryIndex) Stamps(_ context.Context, harness string, visit func(string, Stamp)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, x := range m.files {
		if k[0] == harness {
			visit(k[1], x.Stamp)
		}
	}
	return nil
}

// Known implements [Index].
func (m *MemoryIndex) Known(_ context.Context, harness, path string) (Indexed, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, ok := m.files[[2]string{harness, path}]
	return x, ok, nil
}

// Put implements [Index].
func (m *MemoryIndex) Put(_ context.Context, files ...Indexed) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files = map[[2]string]Indexed{}
	}
	for _, x := range files {
		m.files[[2]string{x.Harness, x.Path}] = x
	}
	return nil
}

// Remove implements [Index].
func (m *MemoryIndex) Remove(_ context.Context, harness string, paths ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range paths {
		delete(m.files, [2]string{harness, p})
	}
	return nil
}

func (m *MemoryIndex) listed(harness string, cwds []string) []Indexed {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Indexed
	for k, x := range m.files {
		if k[0] == harness && x.Listed && (len(cwds) == 0 || slices.Contains(cwds, x.Session.Handle.Cwd)) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b Indexed) int {
		return cmp.Or(cmp.Compare(b.Session.UpdatedAt, a.Session.UpdatedAt), strings.Compare(b.Path, a.Path))
	})
	return list
}

// Page implements [Index].
func (m *MemoryIndex) Page(_ context.Context, q StoredQuery) ([]agent.StoredSession, string, error) {
	at, after, isCursor := strings.Cut(q.Cursor, " ")
	updated, err := strconv.ParseInt(at, 10, 64)
	if q.Cursor != "" && (!isCursor || err != nil) {
		return nil, "", ErrBadCursor
	}
	list := []agent.StoredSession{}
	var last Indexed
	for _, x := range m.listed(q.Harness, q.Cwds) {
		s := x.Session
		if q.Cursor != "" && (s.UpdatedAt > updated || s.UpdatedAt == updated && x.Path >= after) {
			continue
		}
		if len(list) == q.Limit {
			return list, fmt.Sprintf("%d %s", last.Session.UpdatedAt, last.Path), nil
		}
		list, last = append(list, s), x
	}
	return list, "", nil
}

// Folders implements [Index].
func (m *MemoryIndex) Folders(_ context.Context, harness string) ([]agent.StoredFolder, error) {
	var list []agent.StoredFolder
	at := map[string]int{}
	for _, x := range m.listed(harness, nil) { // newest first
		cwd := x.Session.Handle.Cwd
		i, seen := at[cwd]
		if !seen {
			i, at[cwd] = len(list), len(list)
			list = append(list, agent.StoredFolder{Cwd: cwd, UpdatedAt: x.Session.UpdatedAt})
		}
		list[i].Sessions++
	}
	return list, nil
}

var _ Index = (*MemoryIndex)(nil)
