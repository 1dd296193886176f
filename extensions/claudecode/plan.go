package claudecode

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// planTools make or read the task list. Their calls are not rows of their own
// unless they fail; the list is.
var planTools = map[string]bool{
	"TaskCreate": true, "TaskUpdate": true, "TaskList": true, "TaskGet": true, "TodoWrite": true,
}

// plan is the task list as folded from the calls that changed it: no message
// ever says all of it.
type plan struct {
	order []string
	tasks map[string]agent.PlanEntry
}

// planCall holds the arguments of the tools that change the list.
type planCall struct {
	TaskID  string `json:"taskId"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
	Todos   []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
}

// change takes a call that worked and reports whether the list is different.
func (p *plan) change(call block, result json.RawMessage) bool {
	var in planCall
	if lenient(call.Input, &in) != nil {
		return false
	}
	if p.tasks == nil {
		p.tasks = map[string]agent.PlanEntry{}
	}
	switch call.Name {
	case "TaskCreate":
		var out struct {
			Task struct {
				ID      string `json:"id"`
				Subject string `json:"subject"`
			} `json:"task"`
		}
		if lenient(result, &out) != nil || out.Task.ID == "" {
			return false
		}
		p.put(out.Task.ID, agent.PlanEntry{Text: or(out.Task.Subject, in.Subject), Status: "pending"})
	case "TaskUpdate":
		e, known := p.tasks[in.TaskID]
		switch {
		case in.TaskID == "":
			return false
		case in.Status == "deleted":
			delete(p.tasks, in.TaskID)
			return known
		case !known: // made before what can be seen
			e = agent.PlanEntry{Text: "Task " + in.TaskID, Status: "pending"}
		}
		e.Text = or(in.Subject, e.Text)
		if in.Status != "" {
			e.Status = planStatus(in.Status)
		}
		p.put(in.TaskID, e)
	case "TodoWrite": // older versions: the whole list each time
		p.order, p.tasks = nil, map[string]agent.PlanEntry{}
		for i, t := range in.Todos {
			p.put(fmt.Sprintf("todo-%d", i), agent.PlanEntry{Text: t.Content, Status: planStatus(t.Status)})
		}
	default:
		return false
	}
	return true
}

func (p *plan) put(id string, e agent.PlanEntry) {
	e.Text = cutTitle(e.Text)
	if _, known := p.tasks[id]; !known {
		p.order = append(p.order, id)
	}
	p.tasks[id] = e
}

func planStatus(s string) string {
	switch s {
	case "in_progress":
		return "active"
	case "completed":
		return "done"
	}
	return "pending"
}

// item is the whole list as one row.
func (p *plan) item(id string, at int64) agent.Item {
	it := agent.Item{ID: id, Type: agent.ItemPlan, At: at, Entries: []agent.PlanEntry{}}
	for _, id := range p.order {
		if e, ok := p.tasks[id]; ok {
			it.Entries = append(it.Entries, e)
		}
	}
	return it
}

// storedPlan folds the task list of a transcript, for a session that goes on
// in a new process. What cannot be read is as if it were not there.
func storedPlan(path string) plan {
	rs := newRows(func(agent.Item) {})
	f, err := os.Open(path)
	if err != nil {
		return rs.plan
	}
	defer f.Close()
	lines := agentkit.NewLines(f, agentkit.LinesOptions{})
	owed := map[string]bool{}
	for {
		l, err := lines.Next()
		if err != nil {
			return rs.plan
		}
		if !l.Object() || !mentionsPlan(l.Data, owed) {
			continue
		}
		r, ok := cheap(l)
		if !ok || r.IsSidechain {
			continue
		}
		for _, b := range blocks(r.Message.Content) {
			switch {
			case b.Type == "tool_use" && planTools[b.Name]:
				owed[b.ID] = true
				rs.add(&r, -1)
			case b.Type == "tool_result" && owed[b.ToolUseID]:
				delete(owed, b.ToolUseID)
				rs.add(&r, -1)
			}
		}
	}
}

func mentionsPlan(data []byte, owed map[string]bool) bool {
	s := string(data)
	for name := range planTools {
		if strings.Contains(s, `"`+name+`"`) {
			return true
		}
	}
	for id := range owed {
		if strings.Contains(s, id) {
			return true
		}
	}
	return false
}
