//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
)

const (
	registryWrites = 300
	registryPause  = 40 * time.Millisecond
)

// measureRegistry: from the rename of a live registry entry to the event of it
// on the socket, beside a bare inotify watcher that sees the same rename.
func measureRegistry(l *Lab) []Figure {
	p50 := Figure{What: "registry write -> event, p50", Unit: "ms", Target: atMostMore(5, "ms"), Note: fmt.Sprintf("%d writes, the same for both", registryWrites)}
	p99 := Figure{What: "registry write -> event, p99", Unit: "ms", Target: atMostMore(30, "ms")}
	floor, ours, err := l.registry()
	if err != nil {
		p50.Err, p99.Err = err, err
		return []Figure{p50, p99}
	}
	p50.Floor, p50.Ours = []float64{quantile(floor, 0.5)}, []float64{quantile(ours, 0.5)}
	p99.Floor, p99.Ours = []float64{quantile(floor, 0.99)}, []float64{quantile(ours, 0.99)}
	return []Figure{p50, p99}
}

func (l *Lab) registry() (floor, ours []float64, err error) {
	host, err := l.Host()
	if err != nil {
		return nil, nil, err
	}
	bare, err := l.Floor("watch")
	if err != nil {
		return nil, nil, err
	}
	home, err := l.Home()
	if err != nil {
		return nil, nil, err
	}
	live, err := startLive(home, liveSessions)
	if err != nil {
		return nil, nil, err
	}
	defer live.Stop()
	watch, err := l.Start(env(home), bare, live.home.Sessions())
	if err != nil {
		return nil, nil, err
	}
	defer watch.Stop()
	if _, err := watch.Line(); err != nil {
		return nil, nil, err
	}
	r, client, _, err := l.Serve(host, home, "REHEARSAL_HOME="+string(rehearsalHome(home)))
	if err != nil {
		return nil, nil, err
	}
	defer r.Stop()
	defer client.Close()

	var mu sync.Mutex
	want := map[string]string{} // session id -> status waited for
	seen := make(chan time.Time, registryWrites)
	err = sessions(client, func(s model.Session) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if w, ok := want[s.Key.ID]; ok && string(s.State) == w {
			delete(want, s.Key.ID)
			seen <- now
		}
	})
	if err != nil {
		return nil, nil, err
	}
	noticed := map[string]chan time.Time{}
	for _, s := range live.state {
		noticed[strconv.Itoa(s.Pid)] = make(chan time.Time, registryWrites)
	}
	go func() {
		for {
			line, err := watch.Line()
			if err != nil {
				return
			}
			name, at, _ := strings.Cut(line, " ")
			pid, isEntry := strings.CutSuffix(filepath.Base(name), ".json")
			ns, _ := strconv.ParseInt(at, 10, 64)
			if ch := noticed[pid]; ch != nil && isEntry {
				ch <- time.Unix(0, ns)
			}
		}
	}()
	time.Sleep(settle)
	for _, ch := range noticed {
		for len(ch) > 0 {
			<-ch
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for n := range registryWrites {
		i := n % liveSessions
		mu.Lock()
		id, status := live.Status(i)
		want[id] = map[string]string{"idle": "running", "running": "idle"}[status]
		mu.Unlock()
		began, err := live.Flip(i)
		if err != nil {
			return nil, nil, err
		}
		pid := strconv.Itoa(live.state[i].Pid)
		select {
		case at := <-noticed[pid]:
			floor = append(floor, ms(at.Sub(began)))
		case <-time.After(5 * time.Second):
			return nil, nil, fmt.Errorf("the bare watcher missed write %d", n)
		}
		select {
		case at := <-seen:
			ours = append(ours, ms(at.Sub(began)))
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("no event for write %d", n)
		case <-time.After(10 * time.Second):
			return nil, nil, fmt.Errorf("no event for write %d within 10 s", n)
		}
		time.Sleep(registryPause)
	}
	return floor, ours, nil
}
