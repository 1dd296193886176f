package claudecode

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// input holds the arguments of the built-in tools; the names are the agent's.
type input struct {
	Command         string `json:"command"`
	Description     string `json:"description"`
	RunInBackground bool   `json:"run_in_background"`

	FilePath     string `json:"file_path"`
	NotebookPath string `json:"notebook_path"`
	OldString    string `json:"old_string"`
	NewString    string `json:"new_string"`
	NewSource    string `json:"new_source"`
	Content      string `json:"content"`
	Offset       int    `json:"offset"`
	Limit        int    `json:"limit"`

	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Query   string `json:"query"`
	URL     string `json:"url"`

	SubagentType string `json:"subagent_type"`
	Prompt       string `json:"prompt"`
	Message      string `json:"message"`
	Plan         string `json:"plan"`
	Skill        string `json:"skill"`

	Questions []question `json:"questions"`
}

type question struct {
	Question    string `json:"question"`
	Header      string `json:"header"`
	MultiSelect bool   `json:"multiSelect"`
	Options     []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

func parseInput(raw json.RawMessage) input {
	var in input
	_ = json.Unmarshal(raw, &in) // what does not fit stays empty; the raw input is kept
	return in
}

// toolItem describes a call from its name and arguments.
func toolItem(b block) agent.Item {
	in := parseInput(b.Input)
	it := agent.Item{
		ID: b.ID, Type: agent.ItemTool, CallID: b.ID, Name: b.Name,
		Tool: agent.ToolOther, Title: b.Name, State: agent.StateRunning, Detail: &agent.Detail{},
	}
	switch b.Name {
	case "Bash", "PowerShell":
		it.Tool = agent.ToolExecute
		it.Title = or(in.Description, firstLine(in.Command), b.Name)
		it.Detail.Execute = &agent.ExecuteDetail{Command: in.Command, Background: in.RunInBackground}
	case "Edit", "MultiEdit", "NotebookEdit":
		path := or(in.FilePath, in.NotebookPath)
		it.Tool = agent.ToolEdit
		it.Title = on("Edit", path)
		it.Detail.Edit = &agent.EditDetail{
			Path: path, Old: in.OldString, New: or(in.NewString, in.NewSource),
			Added: lines(or(in.NewString, in.NewSource)), Removed: lines(in.OldString),
		}
		it.Locations = []agent.Location{{Path: path}}
	case "Write":
		it.Tool = agent.ToolWrite
		it.Title = on("Write", in.FilePath)
		it.Detail.Write = &agent.WriteDetail{Path: in.FilePath, Content: in.Content}
		it.Locations = []agent.Location{{Path: in.FilePath}}
	case "Read":
		it.Tool = agent.ToolRead
		it.Title = on("Read", in.FilePath)
		d := &agent.ReadDetail{Path: in.FilePath, From: in.Offset}
		if in.Limit > 0 {
			d.To = max(in.Offset, 1) + in.Limit - 1
		}
		it.Detail.Read = d
		it.Locations = []agent.Location{{Path: in.FilePath, Line: in.Offset}}
	case "Grep", "Glob", "ToolSearch":
		it.Tool = agent.ToolSearch
		q := or(in.Pattern, in.Query)
		it.Title = "Search " + q
		it.Detail.Search = &agent.SearchDetail{Query: q, Scope: in.Path}
	case "WebSearch":
		it.Tool = agent.ToolSearch
		it.Title = "Search the web: " + in.Query
		it.Detail.Search = &agent.SearchDetail{Query: in.Query, Scope: "web"}
	case "WebFetch":
		it.Tool = agent.ToolFetch
		it.Title = in.URL
		it.Detail.Fetch = &agent.FetchDetail{URL: in.URL}
	case "Task", "Agent":
		it.Type, it.CallID, it.Name, it.Tool = agent.ItemSubagent, "", "", ""
		it.AgentType = or(in.SubagentType, "general-purpose")
		it.Title = or(in.Description, it.AgentType)
		it.Detail.Task = &agent.TaskDetail{Agent: it.AgentType, Prompt: in.Prompt}
	case "AskUserQuestion":
		it.Tool = agent.ToolQuestion
		it.Title = "Question"
		if len(in.Questions) > 0 {
			it.Title = in.Questions[0].Question
		}
		it.Detail.Question = &agent.QuestionDetail{Questions: questions(in.Questions)}
	default:
		if server, tool, ok := mcpName(b.Name); ok {
			it.Tool, it.Server, it.Title = agent.ToolMCP, server, tool
			it.Detail.MCP = &agent.MCPDetail{Server: server, Tool: tool, Input: compact(b.Input)}
			break
		}
		if b.Name == "ExitPlanMode" {
			it.Title = "Plan"
		}
		it.Detail.Unknown = &agent.UnknownDetail{Input: compact(b.Input)}
	}
	it.Title = cutTitle(it.Title)
	return it
}

// mcpName splits mcp__SERVER__TOOL.
func mcpName(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// result holds what the agent says of a finished call beside its text. Only
// members that stream and transcript share are read.
type result struct {
	FilePath  string  `json:"filePath"`
	Type      string  `json:"type"` // Write: create, update
	Patch     []patch `json:"structuredPatch"`
	NumFiles  *int    `json:"numFiles"`
	NumLines  *int    `json:"numLines"`
	Filenames []any   `json:"filenames"`
	Bytes     int64   `json:"bytes"`
	Code      int     `json:"code"`
	File      *struct {
		StartLine int `json:"startLine"`
		NumLines  int `json:"numLines"`
	} `json:"file"`
	Answers map[string]any  `json:"answers"`
	Content json.RawMessage `json:"content"` // a sub-agent's report
}

type patch struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// finish completes the detail with the result.
func finish(it *agent.Item, call block, raw json.RawMessage) {
	fresh := toolItem(call)
	it.Detail = fresh.Detail // the emitted one is shared; never change it
	var res result
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &res) != nil {
		return
	}
	switch d := it.Detail; {
	case it.Type == agent.ItemSubagent && len(res.Content) > 0:
		it.Output = plainText(res.Content) // without the frame that the model sees
	case d.Edit != nil && len(res.Patch) > 0:
		diff, added, removed := unified(or(res.FilePath, d.Edit.Path), res.Patch)
		*d.Edit = agent.EditDetail{
			Path: or(res.FilePath, d.Edit.Path), Diff: diff, Added: added, Removed: removed,
			StartLine: res.Patch[0].NewStart,
		}
	case d.Write != nil:
		d.Write.Created = res.Type == "create"
	case d.Read != nil && res.File != nil && res.File.NumLines > 0:
		d.Read.From = max(res.File.StartLine, 1)
		d.Read.To = d.Read.From + res.File.NumLines - 1
	case d.Search != nil:
		d.Search.Files, d.Search.Matches = res.NumFiles, res.NumLines
	case d.Fetch != nil:
		d.Fetch.Status, d.Fetch.Bytes = res.Code, res.Bytes
	case d.Question != nil && len(res.Answers) > 0:
		d.Question.Answers = map[string]string{}
		for q, a := range res.Answers {
			d.Question.Answers[q] = answerText(a)
		}
	}
}

func answerText(a any) string {
	switch v := a.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, 0, len(v))
		for _, x := range v {
			parts = append(parts, answerText(x))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(a)
}

// unified writes the agent's hunks as a unified diff.
func unified(path string, hunks []patch) (diff string, added, removed int) {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", path, path)
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			switch {
			case strings.HasPrefix(l, "+"):
				added++
			case strings.HasPrefix(l, "-"):
				removed++
			}
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String(), added, removed
}

func questions(list []question) []agent.Question {
	out := make([]agent.Question, 0, len(list))
	for i, q := range list {
		aq := agent.Question{
			ID: fmt.Sprintf("q%d", i), Header: q.Header, Text: q.Question, Multi: q.MultiSelect,
			AllowOther: true, Options: []agent.QuestionOption{},
		}
		for j, o := range q.Options {
			aq.Options = append(aq.Options, agent.QuestionOption{ID: fmt.Sprintf("o%d", j), Label: o.Label, Description: o.Description})
		}
		out = append(out, aq)
	}
	return out
}

// compact gives raw JSON one form: the stream and the transcript may order and
// space it differently.
func compact(raw json.RawMessage) json.RawMessage {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}

func or(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// on names what a tool works on, once it is known.
func on(verb, path string) string {
	if path == "" {
		return verb
	}
	return verb + " " + filepath.Base(path)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func lines(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1
}

// cutTitle bounds a title by whole characters.
func cutTitle(s string) string {
	s = firstLine(s)
	for agent.UTF16Len(s) > agent.LimitTitle {
		r := []rune(s)
		s = string(r[:len(r)*3/4])
	}
	return s
}
