package claudecode

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// asked is one request of the agent that a person has to answer.
type asked struct {
	request  *toolRequest
	cancel   context.CancelFunc
	answered bool // our answer was written; the agent's echo acknowledges it
}

// toolRequest is what the agent says when it wants to use a tool.
type toolRequest struct {
	Subtype     string            `json:"subtype"`
	ToolName    string            `json:"tool_name"`
	DisplayName string            `json:"display_name"`
	Description string            `json:"description"`
	Input       json.RawMessage   `json:"input"`
	Suggestions []json.RawMessage `json:"permission_suggestions"`
	BlockedPath string            `json:"blocked_path"`
	ToolUseID   string            `json:"tool_use_id"`
	AgentID     string            `json:"agent_id"`
	Server      *struct {
		Name string `json:"name"`
	} `json:"mcp_server"`
}

// sendBound is how long the reader may wait for the agent to take a refusal.
const sendBound = 2 * time.Second

const (
	optionAllow  = "allow"
	optionDeny   = "deny"
	optionAnswer = "answer"
	suggestion   = "allow:" // + index
)

// request answers what the agent asks of us. Tools are asked of a person, the
// rest is refused: it is never guessed.
func (s *session) request(m *wire) {
	var req toolRequest
	if json.Unmarshal(m.Request, &req) != nil || req.Subtype != "can_use_tool" {
		ctx, cancel := context.WithTimeout(context.Background(), sendBound)
		defer cancel()
		_ = s.proc.Send(ctx, map[string]any{"type": "control_response", "response": map[string]any{
			"subtype": "error", "request_id": m.RequestID, "error": "not supported by this host",
		}})
		return
	}
	if s.requested[m.RequestID] {
		return // the same request again: it has its card, or had it
	}
	s.requested[m.RequestID] = true
	s.active()
	if s.launch.confined && !s.admit(&req) {
		ctx, cancel := context.WithTimeout(context.Background(), sendBound)
		defer cancel()
		_ = s.proc.Send(ctx, map[string]any{"type": "control_response", "response": map[string]any{
			"subtype": "success", "request_id": m.RequestID,
			"response": map[string]any{"behavior": "deny", "message": "This tool is not part of this chat."},
		}})
		return
	}
	if s.rows.tools[req.ToolUseID] == nil { // the request came before its message
		s.rows.call(block{ID: req.ToolUseID, Name: req.ToolName, Input: req.Input}, "", s.host.Time().UnixMilli())
	}
	planned := parseInput(s.rows.inputs[req.ToolUseID].Input).Plan
	a := s.approval(m.RequestID, &req, planned)
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	s.asked[m.RequestID] = &asked{request: &req, cancel: cancel}
	s.mu.Unlock()
	s.asking.Add(1)
	go func() {
		defer s.asking.Done()
		if ctx.Err() != nil {
			return // withdrawn before it was shown
		}
		answer := s.events.Approval(ctx, a)
		s.answer(ctx, m.RequestID, &req, answer)
	}()
}

// answer writes a person's answer. A request that was withdrawn meanwhile gets
// none.
func (s *session) answer(ctx context.Context, id string, req *toolRequest, answer agent.ApprovalAnswer) {
	s.mu.Lock()
	a := s.asked[id]
	gone := a == nil || ctx.Err() != nil
	if !gone {
		a.answered = !answer.Canceled // a request that nobody decided has no answer to acknowledge
	}
	s.mu.Unlock()
	if gone {
		return
	}
	err := s.proc.Send(ctx, map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": id, "response": response(req, answer),
	}})
	s.mu.Lock()
	alive := !s.exited && s.asked[id] == a
	s.mu.Unlock()
	if err != nil && alive { // otherwise the end says it all
		s.events.Failure("approval_not_sent", "The answer did not reach Claude Code: "+err.Error())
	}
}

// Reanswer writes an answer once more. The program takes the first one that
// arrives and echoes that one only; when it asks for nothing any more it had one.
func (s *session) Reanswer(ctx context.Context, approvalID string, answer agent.ApprovalAnswer) error {
	s.mu.Lock()
	a := s.asked[approvalID]
	if a != nil {
		a.answered = true
	}
	s.mu.Unlock()
	if a == nil {
		s.events.ApprovalAcked(approvalID)
		return nil
	}
	return s.proc.Send(ctx, map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": approvalID, "response": response(a.request, answer),
	}})
}

// worked takes a tool's result for the acknowledgement of the answer that let it
// run, where the echo did not come.
func (s *session) worked(toolUseID string) {
	s.mu.Lock()
	var id string
	for k, a := range s.asked {
		if a.answered && a.request.ToolUseID == toolUseID {
			id = k
		}
	}
	s.mu.Unlock()
	if id != "" {
		s.reply(&controlReply{RequestID: id})
	}
}

var _ agent.Reanswerer = (*session)(nil)

// response is the answer in the agent's words.
func response(req *toolRequest, answer agent.ApprovalAnswer) map[string]any {
	if answer.Canceled {
		// The turn is being stopped: not a "no", but nothing may run.
		return map[string]any{"behavior": "deny", "message": "The request was withdrawn.", "interrupt": true}
	}
	input := req.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	allow := map[string]any{"behavior": "allow", "updatedInput": input}
	switch rest, isSuggestion := strings.CutPrefix(answer.OptionID, suggestion); {
	case answer.OptionID == optionAllow:
		return allow
	case answer.OptionID == optionAnswer:
		allow["updatedInput"] = withAnswers(input, answer.Answers)
		return allow
	case isSuggestion:
		var i int
		if _, err := fmt.Sscanf(rest, "%d", &i); err == nil && i >= 0 && i < len(req.Suggestions) {
			allow["updatedPermissions"] = []json.RawMessage{req.Suggestions[i]}
			return allow
		}
	}
	return map[string]any{"behavior": "deny", "message": or(answer.Comment, "The user does not want this.")}
}

// withAnswers adds the answers to a question's input, by question text.
func withAnswers(input json.RawMessage, answers map[string]agent.QuestionAnswer) any {
	var whole map[string]json.RawMessage
	if json.Unmarshal(input, &whole) != nil {
		return input
	}
	given := map[string]string{}
	for i, q := range parseInput(input).Questions {
		a, ok := answers[fmt.Sprintf("q%d", i)]
		if !ok || a.Skipped {
			continue
		}
		var labels []string
		for _, id := range a.OptionIDs {
			var j int
			if _, err := fmt.Sscanf(id, "o%d", &j); err == nil && j >= 0 && j < len(q.Options) {
				labels = append(labels, q.Options[j].Label)
			}
		}
		if a.Other != "" {
			labels = append(labels, a.Other)
		}
		given[q.Question] = strings.Join(labels, ", ")
	}
	data, err := json.Marshal(given)
	if err != nil {
		return input
	}
	whole["answers"] = data
	return whole
}

// approval is the card for a request.
func (s *session) approval(id string, req *toolRequest, planned string) agent.Approval {
	in := parseInput(req.Input)
	row := toolItem(block{ID: req.ToolUseID, Name: req.ToolName, Input: req.Input})
	a := agent.Approval{
		ID: id, ItemID: req.ToolUseID, Kind: agent.ApprovalTool,
		Title:       asks(req, row),
		Description: or(req.Description, row.Title),
		Preview:     preview(req, in, s.launch.spec.Dir),
		// Asking for its messages back also makes the program echo our answers.
		Acknowledges: s.launch.version.atLeast(acknowledgesSince),
	}
	deny := agent.Option{
		ID: optionDeny, Label: "No", Kind: agent.OptionRejectOnce, Reach: "once",
		Description: "Claude is told what you write and goes on", AllowsComment: true,
	}
	switch req.ToolName {
	case "AskUserQuestion":
		a.Kind, a.Questions = agent.ApprovalQuestion, questions(in.Questions)
		a.Title, a.Preview = "Claude asks", nil // the questions are the whole of it
		a.Options = []agent.Option{
			{ID: optionAnswer, Label: "Answer", Kind: agent.OptionAllowOnce, Reach: "once"},
			deny,
		}
		return a
	case "ExitPlanMode":
		a.Kind, a.Plan = agent.ApprovalPlan, &agent.PlanText{Text: or(in.Plan, planned)}
		a.Title = "Claude has a plan"
		deny.Label, deny.Description = "Keep planning", "Claude stays in plan mode and reads your comment"
	}
	a.Options = append(a.Options, agent.Option{ID: optionAllow, Label: "Yes", Kind: agent.OptionAllowOnce, Reach: "once"})
	for i, raw := range req.Suggestions {
		a.Options = append(a.Options, suggested(i, raw, s.launch.spec.Dir))
	}
	a.Options = append(a.Options, deny)
	return a
}

// asks says what is asked for, in the words of a card's head; the agent's own
// words stand in its body.
func asks(req *toolRequest, row agent.Item) string {
	switch row.Tool {
	case agent.ToolExecute:
		return "Run a command"
	case agent.ToolEdit:
		return "Edit a file"
	case agent.ToolWrite:
		return "Write a file"
	case agent.ToolRead:
		return "Read a file"
	case agent.ToolFetch:
		return "Fetch a page"
	}
	return "Use " + or(req.DisplayName, req.ToolName)
}

// acknowledgesSince is the version in which the echo was seen.
const acknowledgesSince = "2.1.332"

func preview(req *toolRequest, in input, cwd string) *agent.Preview {
	p := &agent.Preview{Cwd: cwd, Command: in.Command, Path: or(in.FilePath, in.NotebookPath, req.BlockedPath), Input: compact(req.Input)}
	switch req.ToolName {
	case "Edit":
		p.Diff = plainDiff(in.FilePath, in.OldString, in.NewString)
	case "Write":
		p.Diff = plainDiff(in.FilePath, "", in.Content)
	}
	if p.Path != "" {
		p.Files = []string{p.Path}
	}
	return p
}

// plainDiff shows both texts whole; where they stand in the file is not known
// before the edit is made.
func plainDiff(path, before, after string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n@@ -1,%d +1,%d @@\n", path, path, lines(before), lines(after))
	for _, part := range []struct{ mark, text string }{{"-", before}, {"+", after}} {
		if part.text == "" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(part.text, "\n"), "\n") {
			b.WriteString(part.mark + line + "\n")
		}
	}
	return b.String()
}

// update is one suggestion of the agent.
type update struct {
	Type        string   `json:"type"`
	Behavior    string   `json:"behavior"`
	Destination string   `json:"destination"`
	Mode        string   `json:"mode"`
	Directories []string `json:"directories"`
	Rules       []struct {
		ToolName    string `json:"toolName"`
		RuleContent string `json:"ruleContent"`
	} `json:"rules"`
}

// suggested says in words what a suggestion changes, how far it reaches and
// where the agent keeps it.
func suggested(i int, raw json.RawMessage, cwd string) agent.Option {
	o := agent.Option{ID: fmt.Sprintf("%s%d", suggestion, i), Kind: agent.OptionAllowAlways}
	var u update
	_ = json.Unmarshal(raw, &u) // an unreadable one is still the agent's own; it is shown as it is
	switch u.Destination {
	case "localSettings":
		o.Reach, o.SavedAt = "always", filepath.Join(cwd, ".claude", "settings.local.json")
	case "projectSettings":
		o.Reach, o.SavedAt = "always", filepath.Join(cwd, ".claude", "settings.json")
	case "userSettings":
		o.Reach, o.SavedAt = "always", "the user settings of Claude Code"
	default:
		o.Reach = "session"
	}
	far := "for this session"
	if o.Reach == "always" {
		far = "from now on in this project"
		if u.Destination == "userSettings" {
			far = "from now on, everywhere"
		}
	}
	switch u.Type {
	case "addRules", "replaceRules":
		var rules []string
		for _, r := range u.Rules {
			if r.RuleContent != "" {
				rules = append(rules, r.ToolName+"("+r.RuleContent+")")
			} else {
				rules = append(rules, r.ToolName)
			}
		}
		verb := "allow "
		if u.Behavior == "deny" {
			verb, o.Kind = "refuse ", agent.OptionOther
		}
		o.Label = "Yes, and " + verb + strings.Join(rules, ", ") + " " + far
	case "addDirectories":
		o.Label = "Yes, and allow " + strings.Join(u.Directories, ", ") + " " + far
	case "setMode":
		o.Label = "Yes, and " + modeWords(u.Mode) + " " + far
	default:
		o.Label, o.Kind, o.Description = "Yes, and "+or(u.Type, "change the permissions"), agent.OptionOther, string(raw)
	}
	return o
}

// reply gives an answer of the agent to who waits for it. With the echo of
// messages the program repeats our answers: that is their acknowledgement.
func (s *session) reply(r *controlReply) {
	if r == nil {
		return
	}
	s.mu.Lock()
	waiting := s.replies[r.RequestID]
	delete(s.replies, r.RequestID)
	a := s.asked[r.RequestID]
	acked := waiting == nil && a != nil && a.answered
	if acked {
		delete(s.asked, r.RequestID)
	}
	s.mu.Unlock()
	if waiting != nil {
		waiting <- *r
	}
	if acked {
		s.events.ApprovalAcked(r.RequestID)
		a.cancel()
	}
}

// withdrawn ends a request that the agent took back.
func (s *session) withdrawn(id string) {
	s.mu.Lock()
	a := s.asked[id]
	delete(s.asked, id)
	s.mu.Unlock()
	if a != nil {
		a.cancel()
	}
}

func (s *session) withdrawAll() {
	s.mu.Lock()
	all := s.asked
	s.asked = map[string]*asked{}
	s.mu.Unlock()
	for _, a := range all {
		a.cancel()
	}
}
