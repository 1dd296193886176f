package agentkit

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// A harness imports agent and agentkit only; what it needs of processes is
// named here.
type (
	Spec     = processes.Spec
	Ladder   = processes.Ladder
	Identity = processes.Identity
)

// Identify reads the identity of a running process; it fails with ErrGone
// when there is none.
func Identify(pid int) (Identity, error) { return processes.Identify(pid) }

// ErrGone says that there is no such process.
var ErrGone = processes.ErrGone

// Argv reads the command line of a process.
func Argv(pid int) ([]string, error) { return processes.Argv(pid) }

// Output runs a short probe (a version, a list) and returns what it printed,
// at most limit bytes. The process is gone afterwards, whatever ctx says.
func (h *Host) Output(ctx context.Context, spec Spec, limit int64) ([]byte, error) {
	defer agent.Doing(ctx, strings.Join(append([]string{filepath.Base(spec.Argv[0])}, spec.Argv[1:]...), " "))()
	if spec.Ledger == nil {
		spec.Ledger = h.Ledger
	}
	child, err := processes.Start(spec)
	if err != nil {
		return nil, err
	}
	type answer struct {
		data []byte
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(child.Stdout, limit))
		got <- answer{data, err}
	}()
	_ = child.Stdin.Close()
	var out answer
	select {
	case out = <-got:
	case <-ctx.Done():
		out.err = fmt.Errorf("%s: %w", spec.Argv[0], context.Cause(ctx))
	}
	if err := child.Close(ctx, Ladder{}); err != nil && out.err == nil {
		out.err = err
	}
	return out.data, out.err
}
