package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// registry keeps this process's sessions/<pid>.json true. The file is replaced
// whole, and removed at a clean end; after a kill it stays and lies.
type registry struct {
	mu   sync.Mutex
	home wire.Home
	live wire.Live
	gone bool
}

func register(home wire.Home, live wire.Live) (*registry, error) {
	if err := os.MkdirAll(home.Sessions(), 0o700); err != nil {
		return nil, err
	}
	live.Pid, live.StartTicks = os.Getpid(), startTicks()
	live.Status, live.StartedAt = wire.StatusIdle, now()
	r := &registry{home: home, live: live}
	return r, r.update(func(*wire.Live) {})
}

// update changes the entry and writes it.
func (r *registry) update(change func(*wire.Live)) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return nil
	}
	change(&r.live)
	r.live.UpdatedAt = now()
	data, err := json.Marshal(r.live)
	if err != nil {
		return err
	}
	temp := filepath.Join(r.home.Sessions(), "."+strconv.Itoa(r.live.Pid)+".new")
	if err := os.WriteFile(temp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, r.home.Live(r.live.Pid))
}

func (r *registry) remove() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	os.Remove(r.home.Live(r.live.Pid))
}
