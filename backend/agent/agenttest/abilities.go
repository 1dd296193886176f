package agenttest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// abilities are the ways in which each ability shows: what a run does, not what
// a provider says of itself.
var abilities = map[agent.Ability]func(*testing.T, *suite, *freshRun) bool{
	agent.AbilityImages:    func(t *testing.T, s *suite, f *freshRun) bool { return takesAttachment(t, s, onePixel) },
	agent.AbilityDocuments: func(t *testing.T, s *suite, f *freshRun) bool { return takesAttachment(t, s, shortNote) },
	agent.AbilityReasoning: func(t *testing.T, s *suite, f *freshRun) bool {
		return hasRow(f, func(it agent.Item) bool { return it.Type == agent.ItemReasoning && it.Text != "" })
	},
	agent.AbilityApprovals: func(t *testing.T, s *suite, f *freshRun) bool { return len(f.rec.Approvals()) > 0 },
	agent.AbilitySubagents: func(t *testing.T, s *suite, f *freshRun) bool {
		return hasRow(f, func(it agent.Item) bool { return it.Type == agent.ItemSubagent })
	},
	agent.AbilityInterrupt: interrupts,
	agent.AbilitySteer:     func(t *testing.T, s *suite, f *freshRun) bool { return len(steered(t, s, f)) > 0 },
	agent.AbilityInputDuringTurn: func(t *testing.T, s *suite, f *freshRun) bool {
		return len(steered(t, s, f)) > 0
	},
	// A queue of the agent's own tells of each message how it stands.
	agent.AbilityQueue: func(t *testing.T, s *suite, f *freshRun) bool {
		d := steered(t, s, f)
		return slices.Contains(d, agent.DeliveryAccepted) && (slices.Contains(d, agent.DeliveryStarted) || slices.Contains(d, agent.DeliveryCompleted) || slices.Contains(d, agent.DeliveryDiscarded))
	},
	agent.AbilityModels: func(t *testing.T, s *suite, f *freshRun) bool {
		_, ok := f.session.(agent.ModelSetter)
		return ok && len(f.catalog().Models) > 0
	},
	agent.AbilityModes: func(t *testing.T, s *suite, f *freshRun) bool {
		_, ok := f.session.(agent.ModeSetter)
		return ok && len(f.catalog().Modes) > 1
	},
	agent.AbilityThinking: func(t *testing.T, s *suite, f *freshRun) bool {
		_, ok := f.session.(agent.ThinkingSetter)
		return ok && slices.ContainsFunc(f.catalog().Models, func(m agent.Model) bool { return len(m.Thinking) > 0 })
	},
	agent.AbilityFeatures: func(t *testing.T, s *suite, f *freshRun) bool {
		_, ok := f.session.(agent.FeatureSetter)
		return ok && len(f.catalog().Features) > 0
	},
	agent.AbilityUsage: func(t *testing.T, s *suite, f *freshRun) bool {
		return slices.ContainsFunc(f.rec.Usages(), func(u agent.Usage) bool { return u.Input+u.Output+u.CacheRead+u.CacheWrite > 0 })
	},
	agent.AbilityRewind: func(t *testing.T, s *suite, f *freshRun) bool { _, ok := f.session.(agent.Rewinder); return ok },
	agent.AbilityFork:   forks,
	agent.AbilityCommands: func(t *testing.T, s *suite, f *freshRun) bool {
		return s.Prompts.Command != "" && len(f.catalog().Commands) > 0 && runs(t, s, s.Prompts.Command)
	},
	agent.AbilityTerminal: func(t *testing.T, s *suite, f *freshRun) bool {
		if s.Handover == nil {
			return false
		}
		cmd, _, err := s.Handover(t).TerminalCommand(t.Context(), agent.TerminalRequest{Handle: f.handle})
		return err == nil && len(cmd.Argv) > 0
	},
}

var (
	onePixel = agent.Attachment{Kind: "image", Name: "pixel.png", Mime: "image/png", Size: 67, Bytes: []byte(
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
			"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82")}
	shortNote = agent.Attachment{Kind: "file", Name: "note.txt", Mime: "text/plain", Size: 5, Bytes: []byte("hello")}
)

func (f *freshRun) catalog() (c agent.Catalog) {
	if cats := f.rec.Catalogs(); len(cats) > 0 {
		c = cats[len(cats)-1]
	}
	return c
}

func hasRow(f *freshRun, is func(agent.Item) bool) bool { return slices.ContainsFunc(f.live, is) }

func testAbilities(t *testing.T, s *suite) {
	f := s.played(t)
	declared := f.rec.ReadyEvents()[0].Abilities
	for _, a := range agent.AllAbilities {
		shown := abilities[a](t, s, f)
		absent, said := s.Absent[a]
		switch said = said && absent.Why != ""; {
		case a.In(declared) && !shown:
			t.Errorf("%s is declared, and no run shows it", a)
		case shown && !a.In(declared):
			t.Errorf("%s is shown by a run, and it is not declared", a)
		case a.In(declared) && said:
			t.Errorf("%s is declared, and yet it has a reason for being absent", a)
		case !a.In(declared) && !said:
			t.Errorf("%s is not declared, and no reason is given", a)
		}
		if !a.In(declared) && a.In(s.Marked) {
			if info, err := os.Stat(absent.Capture); absent.Capture == "" || err != nil || info.IsDir() {
				t.Errorf("the reference marks %s as seen; that it is absent needs a capture, not %q", a, absent.Capture)
			}
		}
	}
}

func takesAttachment(t *testing.T, s *suite, a agent.Attachment) bool {
	t.Helper()
	c := open(t, s, s.Open(t))
	defer c.close()
	p := c.prompt(context.Background(), s.Prompts.Text, a)
	<-p.done
	return p.err == nil && p.end.Outcome == agent.OutcomeCompleted
}

func runs(t *testing.T, s *suite, prompt string) bool {
	t.Helper()
	c := open(t, s, s.Open(t))
	defer c.close()
	return c.wait(c.prompt(context.Background(), prompt)).Outcome == agent.OutcomeCompleted
}

// interrupts reports whether a turn can be stopped while the process lives on.
func interrupts(t *testing.T, s *suite, _ *freshRun) bool {
	t.Helper()
	if s.Prompts.Running == "" {
		return false
	}
	c := open(t, s, s.Open(t))
	defer c.close()
	p := c.running(s.Prompts.Running)
	c.cancel()
	stopped := c.wait(p).Outcome == agent.OutcomeCanceled
	return stopped && c.rec.Exited() == nil && c.wait(c.prompt(context.Background(), s.Prompts.Text)).Outcome == agent.OutcomeCompleted
}

// steered gives a text to a running turn and returns what was told of it: its
// deliveries, or one for the row that it became.
func steered(t *testing.T, s *suite, f *freshRun) []agent.Delivery {
	t.Helper()
	if _, ok := f.session.(agent.Steerer); !ok || s.Prompts.Steered == "" {
		return nil
	}
	f.steered.Do(func() {
		c := open(t, s, s.Open(t))
		p := c.running(s.Prompts.Steered)
		id := clientID()
		ctx, cancel := c.ctx()
		defer cancel()
		const said = "and mention the kingfisher"
		if err := c.session.(agent.Steerer).Steer(ctx, agent.Prompt{Text: said, ClientID: id}); err != nil {
			t.Fatalf("Steer: %v", err)
		}
		isRow := func() bool {
			return slices.ContainsFunc(c.rec.Items(), func(it agent.Item) bool { return it.Type == agent.ItemUser && strings.Contains(it.Text, said) })
		}
		c.rec.MustWait(t, s.deadline(), "a sign of the steer", func() bool { return isRow() || len(c.rec.Deliveries(id)) > 0 })
		c.cancel()
		c.wait(p)
		c.close()
		f.deliveries = c.rec.Deliveries(id)
		if len(f.deliveries) == 0 {
			f.deliveries = []agent.Delivery{agent.DeliveryCompleted}
		}
	})
	return f.deliveries
}

// forks reports whether a copy of the fresh run can be opened under an id of its
// own, with the same rows before it.
func forks(t *testing.T, s *suite, f *freshRun) bool {
	t.Helper()
	fork, ok := f.provider.(agent.Forker)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(t.Context(), s.deadline())
	defer cancel()
	h, err := fork.Fork(ctx, f.handle)
	if err != nil || h.NativeID == f.handle.NativeID {
		t.Errorf("Fork: %+v %v", h, err)
		return false
	}
	req := f.req
	req.Resume = &h
	c := open(t, s, req)
	c.ask(s.Prompts.Text, agent.OutcomeCompleted)
	own := c.rec.Items()
	h = *c.rec.NativeHandle()
	c.close()
	if s.Handover != nil {
		// Agents copy the conversation, and not always what its sub-agents did.
		sameRows(t, above(slices.Concat(f.live, own)), above(MirrorRows(t, s.Handover(t), h, s.deadline())))
	}
	return true
}

// above are the rows that are not of a sub-agent.
func above(rows []agent.Item) []agent.Item {
	return slices.DeleteFunc(slices.Clone(rows), func(it agent.Item) bool { return it.ParentID != "" })
}
