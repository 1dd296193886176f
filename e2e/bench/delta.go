//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// A text beyond 64 KiB is shown by its head and tail only, so that the deltas
// come in turns of just below that: every one of them reaches the client.
const (
	perTurn = 8000
	turns   = 13
	deltas  = perTurn * turns
)

// measureDelta: a hundred thousand deltas on an agent's pipe to the events on
// the socket, beside a bare copy from pipe to file of as many lines.
func measureDelta(l *Lab) []Figure {
	cpu := Figure{What: "host processor time a delta", Unit: "us", Target: atMost(10, "us"), Note: fmt.Sprintf("%d deltas, all counted and in order at the client", deltas)}
	first := Figure{What: "first delta on the pipe -> event", Unit: "ms", Target: atMostMore(16, "ms"),
		Note: "from the agent's own clock at the delta (ours in whole milliseconds, and at 250 deltas a second, so that 4 ms of it are the agent's own pace) to the client; ours includes parsing, the turn's rules and the socket"}
	fail := func(err error) []Figure {
		cpu.Err, first.Err = err, err
		return []Figure{cpu, first}
	}
	host, err := l.Host()
	if err != nil {
		return fail(err)
	}
	pipe, err := l.Floor("pipe")
	if err != nil {
		return fail(err)
	}
	for range l.Runs {
		r, err := l.Start(env(l.tmp), pipe, "copy", strconv.Itoa(deltas))
		if err != nil {
			return fail(err)
		}
		line, err := r.Line()
		r.Stop()
		if err != nil {
			return fail(err)
		}
		var got int
		var at, used float64
		if _, err := fmt.Sscan(line, &got, &at, &used); err != nil || got != deltas {
			return fail(fmt.Errorf("the floor said %q", line))
		}
		ourUse, _, err := l.deltas(host, load{perTurn, turns, 0})
		if err != nil {
			return fail(err)
		}
		// As an agent streams: at a pace, so that the first delta is not behind
		// thousands of others.
		_, ourFirst, err := l.deltas(host, load{50, 6, 250})
		if err != nil {
			return fail(err)
		}
		cpu.Floor, cpu.Ours = append(cpu.Floor, used/deltas), append(cpu.Ours, float64(ourUse.Microseconds())/deltas)
		first.Floor, first.Ours = append(first.Floor, at/1000), append(first.Ours, ms(ourFirst))
	}
	return []Figure{cpu, first}
}

// load is what the rehearsal is told to stream: deltas a turn, turns, deltas a
// second (0: as fast as possible).
type load struct{ perTurn, turns, rate int }

// deltas runs one chat of the rehearsal with load and returns the host's
// processor time for it and the median time from the agent's first delta of a
// turn to its event.
func (l *Lab) deltas(program string, load load) (used, first time.Duration, err error) {
	home, err := l.Home()
	if err != nil {
		return 0, 0, err
	}
	// A person sets such options; a program of the bench writes the settings.
	if err := rehearsalArgs(home, "--pace", "none", "--deltas", strconv.Itoa(load.perTurn), "--rate", strconv.Itoa(load.rate)); err != nil {
		return 0, 0, err
	}
	r, client, _, err := l.Serve(program, home, "REHEARSAL_HOME="+string(rehearsalHome(home)))
	if err != nil {
		return 0, 0, err
	}
	defer r.Stop()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	chat, err := api.Call[api.ChatResult](ctx, client, "chats.create", api.CreateChat{
		ClientID: "bench-" + filepath.Base(home), Harness: "rehearsal", Kind: agent.KindWorkspace, Cwd: home,
	})
	if err != nil {
		return 0, 0, err
	}
	w := &counter{want: load.perTurn, done: make(chan error, load.turns), text: map[string]int{}}
	if _, err := client.Subscribe(ctx, api.TopicChat+chat.Chat.ID, api.Subscriber{
		Snapshot: func(raw json.RawMessage) { w.snapshot(raw) }, Event: w.event,
	}); err != nil {
		return 0, 0, err
	}
	// The first turn starts the agent; it is not the first that is timed.
	var firsts []float64
	before, err := cpuOf(r.Pid())
	if err != nil {
		return 0, 0, err
	}
	for n := range load.turns {
		if _, err := api.Call[api.SendResult](ctx, client, "chats.send", api.SendPrompt{
			ChatID: chat.Chat.ID, ClientID: fmt.Sprintf("p-%s-%d", filepath.Base(home), n), Text: "load",
		}); err != nil {
			return 0, 0, err
		}
		select {
		case err = <-w.done:
		case <-ctx.Done():
			err = fmt.Errorf("turn %d has no end after two minutes", n)
		}
		if err != nil {
			return 0, 0, err
		}
		if n > 0 {
			firsts = append(firsts, ms(w.took))
		}
	}
	after, err := cpuOf(r.Pid())
	if err != nil {
		return 0, 0, err
	}
	return after - before, time.Duration(median(firsts) * float64(time.Millisecond)), nil
}

// rehearsalArgs gives the rehearsal of a home further arguments.
func rehearsalArgs(home string, args ...string) error {
	b, err := json.Marshal(map[string]any{"harnesses": map[string]any{"rehearsal": map[string]any{"args": args}}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(home, "w"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "w", "settings.json"), b, 0o600)
}

// counter follows a chat's text and proves that every counted delta arrived,
// once and in order: the load of each turn is "0000001 0000002 ...". done gets
// one value a turn.
type counter struct {
	want      int // deltas a turn
	done      chan error
	text      map[string]int // bytes of each row so far
	rest      string
	next      int
	started   time.Time     // of the newest text, by the agent's clock
	took      time.Duration // from there to its first words
	snapshots int
	// heard, if set, gets every new text with when its row began, by the agent's
	// clock.
	heard func(began time.Time, text string)
}

func (c *counter) snapshot(json.RawMessage) {
	if c.snapshots++; c.snapshots > 1 {
		c.done <- errors.New("events were lost: the host sent a second snapshot")
	}
}

func (c *counter) event(e api.Event) {
	switch e.Type {
	case api.EventTurn:
		var t api.TurnChanged
		if json.Unmarshal(e.Data, &t) != nil {
			return
		}
		if t.End == nil {
			return
		}
		var err error
		if c.next != c.want {
			err = fmt.Errorf("the turn ended after %d of %d deltas", c.next, c.want)
		}
		c.next, c.rest = 0, ""
		c.done <- err
	case api.EventRow:
		var row model.Row
		if json.Unmarshal(e.Data, &row) != nil || row.Type != agent.ItemText {
			return
		}
		// The first part of a text comes as a row, what follows as appends, and
		// the settled row at the end holds the whole: what is new in it counts.
		have, known := c.text[row.ID]
		if !known {
			c.text[row.ID], c.started, c.took = 0, time.UnixMilli(row.StartedAt), 0
		}
		if len(row.Text) > have {
			c.add(row.ID, have, row.Text[have:])
		}
	case api.EventAppend:
		var a api.Appended
		if json.Unmarshal(e.Data, &a) != nil {
			return
		}
		if _, known := c.text[a.ID]; known {
			c.add(a.ID, a.At, a.Text)
		}
	}
}

func (c *counter) add(id string, at int, text string) {
	if c.took == 0 && text != "" {
		c.took = time.Since(c.started)
	}
	if at != c.text[id] {
		c.wrong(fmt.Errorf("an append at %d, the text has %d bytes", at, c.text[id]))
		return
	}
	c.text[id] += len(text)
	if c.heard != nil {
		c.heard(c.started, text)
	}
	all := c.rest + text
	for {
		word, rest, ok := strings.Cut(all, " ")
		if !ok {
			break
		}
		all = rest
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n != c.next+1 {
			c.wrong(fmt.Errorf("delta %d was followed by %q", c.next, word))
			return
		}
		c.next = n
	}
	c.rest = all
}

// wrong ends the wait for the turn at once.
func (c *counter) wrong(err error) {
	select {
	case c.done <- err:
	default:
	}
}
