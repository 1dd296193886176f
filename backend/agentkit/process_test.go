package agentkit

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func shell(t *testing.T, script string) *Process {
	t.Helper()
	h := &Host{Env: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "A=1", "B=2"} }}
	p, err := h.StartProcess(Spec{Argv: []string{"/bin/sh", "-c", script}, Dir: t.TempDir(), Env: h.Environ(map[string]string{"A": "3"}, "B"), Purpose: "test", Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background(), Ladder{EOFWait: time.Second}); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestProcessSpeaksLines(t *testing.T) {
	p := shell(t, `read line; echo Welcome; echo '"ready"'; printf '{"got":%s,"a":"%s","b":"%s"}\n' "$line" "$A" "$B"`)
	if err := p.Send(t.Context(), map[string]int{"n": 1}); err != nil {
		t.Fatal(err)
	}
	l, err := p.Next()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Got  map[string]int
		A, B string
	}
	if err := json.Unmarshal(l.Data, &got); err != nil || got.Got["n"] != 1 || got.A != "3" || got.B != "" {
		t.Errorf("got %s %v", l.Data, err)
	}
	if noise, n := p.NoiseLines(); n != 2 || noise[0] != "Welcome" {
		t.Errorf("noise %v", noise)
	}
	if _, err := p.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	<-p.Done()
	if err := p.Send(t.Context(), 1); !errors.Is(err, ErrEnded) {
		t.Errorf("send after the end: %v", err)
	}
}

func TestCaseA03_AgentThatNeverReadsBlocksNobody(t *testing.T) {
	p := shell(t, `sleep 600`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := p.Send(ctx, strings.Repeat("x", 1<<20)); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("send: %v", err)
	}
	if err := p.Close(t.Context(), Ladder{EOFWait: -1}); err != nil {
		t.Error(err)
	}
}
