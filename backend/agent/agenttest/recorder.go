package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Recorder is an [agent.Events] that keeps what a provider reports and notes
// every broken rule, as the host would see it. The caller plays the host's part
// around a prompted turn with [Recorder.BeginPrompt] and [Recorder.EndPrompt].
type Recorder struct {
	// Decide answers approvals; it may block until ctx ends. Nil: an approval
	// waits until it is withdrawn or its turn ends.
	Decide func(ctx context.Context, a agent.Approval) agent.ApprovalAnswer

	inside atomic.Bool

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every event
	violations []Violation
	ready      []agent.Ready
	rows       []*row
	byID       map[string]*row
	turn       agent.TurnOrigin // "" none
	turnCtx    context.Context
	endTurn    context.CancelFunc
	turns      int
	approvals  []Asked
	deliveries map[string][]agent.Delivery
	exit       *agent.Exit
	catalogs   []agent.Catalog
	usages     []agent.Usage
	settings   agent.Settings
	titles     []string
	handles    []agent.Handle
	failures   []string
	ends       []agent.TurnEnd // of the agent's own turns
}

// Asked is one approval and what became of it.
type Asked struct {
	Approval  agent.Approval
	Answer    agent.ApprovalAnswer
	Done      bool
	Withdrawn bool // the provider took it back
	Acked     bool
}

// NewRecorder makes one for a single session.
func NewRecorder() *Recorder {
	return &Recorder{
		changed: make(chan struct{}), byID: map[string]*row{}, deliveries: map[string][]agent.Delivery{},
	}
}

// enter notes overlapping calls and calls after Exit.
func (r *Recorder) enter(call string) (leave func()) {
	alone := r.inside.CompareAndSwap(false, true)
	r.mu.Lock()
	if !alone {
		r.violate(RuleSerialised, "%s came while another call had not returned; a provider serialises its calls", call)
	}
	if r.exit != nil {
		r.violate(RuleAfterExit, "after_exit: %s came after Exit", call)
	}
	return func() {
		close(r.changed)
		r.changed = make(chan struct{})
		r.mu.Unlock()
		if alone {
			r.inside.Store(false)
		}
	}
}

func (r *Recorder) violate(rule, format string, args ...any) {
	if len(r.violations) < 100 {
		r.violations = append(r.violations, Violation{rule, fmt.Sprintf(format, args...)})
	}
}

// BeginPrompt opens a prompted turn.
func (r *Recorder) BeginPrompt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(agent.OriginPrompt)
}

func (r *Recorder) begin(o agent.TurnOrigin) {
	if r.turn != "" {
		r.violate(RuleOneEnd, "a turn of origin %s began while one of origin %s was open", o, r.turn)
	}
	r.turn = o
	r.turns++
	r.turnCtx, r.endTurn = context.WithCancel(context.Background())
}

// EndPrompt takes what Prompt returned. err means that no turn took place.
func (r *Recorder) EndPrompt(end agent.TurnEnd, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.checkEnd(end)
	}
	r.end()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Recorder) checkEnd(end agent.TurnEnd) {
	switch end.Outcome {
	case agent.OutcomeCompleted, agent.OutcomeCanceled:
	case agent.OutcomeFailed:
		if end.Reason == "" || end.Text == "" {
			r.violate(RuleOneEnd, "a failed turn has no reason or no text: %+v", end)
		}
	default:
		r.violate(RuleOneEnd, "invalid_enum: a provider cannot end a turn as %q", end.Outcome)
	}
}

func (r *Recorder) end() {
	if r.turn == "" {
		r.violate(RuleOneEnd, "a turn ended that was not open")
		return
	}
	for _, w := range r.rows {
		if w.item.Open() && w.item.Type == agent.ItemSubagent {
			continue // in the background: its true end comes later
		}
		if w.item.Open() {
			r.violate(RuleClosed, "item %s (%s) was still open at the end of its turn", w.item.ID, w.item.Type)
		}
		w.ended = true
	}
	r.turn = ""
	r.endTurn()
}

// Ready implements [agent.Events].
func (r *Recorder) Ready(v agent.Ready) {
	defer r.enter("Ready")()
	if len(r.ready) > 0 {
		r.violate(RuleReady, "Ready came twice")
	}
	if len(r.rows) > 0 {
		r.violate(RuleReady, "Ready came after the first item")
	}
	for _, a := range v.Abilities {
		if !a.In(agent.AllAbilities) {
			r.violate(RuleEvents, "invalid_enum: ability %q is not known", a)
		}
	}
	if v.Handle != nil {
		r.checkHandle(*v.Handle)
	}
	r.ready = append(r.ready, v)
}

func (r *Recorder) checkHandle(h agent.Handle) {
	if h.Harness == "" || h.NativeID == "" || !strings.HasPrefix(h.Cwd, "/") {
		r.violate(RuleEvents, "invalid_object: handle %+v needs harness, native id and an absolute folder", h)
	}
}

// Usage implements [agent.Events].
func (r *Recorder) Usage(u agent.Usage) {
	defer r.enter("Usage")()
	if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Reasoning < 0 {
		r.violate(RuleEvents, "invalid_integer: usage %+v is negative", u)
	}
	r.usages = append(r.usages, u)
}

// Title implements [agent.Events].
func (r *Recorder) Title(t string) {
	defer r.enter("Title")()
	if t == "" || agent.UTF16Len(t) > agent.LimitTitle {
		r.violate(RuleEvents, "invalid_string: a title is empty or too long")
	}
	r.titles = append(r.titles, t)
}

// Catalog implements [agent.Events].
func (r *Recorder) Catalog(c agent.Catalog) {
	defer r.enter("Catalog")()
	for _, m := range c.Modes {
		switch m.Tier {
		case agent.TierSafe, agent.TierModerate, agent.TierDangerous, agent.TierPlanning:
		default:
			r.violate(RuleEvents, "invalid_enum: mode %s has the tier %q", m.ID, m.Tier)
		}
	}
	r.catalogs = append(r.catalogs, c)
}

// Handle implements [agent.Events].
func (r *Recorder) Handle(h agent.Handle) {
	defer r.enter("Handle")()
	r.checkHandle(h)
	r.handles = append(r.handles, h)
}

// Settings implements [agent.Events].
func (r *Recorder) Settings(s agent.Settings) {
	defer r.enter("Settings")()
	if s.Model != "" {
		r.settings.Model = s.Model
	}
	if s.Mode != "" {
		r.settings.Mode = s.Mode
	}
	if s.Thinking != "" {
		r.settings.Thinking = s.Thinking
	}
}

// Turn implements [agent.Events].
func (r *Recorder) Turn(e agent.TurnEvent) {
	defer r.enter("Turn")()
	switch {
	case e.Origin != agent.OriginAgent:
		r.violate(RuleOneEnd, "a provider opens and ends turns of origin agent only, not %q", e.Origin)
	case e.End == nil:
		r.begin(agent.OriginAgent)
	case r.turn != agent.OriginAgent:
		r.violate(RuleOneEnd, "a turn of the agent's own ended that was not open")
	default:
		r.checkEnd(*e.End)
		r.end()
		r.ends = append(r.ends, *e.End)
	}
}

// Delivery implements [agent.Events].
func (r *Recorder) Delivery(clientID string, state agent.Delivery) {
	defer r.enter("Delivery")()
	known := []agent.Delivery{agent.DeliveryAccepted, agent.DeliveryStarted, agent.DeliveryCompleted, agent.DeliveryDiscarded}
	if clientID == "" || !slices.Contains(known, state) {
		r.violate(RuleEvents, "invalid_enum: delivery %q of %q", state, clientID)
	}
	r.deliveries[clientID] = append(r.deliveries[clientID], state)
}

// Failure implements [agent.Events].
func (r *Recorder) Failure(reason, detail string) {
	defer r.enter("Failure")()
	r.failures = append(r.failures, reason+": "+detail)
}

// Exit implements [agent.Events].
func (r *Recorder) Exit(e agent.Exit) {
	defer r.enter("Exit")()
	if r.turn == agent.OriginAgent {
		r.violate(RuleOneEnd, "Exit came while a turn of the agent's own was open")
	}
	for _, w := range r.rows {
		if w.item.Open() && r.turn == "" {
			r.violate(RuleClosed, "item %s (%s) was still open when the process had ended", w.item.ID, w.item.Type)
		}
	}
	r.exit = &e
}
