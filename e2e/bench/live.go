//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// Live is a set of running sessions: real processes with an entry each in the
// live registry of the rehearsal.
type Live struct {
	home  wire.Home
	procs []*exec.Cmd
	state []wire.Live
}

// rehearsalHome is where the sessions of a home are.
func rehearsalHome(home string) wire.Home { return wire.Home(filepath.Join(home, "rehearsal")) }

// startLive starts n of them.
func startLive(home string, n int) (*Live, error) {
	l := &Live{home: rehearsalHome(home)}
	for _, dir := range []string{l.home.Sessions(), l.home.Transcripts()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	for i := range n {
		p := exec.Command("sleep", "3600")
		p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		if err := p.Start(); err != nil {
			l.Stop()
			return nil, err
		}
		l.procs = append(l.procs, p)
		now := time.Now().UnixMilli()
		l.state = append(l.state, wire.Live{
			Pid: p.Process.Pid, StartTicks: startTicks(p.Process.Pid), Session: fmt.Sprintf("bench-%04d", i),
			Cwd: home, Face: "terminal", Status: wire.StatusIdle, Title: fmt.Sprint("bench ", i), StartedAt: now, UpdatedAt: now,
		})
		if err := l.write(i); err != nil {
			l.Stop()
			return nil, err
		}
	}
	return l, nil
}

// Flip changes the status of session i between running and idle, by rename, and
// returns when the new entry was in place.
func (l *Live) Flip(i int) (time.Time, error) {
	s := &l.state[i]
	if s.Status == wire.StatusIdle {
		s.Status = wire.StatusRunning
	} else {
		s.Status = wire.StatusIdle
	}
	s.UpdatedAt = time.Now().UnixMilli()
	began := time.Now()
	return began, l.write(i)
}

// Status of session i as it was written last.
func (l *Live) Status(i int) (session, status string) { return l.state[i].Session, l.state[i].Status }

func (l *Live) write(i int) error {
	b, err := json.Marshal(l.state[i])
	if err != nil {
		return err
	}
	path := l.home.Live(l.state[i].Pid)
	if err := os.WriteFile(path+".tmp", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Stop ends the processes.
func (l *Live) Stop() {
	for _, p := range l.procs {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// startTicks is field 22 of /proc/pid/stat.
func startTicks(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	return f[19]
}
