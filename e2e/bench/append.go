//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
)

const (
	appends     = 240
	appendPause = 50 * time.Millisecond
)

// measureAppend: a record is appended to the transcript of one of twenty live
// sessions; how long until its row changed, beside a bare watcher of the folder,
// and what the host spends on it.
func measureAppend(l *Lab) []Figure {
	p50 := Figure{What: "append -> row, p50", Unit: "ms", Target: atMostMore(5, "ms"), Note: fmt.Sprintf("%d appends to %d transcripts of some 200 KB", appends, liveSessions)}
	p99 := Figure{What: "append -> row, p99", Unit: "ms", Target: atMostMore(30, "ms")}
	cpu := Figure{What: "processor time of an append", Unit: "ms", Target: atMost(0.3, "ms"), Note: "all threads of the host, the event to one client included; less what it spent in the same time before, when other processes started and nothing was appended"}
	floor, ours, spent, err := l.appends()
	if err != nil {
		p50.Err, p99.Err, cpu.Err = err, err, err
		return []Figure{p50, p99, cpu}
	}
	p50.Floor, p50.Ours = []float64{quantile(floor, 0.5)}, []float64{quantile(ours, 0.5)}
	p99.Floor, p99.Ours = []float64{quantile(floor, 0.99)}, []float64{quantile(ours, 0.99)}
	cpu.Ours = []float64{ms(spent) / appends}
	return []Figure{p50, p99, cpu}
}

// writing is a live session of Claude Code: a process with its entry in the live
// registry, and a transcript in one folder with the others.
type writing struct {
	process    *exec.Cmd
	id         string
	transcript string
}

func (l *Lab) appends() (floor, ours []float64, spent time.Duration, err error) {
	host, err := l.Host()
	if err != nil {
		return nil, nil, 0, err
	}
	bare, err := l.Floor("watch")
	if err != nil {
		return nil, nil, 0, err
	}
	home, err := l.Home()
	if err != nil {
		return nil, nil, 0, err
	}
	folder := filepath.Join(home, ".claude", "projects", "-home-dev-app")
	live, err := startWriting(home, folder)
	defer func() {
		for _, w := range live {
			_ = w.process.Process.Kill()
			_ = w.process.Wait()
		}
	}()
	if err != nil {
		return nil, nil, 0, err
	}
	watch, err := l.Start(env(home), bare, folder)
	if err != nil {
		return nil, nil, 0, err
	}
	defer watch.Stop()
	if _, err := watch.Line(); err != nil {
		return nil, nil, 0, err
	}
	r, client, _, err := l.Serve(host, home)
	if err != nil {
		return nil, nil, 0, err
	}
	defer r.Stop()
	defer client.Close()
	var mu sync.Mutex
	want := map[string]string{} // session -> title
	seen := make(chan time.Time, appends)
	if err := sessions(client, func(s model.Session) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if t, ok := want[s.Key.ID]; ok && s.Title == t {
			delete(want, s.Key.ID)
			seen <- now
		}
	}); err != nil {
		return nil, nil, 0, err
	}
	noticed := make(chan time.Time, 16*appends)
	go func() {
		for {
			line, err := watch.Line()
			if err != nil {
				return
			}
			_, at, _ := strings.Cut(line, " ")
			ns, _ := strconv.ParseInt(at, 10, 64)
			noticed <- time.Unix(0, ns)
		}
	}()
	time.Sleep(settle)
	for len(noticed) > 0 {
		<-noticed
	}
	rate, err := spending(r.Pid(), settle)
	if err != nil {
		return nil, nil, 0, err
	}
	before, err := cpuOf(r.Pid())
	if err != nil {
		return nil, nil, 0, err
	}
	start := time.Now()
	for n := range appends {
		w := live[n%len(live)]
		title := fmt.Sprint("title ", n)
		mu.Lock()
		want[w.id] = title
		mu.Unlock()
		began := time.Now()
		if err := appendLine(w.transcript, fmt.Sprintf(`{"type":"custom-title","customTitle":%q,"sessionId":%q}`, title, w.id)); err != nil {
			return nil, nil, 0, err
		}
		for _, wait := range []struct {
			from <-chan time.Time
			to   *[]float64
			what string
		}{{noticed, &floor, "the bare watcher"}, {seen, &ours, "the row"}} {
			select {
			case at := <-wait.from:
				*wait.to = append(*wait.to, ms(at.Sub(began)))
			case <-time.After(5 * time.Second):
				return nil, nil, 0, fmt.Errorf("%s missed append %d", wait.what, n)
			}
		}
		time.Sleep(appendPause)
	}
	after, err := cpuOf(r.Pid())
	return floor, ours, after - before - time.Duration(rate*float64(time.Since(start))), err
}

// spending is the share of a processor that a process uses while nothing is asked
// of it.
func spending(pid int, over time.Duration) (float64, error) {
	before, err := cpuOf(pid)
	if err != nil {
		return 0, err
	}
	time.Sleep(over)
	after, err := cpuOf(pid)
	return float64(after-before) / float64(over), err
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func startWriting(home, folder string) (live []writing, err error) {
	registry := filepath.Join(home, ".claude", "sessions")
	for _, dir := range []string{registry, folder} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	for i := range liveSessions {
		p := exec.Command("sleep", "3600")
		p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		if err := p.Start(); err != nil {
			return live, err
		}
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1)
		w := writing{process: p, id: id, transcript: filepath.Join(folder, id+".jsonl")}
		live = append(live, w)
		var text strings.Builder
		for n := range 200 {
			fmt.Fprintf(&text, `{"type":"user","uuid":"%d-%d","parentUuid":null,"sessionId":%q,"cwd":"/home/dev/app","message":{"role":"user","content":%q},"timestamp":"2026-01-01T10:00:00.000Z"}`+"\n",
				i, n, id, strings.Repeat("some words ", 80))
		}
		if err := os.WriteFile(w.transcript, []byte(text.String()), 0o600); err != nil {
			return live, err
		}
		now := time.Now().UnixMilli()
		entry, err := json.Marshal(map[string]any{
			"pid": p.Process.Pid, "sessionId": id, "cwd": "/home/dev/app", "startedAt": now, "procStart": startTicks(p.Process.Pid),
			"status": "busy", "updatedAt": now, "statusUpdatedAt": now, "name": "app", "nameSource": "derived",
		})
		if err != nil {
			return live, err
		}
		if err := os.WriteFile(filepath.Join(registry, strconv.Itoa(p.Process.Pid)+".json"), entry, 0o600); err != nil {
			return live, err
		}
	}
	return live, nil
}
