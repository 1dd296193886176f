//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
)

// The sizes of what is listed. Transcripts that are read have the size of real
// ones: fewer of them without -full. Those that an index knows are many and small.
const (
	knownCount, knownSize = 10_000, 20 << 10
	readCount, readSize   = 2_000, 100 << 10
	fullCount, fullSize   = 10_000, 200 << 10
	// endsWindow is how much the floor reads of each end of a file.
	endsWindow = 64 << 10
	harness    = "claude-code"
)

// shelf is a corpus of stored sessions.
type shelf struct {
	count    int
	projects string
}

func (l *Lab) shelf(count, size int) (shelf, error) {
	corpus, err := l.Corpus(count, size)
	return shelf{count, filepath.Join(corpus, ".claude", "projects")}, err
}

// measureList: listing all stored sessions without an index (beside one read of
// the first and the last 64 KB of each), the first answer and the whole
// comparison with one (beside a bare stat of each), and the size of the index.
// Run after run the corpus is in the page cache for both.
func measureList(l *Lab) []Figure {
	count, bytes := readCount, readSize
	if l.Full {
		count, bytes = fullCount, fullSize
	}
	n := fmt.Sprintf("%d stored sessions, %d MB", count, count*bytes>>20)
	cold := Figure{What: "list cold: " + n, Unit: "ms", Target: atMostTimes(3), Note: "floor: one read of the first and the last 64 KB of each file; ours: the request that waits for everything, the index written and durable"}
	coldCPU := Figure{What: "list cold, processor time", Unit: "ms", Target: atMostTimes(3), Note: "of all threads; the index is written to a database meanwhile"}
	first := Figure{What: fmt.Sprintf("list warm: first answer, %d known", knownCount), Unit: "ms", Target: atMost(150, "ms")}
	check := Figure{What: "list warm: compared with the disk", Unit: "ms", Target: atMostTimes(3), Note: "floor: a bare stat of each file"}
	size := Figure{What: "index of stored sessions", Unit: "KB a session", Target: atMost(4, "KB")}
	fail := func(err error) []Figure {
		for _, f := range []*Figure{&cold, &coldCPU, &first, &check, &size} {
			f.Err = err
		}
		return []Figure{cold, coldCPU, first, check, size}
	}
	host, err := l.Host()
	if err != nil {
		return fail(err)
	}
	floor, err := l.Floor("list")
	if err != nil {
		return fail(err)
	}
	read, err := l.shelf(count, bytes)
	if err != nil {
		return fail(err)
	}
	known, err := l.shelf(knownCount, knownSize)
	if err != nil {
		return fail(err)
	}
	for n := range l.Runs + 1 {
		ends, err := l.floorList(floor, read.count, "ends", read.projects, fmt.Sprint(endsWindow))
		if err != nil {
			return fail(err)
		}
		stat, err := l.floorList(floor, known.count, "stat", known.projects)
		if err != nil {
			return fail(err)
		}
		ours, err := l.list(host, read, false)
		if err != nil {
			return fail(err)
		}
		again, err := l.list(host, known, true)
		if err != nil {
			return fail(err)
		}
		if n == 0 { // it warms the caches
			continue
		}
		cold.Floor, cold.Ours = append(cold.Floor, ends.wall), append(cold.Ours, ours.cold)
		coldCPU.Floor, coldCPU.Ours = append(coldCPU.Floor, ends.cpu), append(coldCPU.Ours, ours.coldCPU)
		first.Ours = append(first.Ours, again.first)
		check.Floor, check.Ours = append(check.Floor, stat.wall), append(check.Ours, again.check)
		size.Ours = append(size.Ours, again.size)
	}
	return []Figure{cold, coldCPU, first, check, size}
}

// took is what a floor says of itself, in milliseconds.
type took struct{ wall, cpu float64 }

func (l *Lab) floorList(program string, count int, args ...string) (t took, err error) {
	r, err := l.Start(env(l.tmp), append([]string{program}, args...)...)
	if err != nil {
		return t, err
	}
	defer r.Stop()
	line, err := r.Line()
	if err != nil {
		return t, err
	}
	n := 0
	if _, err := fmt.Sscan(line, &n, &t.wall, &t.cpu); err != nil || n != count {
		return t, fmt.Errorf("the floor says %q: %w", line, errors.Join(err, errors.New("not all sessions were there")))
	}
	return t, nil
}

// listing is one run of ours, in milliseconds; size in KB a session.
type listing struct{ cold, coldCPU, first, check, size float64 }

func (l *Lab) list(program string, of shelf, again bool) (out listing, err error) {
	home, err := l.Home()
	if err != nil {
		return out, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	claude := filepath.Join(home, ".claude")
	if err := os.MkdirAll(filepath.Join(claude, "sessions"), 0o700); err != nil {
		return out, err
	}
	if err := os.Symlink(of.projects, filepath.Join(claude, "projects")); err != nil {
		return out, err
	}
	r, client, _, err := l.Serve(program, home)
	if err != nil {
		return out, err
	}
	time.Sleep(settle / 3)
	spent, err := cpuOf(r.Pid())
	if err == nil {
		out.cold, err = l.ask(client, true)
	}
	if err == nil {
		var now time.Duration
		if now, err = cpuOf(r.Pid()); err == nil {
			out.coldCPU = ms(now - spent)
			err = l.whole(client, of.count)
		}
	}
	client.Close()
	r.Stop()
	if err != nil {
		return out, err
	}
	if !again {
		return out, nil
	}
	info, err := os.Stat(filepath.Join(home, "w", "whippletree.db"))
	if err != nil {
		return out, err
	}
	out.size = float64(info.Size()) / 1024 / float64(of.count)

	if r, client, _, err = l.Serve(program, home); err != nil {
		return out, err
	}
	defer r.Stop()
	defer client.Close()
	if out.first, err = l.ask(client, false); err != nil {
		return out, err
	}
	if _, err = l.ask(client, true); err != nil { // the comparison that the first answer began
		return out, err
	}
	out.check, err = l.ask(client, true)
	return out, err
}

// ask lists the first page and returns how long that took.
func (l *Lab) ask(client *api.Client, fresh bool) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	began := time.Now()
	res, err := api.Call[api.StoredResult](ctx, client, "sessions.stored", api.StoredRequest{Harness: harness, Limit: 50, Fresh: fresh})
	took := ms(time.Since(began))
	if err == nil && len(res.Sessions) != 50 {
		err = fmt.Errorf("the first page has %d sessions", len(res.Sessions))
	}
	return took, err
}

// whole sees to it that every session is in the list.
func (l *Lab) whole(client *api.Client, count int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	n := 0
	for cursor := ""; ; {
		res, err := api.Call[api.StoredResult](ctx, client, "sessions.stored", api.StoredRequest{Harness: harness, Limit: 200, Cursor: cursor})
		if err != nil {
			return err
		}
		n += len(res.Sessions)
		if cursor = res.Next; cursor == "" {
			break
		}
	}
	if n != count {
		return fmt.Errorf("%d of %d sessions are listed", n, count)
	}
	return nil
}
