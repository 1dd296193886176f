package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

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
	violations []string
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

type row struct {
	item   agent.Item
	text   strings.Builder // text or tool output as appended
	turn   int
	ended  bool // its turn has ended
	chunks int
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
		r.violate("%s came while another call had not returned; a provider serialises its calls", call)
	}
	if r.exit != nil {
		r.violate("after_exit: %s came after Exit", call)
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

func (r *Recorder) violate(format string, args ...any) {
	if len(r.violations) < 100 {
		r.violations = append(r.violations, fmt.Sprintf(format, args...))
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
		r.violate("a turn of origin %s began while one of origin %s was open", o, r.turn)
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
			r.violate("a failed turn has no reason or no text: %+v", end)
		}
	default:
		r.violate("invalid_enum: a provider cannot end a turn as %q", end.Outcome)
	}
}

func (r *Recorder) end() {
	if r.turn == "" {
		r.violate("a turn ended that was not open")
		return
	}
	for _, w := range r.rows {
		if w.item.Open() && w.item.Type == agent.ItemSubagent {
			continue // in the background: its true end comes later
		}
		if w.item.Open() {
			r.violate("item %s (%s) was still open at the end of its turn", w.item.ID, w.item.Type)
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
		r.violate("Ready came twice")
	}
	if len(r.rows) > 0 {
		r.violate("Ready came after the first item")
	}
	for _, a := range v.Abilities {
		if !a.In(agent.AllAbilities) {
			r.violate("invalid_enum: ability %q is not known", a)
		}
	}
	if v.Handle != nil {
		r.checkHandle(*v.Handle)
	}
	r.ready = append(r.ready, v)
}

func (r *Recorder) checkHandle(h agent.Handle) {
	if h.Harness == "" || h.NativeID == "" || !strings.HasPrefix(h.Cwd, "/") {
		r.violate("invalid_object: handle %+v needs harness, native id and an absolute folder", h)
	}
}

// Item implements [agent.Events].
func (r *Recorder) Item(it agent.Item) {
	defer r.enter("Item")()
	if len(r.ready) == 0 {
		r.violate("item %s came before Ready", it.ID)
	}
	for _, is := range agent.ValidateItem(it) {
		r.violate("%s: item %s: %s %s", is.Code, it.ID, is.Path, is.Message)
	}
	if r.turn == "" {
		r.violate("item %s (%s) came outside a turn", it.ID, it.Type)
	}
	if p := r.byID[it.ParentID]; it.ParentID != "" && (p == nil || p.item.Type != agent.ItemSubagent) {
		r.violate("item %s names the parent %s, which is no sub-agent that was published", it.ID, it.ParentID)
	}
	w := r.byID[it.ID]
	if w == nil {
		w = &row{turn: r.turns}
		r.byID[it.ID] = w
		r.rows = append(r.rows, w)
	} else {
		r.checkReplace(w, it)
	}
	w.item = it
	w.text.Reset()
	w.text.WriteString(grown(it))
}

// grown is the text that appends add to.
func grown(it agent.Item) string {
	if it.Type == agent.ItemTool {
		return it.Output
	}
	return it.Text
}

func (r *Recorder) checkReplace(w *row, it agent.Item) {
	was := w.item
	switch {
	case w.ended:
		r.violate("item %s of an ended turn was touched", it.ID)
	case was.Type != it.Type:
		r.violate("item %s changed its type from %s to %s", it.ID, was.Type, it.Type)
	case was.ParentID != it.ParentID:
		r.violate("item %s changed its parent", it.ID)
	case was.Type == agent.ItemUser && was.Text != it.Text:
		r.violate("the text of user row %s was changed", it.ID)
	case !was.Open() && it.Open() && was.Type != agent.ItemPlan:
		r.violate("invalid_transition: item %s was closed and is open again", it.ID)
	case was.State != "" && !was.State.Open() && was.State != it.State:
		r.violate("invalid_transition: item %s went from %s to %s", it.ID, was.State, it.State)
	}
	if w.chunks > 0 && !strings.HasPrefix(grown(it), w.text.String()) {
		r.violate("item %s: the whole text does not begin with what was appended", it.ID)
	}
}

// Append implements [agent.Events].
func (r *Recorder) Append(id, text string) {
	defer r.enter("Append")()
	w := r.byID[id]
	switch {
	case w == nil:
		r.violate("text was appended to item %s, which was never published", id)
		return
	case text == "":
		r.violate("invalid_string: an empty text was appended to item %s", id)
	case len(text) > agent.LimitTextBytes:
		r.violate("text_too_long: %d bytes were appended to item %s", len(text), id)
	case !utf8.ValidString(text):
		r.violate("invalid_string: text appended to item %s is not UTF-8", id)
	case w.ended:
		r.violate("text was appended to item %s of an ended turn", id)
	case !w.item.Open():
		r.violate("text was appended to item %s, which is closed", id)
	}
	switch w.item.Type {
	case agent.ItemText, agent.ItemReasoning, agent.ItemTool:
	default:
		r.violate("text was appended to item %s of type %s", id, w.item.Type)
	}
	w.text.WriteString(text)
	w.chunks++
}

// Usage implements [agent.Events].
func (r *Recorder) Usage(u agent.Usage) {
	defer r.enter("Usage")()
	if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Reasoning < 0 {
		r.violate("invalid_integer: usage %+v is negative", u)
	}
	r.usages = append(r.usages, u)
}

// Title implements [agent.Events].
func (r *Recorder) Title(t string) {
	defer r.enter("Title")()
	if t == "" || agent.UTF16Len(t) > agent.LimitTitle {
		r.violate("invalid_string: a title is empty or too long")
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
			r.violate("invalid_enum: mode %s has the tier %q", m.ID, m.Tier)
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
		r.violate("a provider opens and ends turns of origin agent only, not %q", e.Origin)
	case e.End == nil:
		r.begin(agent.OriginAgent)
	case r.turn != agent.OriginAgent:
		r.violate("a turn of the agent's own ended that was not open")
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
		r.violate("invalid_enum: delivery %q of %q", state, clientID)
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
		r.violate("Exit came while a turn of the agent's own was open")
	}
	r.exit = &e
}
