//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// Many chats that stream at once, each as fast as a fast model.
const (
	manyChats = 20
	chatRate  = 200 // deltas a second and chat
)

// measureChats: 20 chats of 200 deltas a second each, all of them counted at one
// client; and what chats cost in memory while nothing happens in them.
func measureChats(l *Lab) []Figure {
	seconds := 5
	if l.Full {
		seconds = 30
	}
	what := fmt.Sprintf("%d chats x %d deltas/s x %d s: ", manyChats, chatRate, seconds)
	cpu := Figure{What: what + "host processor", Unit: "% of one", Target: atMostTimes(2.5), Note: "every delta counted and in order at the client; the agents' own processor time excluded; the floor reads and decodes the lines of the same 20 agents and nothing else"}
	late := Figure{What: what + "p99 delta due -> event", Unit: "ms", Target: atMostMore(30, "ms"),
		Note: "while all of them stream; from when the agent's schedule has the delta (whole milliseconds); the floor reads the pipes of the same 20 agents and nothing else; ours has 12 ms of coalescing in it"}
	idle := Figure{What: "memory of an idle chat that was opened", Unit: "KB", Target: atMost(64, "KB"), Note: "200 chats of 20 rows each; proportional memory of the host with them open, without any of them opened, divided"}
	items := Figure{What: "memory of 10,000 rows in an opened chat", Unit: "MB", Target: atMost(12, "MB"), Note: "one chat of 10,000 rows; the host keeps their places, not their texts"}
	figures := func(err error) []Figure {
		cpu.Err, late.Err = err, err
		return []Figure{cpu, late, idle, items}
	}
	host, err := l.Host()
	if err != nil {
		idle.Err, items.Err = err, err
		return figures(err)
	}
	for range min(l.Runs, 3) {
		bare, floor, err := l.agentsAlone(host, chatRate*seconds)
		if err != nil {
			return figures(err)
		}
		share, lateness, err := l.streamMany(host, chatRate*seconds)
		if err != nil {
			return figures(err)
		}
		cpu.Floor = append(cpu.Floor, 100*bare)
		cpu.Ours = append(cpu.Ours, 100*share)
		late.Floor, late.Ours = append(late.Floor, quantile(floor, 0.99)), append(late.Ours, quantile(lateness, 0.99))
	}
	if v, err := l.chatMemory(host, 200, 20); err != nil {
		idle.Err = err
	} else {
		idle.Ours = []float64{float64(v) / 1024 / 200}
	}
	if v, err := l.chatMemory(host, 1, 10_000); err != nil {
		items.Err = err
	} else {
		items.Ours = []float64{mb(v)}
	}
	return figures(nil)
}

// schedule turns the arrival of a text into lateness: delta k of a turn is due k
// periods after the text began, by the agent's clock.
type schedule struct {
	began int64 // epoch milliseconds
	seen  int   // deltas
	late  []float64
}

func (s *schedule) arrived(text string, now time.Time) {
	for range strings.Count(text, " ") {
		s.seen++
		due := time.UnixMilli(s.began).Add(time.Duration(s.seen) * time.Second / chatRate)
		s.late = append(s.late, max(0, float64(now.Sub(due).Microseconds())/1000))
	}
}

// streamMany streams in all chats at once and returns how much of a processor the
// host used while all of them streamed, and how late each delta came.
func (l *Lab) streamMany(program string, perChat int) (used float64, late []float64, err error) {
	home, err := l.Home()
	if err != nil {
		return 0, nil, err
	}
	if err := rehearsalArgs(home, "--pace", "none", "--deltas", strconv.Itoa(perChat), "--rate", strconv.Itoa(chatRate)); err != nil {
		return 0, nil, err
	}
	r, client, _, err := l.Serve(program, home, "REHEARSAL_HOME="+string(rehearsalHome(home)))
	if err != nil {
		return 0, nil, err
	}
	defer r.Stop()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var counters []*counter
	var mu sync.Mutex
	began, all := 0, make(chan struct{}) // all: every chat streams
	for i := range manyChats {
		chat, err := api.Call[api.ChatResult](ctx, client, "chats.create", api.CreateChat{
			ClientID: fmt.Sprint("many-", i), Harness: "rehearsal", Kind: agent.KindWorkspace, Cwd: home,
		})
		if err != nil {
			return 0, nil, err
		}
		w := &counter{want: perChat, done: make(chan error, 2), text: map[string]int{}}
		s := &schedule{}
		w.heard = func(first time.Time, text string) {
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			if s.seen == 0 && text != "" {
				if began++; began == manyChats {
					close(all)
				}
			}
			s.began = first.UnixMilli()
			before := len(s.late)
			s.arrived(text, now)
			if began == manyChats {
				late = append(late, s.late[before:]...)
			}
		}
		if _, err := client.Subscribe(ctx, api.TopicChat+chat.Chat.ID, api.Subscriber{
			Snapshot: func(raw json.RawMessage) { w.snapshot(raw) }, Event: w.event,
		}); err != nil {
			return 0, nil, err
		}
		counters = append(counters, w)
	}
	chats, err := api.Call[api.Chats](ctx, client, "chats.list", api.Listing{})
	if err != nil {
		return 0, nil, err
	}
	for _, c := range chats.Chats {
		if _, err := api.Call[api.SendResult](ctx, client, "chats.send", api.SendPrompt{ChatID: c.ID, ClientID: "p", Text: "load"}); err != nil {
			return 0, nil, err
		}
	}
	select { // the starts of the agents are not counted
	case <-all:
	case <-ctx.Done():
		return 0, nil, errors.New("not every chat began to stream within three minutes")
	}
	since := time.Now()
	before, err := cpuOf(r.Pid())
	if err != nil {
		return 0, nil, err
	}
	for i, w := range counters {
		select {
		case err = <-w.done:
		case <-ctx.Done():
			err = errors.New("has no end after three minutes")
		}
		if err != nil {
			return 0, nil, fmt.Errorf("chat %d: %w", i, err)
		}
	}
	after, err := cpuOf(r.Pid())
	took := time.Since(since)
	mu.Lock()
	defer mu.Unlock()
	return (after - before).Seconds() / took.Seconds(), append([]float64(nil), late...), err
}

// agentsAlone reads the pipes of the same agents and does nothing else. It returns
// how much of a processor that took, and how late each delta came.
func (l *Lab) agentsAlone(program string, perChat int) (used float64, late []float64, err error) {
	home, err := l.Home()
	if err != nil {
		return 0, nil, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	var began atomic.Int32
	since := time.Now()
	before, err := cpuOf(os.Getpid())
	if err != nil {
		return 0, nil, err
	}
	for range manyChats {
		cmd := exec.Command(program, "rehearsal", "--protocol", "json", "--pace", "none", "--no-session", "--deltas", strconv.Itoa(perChat), "--rate", strconv.Itoa(chatRate))
		cmd.Env, cmd.Dir = append(env(home), "REHEARSAL_HOME="+string(rehearsalHome(home))), home
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		in, err := cmd.StdinPipe()
		if err != nil {
			return 0, nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return 0, nil, err
		}
		if err := cmd.Start(); err != nil {
			return 0, nil, err
		}
		wg.Go(func() {
			got, all, err := oneAgent(in, out, &began)
			_ = in.Close()
			_ = cmd.Wait()
			mu.Lock()
			defer mu.Unlock()
			if late = append(late, got[min(all, len(got)):]...); err == nil && len(got) != perChat {
				err = fmt.Errorf("an agent alone gave %d of %d deltas", len(got), perChat)
			}
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	after, err := cpuOf(os.Getpid())
	return (after - before).Seconds() / time.Since(since).Seconds(), late, errors.Join(failed, err)
}

// oneAgent returns how late each delta came and at which of them all agents
// streamed.
func oneAgent(in io.Writer, out io.Reader, began *atomic.Int32) (late []float64, all int, err error) {
	if _, err := io.WriteString(in, `{"id":1,"do":"initialize","version":1}`+"\n"+`{"id":2,"do":"prompt","text":"load","clientId":"p"}`+"\n"); err != nil {
		return nil, 0, err
	}
	s, seen := &schedule{}, 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		now := time.Now()
		var m struct {
			Event string
			Text  string
			Block struct {
				Kind, Text string
				StartedAt  int64
			}
			Turn struct{ State string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch {
		case m.Event == "block" && m.Block.Kind == "text" && s.began == 0:
			s.began = m.Block.StartedAt
			s.arrived(m.Block.Text, now)
		case m.Event == "append":
			s.arrived(m.Text, now)
		case m.Event == "turn" && m.Turn.State == "ended":
			return s.late, all, nil
		}
		if seen == 0 && s.seen > 0 {
			began.Add(1)
		}
		if seen = s.seen; began.Load() < manyChats {
			all = seen
		}
	}
	return s.late, all, errors.Join(lines.Err(), errors.New("an agent ended before its turn"))
}

// chatMemory is what a host needs more with chats of so many rows open than with
// them only listed, in bytes.
func (l *Lab) chatMemory(program string, chats, rows int) (int64, error) {
	home, err := l.Home()
	if err != nil {
		return 0, err
	}
	ids, err := writeChats(filepath.Join(home, "w"), home, chats, rows)
	if err != nil {
		return 0, err
	}
	r, client, _, err := l.Serve(program, home)
	if err != nil {
		return 0, err
	}
	defer r.Stop()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list, err := api.Call[api.Chats](ctx, client, "chats.list", api.Listing{})
	if err != nil || list.Total != chats {
		return 0, fmt.Errorf("the host knows %d of %d chats: %w", list.Total, chats, err)
	}
	time.Sleep(settle)
	before := pss(r.Pid())
	for _, id := range ids {
		if _, err := api.Call[api.RowsResult](ctx, client, "chats.rows", api.RowsRequest{ChatID: id, Limit: 20}); err != nil {
			return 0, err
		}
	}
	time.Sleep(settle)
	return max(0, pss(r.Pid())-before), nil
}

// writeChats puts chats into a home's database.
func writeChats(dir, cwd string, chats, rows int) (ids []string, err error) {
	st, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	ctx := context.Background()
	for n := range chats {
		id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)
		rec := store.ChatRecord{ID: id, ClientID: id, Title: fmt.Sprint("chat ", n), Harness: "rehearsal", Provider: "rehearsal.chat", Kind: agent.KindWorkspace,
			Cwd: cwd, Hand: model.Hand{State: model.HandApp}, CreatedAt: 1, UpdatedAt: int64(n + 1)}
		if _, _, err := st.CreateChat(ctx, rec); err != nil {
			return nil, err
		}
		var batch []model.Row
		for i := range rows {
			batch = append(batch, model.Row{Seq: int64(i + 1), Turn: int64(i/20 + 1), Item: agent.Item{
				ID: fmt.Sprintf("item-%06d", i), Type: agent.ItemText, At: 1, EndedAt: 2, Text: strings.Repeat("words of an answer ", 20),
			}})
			if len(batch) == 500 || i == rows-1 {
				if err := st.PutRows(ctx, id, batch...); err != nil {
					return nil, err
				}
				batch = nil
			}
		}
		ids = append(ids, id)
	}
	return ids, nil
}
