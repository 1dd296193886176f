package claudecode

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// session is one living process of a chat. One goroutine reads its output and
// reports to the host, in order; approvals wait in goroutines of their own.
type session struct {
	host   *agentkit.Host
	proc   *agentkit.Process
	events agent.Events
	launch *launch
	ended  chan struct{} // the reader has reported the exit
	asking sync.WaitGroup

	// the reader's own
	rows    *rows
	streams map[string]*streamed // by parent tool call
	lastUse *usage
	cost    float64
	queues  bool              // the program reports how its queue stands
	streaks map[string]string // the rows of streaks of retries, by the sub-agent's call
	// What came before in this process: a message that comes again is not new.
	requested, recorded map[string]bool
	fault               string // the program's word for the error it told last in this turn
	// compacting is the row of a compaction that runs, "" when none does.
	compacting string

	mu      sync.Mutex
	replies map[string]chan controlReply // our requests that are owed an answer
	asked   map[string]*asked            // the agent's requests
	tasks   map[string]string            // what can be ended by itself, by its call
	prompt  *turn
	own     *turn // a turn that the agent started by itself
	clients map[string]string
	closing bool
	exited  bool
	breach  error // why a confined chat was ended
	opened  bool  // before that its end is not the host's business
	catalog agent.Catalog
	current agent.Settings
	spent   agent.Usage // of the last turn
	plan    map[string]agent.PlanWindow
	account account
	// saidLast is the person's newest message in this process.
	saidLast string
}

// turn is open until its end was sent. canceling is set once a stop was asked.
type turn struct {
	id        string
	canceling bool
	taken     bool // it stands in the agent's queue or runs; the reader's own
	started   bool // it runs; the reader's own
	end       agent.TurnEnd
	done      chan struct{}
}

func newTurn(id string) *turn { return &turn{id: id, done: make(chan struct{})} }

func newSession(h *agentkit.Host, proc *agentkit.Process, events agent.Events, l *launch) *session {
	s := unread(h, events, l)
	s.proc = proc
	go s.read()
	return s
}

// unread is a session that nobody reads for.
func unread(h *agentkit.Host, events agent.Events, l *launch) *session {
	s := &session{
		host: h, events: events, launch: l, ended: make(chan struct{}),
		streams: map[string]*streamed{}, streaks: map[string]string{}, requested: map[string]bool{}, recorded: map[string]bool{},
		replies: map[string]chan controlReply{}, asked: map[string]*asked{}, clients: map[string]string{}, tasks: map[string]string{},
		plan: map[string]agent.PlanWindow{},
	}
	s.rows = newRows(s.publish)
	s.rows.plan = l.plan
	return s
}

// publish adds to a user row which message of the host it is.
func (s *session) publish(it agent.Item) {
	if it.Type == agent.ItemUser {
		s.mu.Lock()
		it.ClientID = s.clients[it.ID]
		s.saidLast = it.ID
		s.mu.Unlock()
	}
	s.events.Item(it)
}

// controlReply is the answer to one of our requests.
type controlReply struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Error     string          `json:"error"`
	Response  json.RawMessage `json:"response"`
}

// control sends a request and waits for its answer.
func (s *session) control(ctx context.Context, request map[string]any) (json.RawMessage, error) {
	id := uuid.NewString()
	reply := make(chan controlReply, 1)
	s.mu.Lock()
	if s.exited {
		s.mu.Unlock()
		return nil, agentkit.ErrEnded
	}
	s.replies[id] = reply
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.replies, id)
		s.mu.Unlock()
	}()
	if err := s.proc.Send(ctx, map[string]any{"type": "control_request", "request_id": id, "request": request}); err != nil {
		return nil, err
	}
	select {
	case r := <-reply:
		if r.Subtype != "success" {
			return nil, failure(or(r.Error, "Claude Code refused the request"))
		}
		return r.Response, nil
	case <-s.ended:
		return nil, agentkit.ErrEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// handshake brings the process to where it can take a prompt.
func (s *session) handshake(ctx context.Context, req agent.OpenRequest) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openBound, failure("Claude Code does not answer"))
	defer cancel()
	raw, err := s.control(ctx, map[string]any{"subtype": "initialize"})
	if err != nil {
		if errors.Is(err, agentkit.ErrEnded) {
			return failure("Claude Code ended before it was ready")
		}
		return err
	}
	var hello initialized
	if err := lenient(raw, &hello); err != nil {
		return fmt.Errorf("the first answer of Claude Code cannot be read: %w", err)
	}
	if hello.Version == "" && s.launch.ask != nil { // an older one does not tell it here
		if hello.Version, err = s.launch.ask(ctx); err != nil {
			return fmt.Errorf("the version of Claude Code is not known: %w", err)
		}
	}
	s.launch.version = parseVersion(hello.Version)
	if err := tooOld(hello.Version); err != nil {
		return err
	}
	// The mode decides whether anybody is asked: believe only what is reported.
	if hello.Mode != s.launch.mode {
		if _, err := s.SetMode(ctx, s.launch.mode); err != nil {
			return fmt.Errorf("the mode could not be set: %w", err)
		}
	}
	if s.launch.confined {
		if err := s.checkConfined(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.account = hello.Account
	s.catalog = catalogOf(hello, s.host.Time())
	if s.launch.confined {
		s.catalog.Modes, s.catalog.Commands = modes[:1], []agent.CommandInfo{}
	}
	s.current = agent.Settings{Mode: s.launch.mode, Model: or(req.Model, defaultModel(hello)), Thinking: req.Thinking}
	catalog, settings := s.catalog, s.current
	gone := s.exited
	s.opened = !gone
	s.mu.Unlock()
	if gone {
		return failure("Claude Code ended before it was ready")
	}
	s.events.Ready(agent.Ready{
		Handle: s.launch.kept(), Agent: agent.AgentInfo{Name: "Claude Code", Version: hello.Version},
		Model: settings.Model, Mode: settings.Mode, Thinking: settings.Thinking,
		Abilities: s.launch.abilities(catalog),
		Pid:       s.proc.Identity().Pid,
	})
	s.events.Catalog(catalog)
	return nil
}

// kept names the stored session; a confined chat has none.
func (l *launch) kept() *agent.Handle {
	if l.confined {
		return nil
	}
	h := l.handle
	return &h
}

// abilities are what this version can do, by what it told at the handshake.
func (l *launch) abilities(c agent.Catalog) []agent.Ability {
	list := []agent.Ability{
		agent.AbilityImages, agent.AbilityReasoning, agent.AbilityApprovals, agent.AbilityInterrupt,
		agent.AbilityInputDuringTurn, agent.AbilitySteer, agent.AbilityQueue, agent.AbilityUsage,
	}
	if len(c.Models) > 0 {
		list = append(list, agent.AbilityModels)
	}
	if slices.ContainsFunc(c.Models, func(m agent.Model) bool { return len(m.Thinking) > 0 }) {
		list = append(list, agent.AbilityThinking)
	}
	if l.confined {
		return list
	}
	list = append(list, agent.AbilitySubagents, agent.AbilityModes, agent.AbilityCommands, agent.AbilityTerminal, agent.AbilityFork)
	if l.version.atLeast(rewindSince) {
		list = append(list, agent.AbilityRewind)
	}
	return list
}

// messageNamespace makes the uuid of a message from its client id, so that the
// same message sent twice has one id in the transcript.
var messageNamespace = uuid.MustParse("5d0f3c9e-6a3b-4a53-9c5e-3a5d9e0b7c21")

func messageID(session, client string) string {
	if client == "" {
		return uuid.NewString()
	}
	return uuid.NewSHA1(messageNamespace, []byte(session+"\x00"+client)).String()
}

// Prompt sends the text and returns at the turn's end.
func (s *session) Prompt(ctx context.Context, p agent.Prompt) (agent.TurnEnd, error) {
	msg, id, err := s.message(p)
	if err != nil {
		return agent.TurnEnd{}, err
	}
	t := newTurn(id)
	s.mu.Lock()
	switch {
	case s.exited || s.closing:
		s.mu.Unlock()
		return agent.TurnEnd{}, agentkit.ErrEnded
	case s.prompt != nil:
		s.mu.Unlock()
		return agent.TurnEnd{}, errors.New("a turn is already running")
	}
	s.prompt, s.clients[id] = t, p.ClientID
	s.mu.Unlock()
	s.said(id, p) // the agent's echo comes late, after the first notices
	if err := s.proc.Send(ctx, msg); err != nil {
		s.mu.Lock()
		if s.prompt == t {
			s.prompt = nil
		}
		s.mu.Unlock()
		return agent.TurnEnd{}, err
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		// The host gives up waiting: nothing of this turn may go on unseen.
		_ = s.Close(context.WithoutCancel(ctx))
		<-t.done
	}
	return t.end, nil
}

func (s *session) message(p agent.Prompt) (any, string, error) {
	content := []any{}
	for _, a := range p.Attachments {
		if a.Kind != "image" {
			return nil, "", failure(fmt.Sprintf("Claude Code takes images only; %s is not one", a.Name))
		}
		data := a.Bytes
		if a.Path != "" {
			var err error
			if data, err = os.ReadFile(a.Path); err != nil {
				return nil, "", err
			}
		}
		content = append(content, map[string]any{"type": "image", "source": map[string]any{
			"type": "base64", "media_type": or(a.Mime, "image/png"), "data": base64.StdEncoding.EncodeToString(data),
		}})
	}
	if p.Text != "" || len(content) == 0 {
		content = append(content, map[string]any{"type": "text", "text": p.Text})
	}
	id := messageID(s.launch.handle.NativeID, p.ClientID)
	return map[string]any{
		"type": "user", "uuid": id, "parent_tool_use_id": nil, "session_id": "",
		"message": map[string]any{"role": "user", "content": content},
	}, id, nil
}

// said shows a message of ours as the agent will keep it.
func (s *session) said(id string, p agent.Prompt) {
	text, _ := typed(p.Text)
	it := agent.Item{ID: id, Type: agent.ItemUser, At: s.host.Time().UnixMilli(), Text: text, NativeID: id, Attachments: images(len(p.Attachments))}
	s.publish(it)
}

// Steer gives a text to the running turn: the agent takes it after the tool
// that runs now, or as a turn of its own when none follows.
func (s *session) Steer(ctx context.Context, p agent.Prompt) error {
	msg, id, err := s.message(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.exited || (s.prompt == nil && s.own == nil) {
		s.mu.Unlock()
		return agent.ErrSteerUnavailable
	}
	s.clients[id] = p.ClientID
	s.mu.Unlock()
	return s.proc.Send(ctx, msg)
}

// Cancel asks for the end of what runs and waits for it. The agent's answer
// to the request alone is not enough: only the turn's end proves it.
func (s *session) Cancel(ctx context.Context) error {
	s.mu.Lock()
	var open []*turn
	for _, t := range []*turn{s.prompt, s.own} {
		if t != nil {
			t.canceling = true
			open = append(open, t)
		}
	}
	s.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	if _, err := s.control(ctx, map[string]any{"subtype": "interrupt"}); err != nil && !errors.Is(err, agentkit.ErrEnded) {
		return err
	}
	for _, t := range open {
		select {
		case <-t.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Close ends the process group: a running turn is interrupted first, because
// the program finishes it otherwise, then its input is closed.
func (s *session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	busy := s.prompt != nil || s.own != nil
	s.mu.Unlock()
	ladder := agentkit.Ladder{EOFWait: 3 * time.Second}
	if busy {
		ladder.ProtocolWait = 2 * time.Second
		ladder.Protocol = func(ctx context.Context) error {
			if err := s.Cancel(ctx); err != nil {
				return err
			}
			_, err := s.control(ctx, map[string]any{"subtype": "end_session"})
			return err
		}
	}
	err := s.proc.Close(ctx, ladder)
	<-s.ended
	s.asking.Wait()
	s.launch.cleanUp()
	return err
}

// SetModel changes the model from the next message on.
func (s *session) SetModel(ctx context.Context, id string) (*agent.Notice, error) {
	if _, err := s.control(ctx, map[string]any{"subtype": "set_model", "model": id}); err != nil {
		return nil, err
	}
	s.settings(agent.Settings{Model: id}, true)
	return nil, nil
}

// SetMode changes how far the agent may act without asking.
func (s *session) SetMode(ctx context.Context, id string) (*agent.Notice, error) {
	if !knownMode(id) || (s.launch.confined && id != modeAsk) {
		return nil, failure(fmt.Sprintf("Claude Code has no mode %q", id))
	}
	raw, err := s.control(ctx, map[string]any{"subtype": "set_permission_mode", "mode": id})
	if err != nil {
		return nil, err
	}
	var got struct {
		Mode string `json:"mode"`
	}
	if json.Unmarshal(raw, &got) == nil && got.Mode != "" && got.Mode != id {
		return nil, failure(fmt.Sprintf("Claude Code stays in mode %q", got.Mode))
	}
	s.settings(agent.Settings{Mode: id}, true)
	return nil, nil
}

// SetThinking changes the effort.
func (s *session) SetThinking(ctx context.Context, id string) (*agent.Notice, error) {
	if _, err := s.control(ctx, map[string]any{
		"subtype": "apply_flag_settings", "settings": map[string]any{"effortLevel": id},
	}); err != nil {
		return nil, err
	}
	s.settings(agent.Settings{Thinking: id}, true)
	return nil, nil
}

// settings reports what is in force when it changed; what a person set is
// always confirmed.
func (s *session) settings(v agent.Settings, confirm bool) {
	s.mu.Lock()
	was := s.current
	if v.Model != "" {
		s.current.Model = v.Model
	}
	if v.Mode != "" {
		s.current.Mode = v.Mode
	}
	if v.Thinking != "" {
		s.current.Thinking = v.Thinking
	}
	now := s.current
	ready := was != (agent.Settings{})
	s.mu.Unlock()
	if ready && (confirm || now != was) {
		s.events.Settings(now)
	}
}

// RunCommand runs a slash command as a turn.
func (s *session) RunCommand(ctx context.Context, name, argument string) (agent.TurnEnd, error) {
	return s.Prompt(ctx, agent.Prompt{Text: strings.TrimSpace("/" + strings.TrimPrefix(name, "/") + " " + argument)})
}

// Usage is what the last turn used, with the agent's own count of its context.
func (s *session) Usage(ctx context.Context) (agent.Usage, error) {
	raw, err := s.control(ctx, map[string]any{"subtype": "get_context_usage"})
	if err != nil {
		return agent.Usage{}, err
	}
	var c struct {
		Total int `json:"totalTokens"`
		Max   int `json:"maxTokens"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return agent.Usage{}, err
	}
	s.mu.Lock()
	u := s.spent
	s.mu.Unlock()
	u.Context = &agent.ContextUse{Used: c.Total, Max: c.Max}
	return u, nil
}
