//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
)

// openSize is that of the one big session, in bytes.
const openSize = 200 << 20

// measureOpen: a session of 200 MB is opened on its end, and the page before.
func measureOpen(l *Lab) []Figure {
	last := Figure{What: "session of 200 MB: opened on its end", Unit: "ms", Target: atMost(300, "ms"), Note: "the request to the host and its answer, the page cache warm"}
	back := Figure{What: "the same: the page before", Unit: "ms", Target: atMost(300, "ms")}
	grew := Figure{What: "the same: what the host's memory grew by", Unit: "MB", Target: atMost(32, "MB"), Note: "after the end and twenty pages back"}
	for range l.Runs {
		a, b, mb, err := l.open()
		if err != nil {
			last.Err, back.Err, grew.Err = err, err, err
			break
		}
		last.Ours, back.Ours, grew.Ours = append(last.Ours, a), append(back.Ours, b), append(grew.Ours, mb)
	}
	return []Figure{last, back, grew}
}

func (l *Lab) open() (last, back, grew float64, err error) {
	host, err := l.Host()
	if err != nil {
		return 0, 0, 0, err
	}
	corpus, err := l.Corpus(1, openSize)
	if err != nil {
		return 0, 0, 0, err
	}
	home, err := l.Home()
	if err != nil {
		return 0, 0, 0, err
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude", "sessions"), 0o700); err != nil {
		return 0, 0, 0, err
	}
	if err := os.Symlink(filepath.Join(corpus, ".claude", "projects"), filepath.Join(home, ".claude", "projects")); err != nil {
		return 0, 0, 0, err
	}
	r, client, _, err := l.Serve(host, home)
	if err != nil {
		return 0, 0, 0, err
	}
	defer r.Stop()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	list, err := api.Call[api.StoredResult](ctx, client, "sessions.stored", api.StoredRequest{Harness: harness, Fresh: true})
	if err != nil {
		return 0, 0, 0, err
	}
	if len(list.Sessions) != 1 {
		return 0, 0, 0, fmt.Errorf("%d sessions are listed", len(list.Sessions))
	}
	time.Sleep(settle / 3)
	before := pss(r.Pid())
	var at *agent.Position
	for n := range 21 {
		began := time.Now()
		page, err := api.Call[api.SessionPage](ctx, client, "sessions.rows", api.SessionPageRequest{Handle: list.Sessions[0].Handle, Before: at})
		took := ms(time.Since(began))
		if err != nil {
			return 0, 0, 0, err
		}
		if at = page.Before; at == nil || len(page.Items) < 10 {
			return 0, 0, 0, errors.New("a page of the big session has hardly a row")
		}
		switch n {
		case 0:
			last = took
		case 1:
			back = took
		}
	}
	return last, back, mb(pss(r.Pid()) - before), nil
}
