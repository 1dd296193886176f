package agentkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/whippletree-app/whippletree/backend/processes"
)

// noiseKept bounds how many lines that are no JSON are remembered, and how
// much of each.
const (
	noiseKept = 20
	noiseLine = 200
)

// Process is an agent that speaks one JSON object a line on its standard input
// and output. One goroutine reads ([Process.Next]); any may send.
type Process struct {
	*processes.Child

	lines  *Lines
	writes chan write
	ended  chan struct{} // the writer has ended

	mu    sync.Mutex
	noise []string
}

type write struct {
	data []byte
	done chan error
}

// StartProcess starts an agent; the host's ledger is filled in. Close it with
// processes.Child.Close.
func (h *Host) StartProcess(spec processes.Spec) (*Process, error) {
	if spec.Ledger == nil {
		spec.Ledger = h.Ledger
	}
	child, err := processes.Start(spec)
	if err != nil {
		return nil, err
	}
	p := &Process{
		Child: child, lines: NewLines(child.Stdout, LinesOptions{Pretty: true}),
		writes: make(chan write), ended: make(chan struct{}),
	}
	go p.write()
	return p, nil
}

// write is apart from the senders, so that an agent that does not read its
// input blocks nobody past a sender's context.
func (p *Process) write() {
	defer close(p.ended)
	for {
		select {
		case w := <-p.writes:
			_, err := p.Stdin.Write(w.data)
			w.done <- err
			if err != nil {
				return
			}
		case <-p.Done():
			return
		}
	}
}

// ErrEnded says that the process does not take input any more.
var ErrEnded = errors.New("the agent's process has ended")

// Send writes v as one line. It returns once the line is in the pipe; after
// ctx ended the line may still be written.
func (p *Process) Send(ctx context.Context, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w := write{append(data, '\n'), make(chan error, 1)}
	select {
	case p.writes <- w:
	case <-p.ended:
		return ErrEnded
	case <-ctx.Done():
		return fmt.Errorf("the agent does not read its input: %w", context.Cause(ctx))
	}
	select {
	case err := <-w.done:
		if err != nil {
			return fmt.Errorf("%w: %v", ErrEnded, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the agent does not read its input: %w", context.Cause(ctx))
	}
}

// Next returns the next line that can be a JSON object. Other lines (banners
// of wrappers, logs) are kept as noise and skipped. io.EOF comes when the
// process and everybody who holds its output has ended.
func (p *Process) Next() (Line, error) {
	for {
		line, err := p.lines.Next()
		if err != nil || line.Object() {
			return line, err
		}
		p.Noise(line.Data)
	}
}

// Noise remembers a line that could not be used.
func (p *Process) Noise(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Skip()
	if len(p.noise) < noiseKept {
		p.noise = append(p.noise, strings.ToValidUTF8(string(data[:min(len(data), noiseLine)]), "\ufffd"))
	}
}

// NoiseLines are the first lines that could not be used, shortened, and how
// many there were in all.
func (p *Process) NoiseLines() ([]string, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.noise...), p.lines.Skipped()
}
