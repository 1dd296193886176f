package claudecode

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// windows are the limits of a plan that the program names, in words.
var windows = map[string]string{
	"five_hour": "5 hours", "seven_day": "7 days", "seven_day_opus": "7 days, Opus", "seven_day_sonnet": "7 days, Sonnet",
	"seven_day_oauth_apps": "7 days, other apps", "seven_day_overage_included": "7 days with extra usage", "overage": "extra usage",
}

// limitEvent tells how far the limits of the plan are used up: fractions, and
// epoch seconds.
type limitEvent struct {
	Info struct {
		limit
		Type string           `json:"rateLimitType"` // the limit it is about
		All  map[string]limit `json:"unifiedWindows"`
	} `json:"rate_limit_info"`
}

type limit struct {
	Status   string   `json:"status"` // allowed, allowed_warning, rejected
	Used     *float64 `json:"utilization"`
	ResetsAt float64  `json:"resetsAt"`
}

func (l limit) window(kind string) agent.PlanWindow {
	w := agent.PlanWindow{Label: or(windows[kind], kind, "the plan"), ResetsAt: int64(l.ResetsAt * 1000)}
	if l.Used != nil {
		w.UsedPercent = min(100, *l.Used*100)
	}
	if l.Status == "rejected" {
		w.UsedPercent = 100
	}
	return w
}

// limited takes the program's word on the limits. A warning and a refusal are
// rows, once for each time the limit runs.
func (s *session) limited(data []byte) {
	var e limitEvent
	if lenient(data, &e) != nil || e.Info.Status == "" {
		return
	}
	now := e.Info.window(e.Info.Type)
	s.mu.Lock()
	for kind, l := range e.Info.All {
		w := l.window(kind)
		s.plan[w.Label] = w
	}
	s.plan[now.Label] = now
	s.spent.Windows = s.planWindows()
	u := s.spent
	s.mu.Unlock()
	if u.Output > 0 { // else the turn's own end brings it, with what was used
		s.events.Usage(u)
	}
	if e.Info.Status == "allowed" {
		return
	}
	text := fmt.Sprintf("%.0f %% of the limit of %s is used", now.UsedPercent, now.Label)
	if e.Info.Status == "rejected" {
		text = "The limit of " + now.Label + " is reached"
	}
	if now.ResetsAt > 0 {
		text += "; it begins anew on " + time.UnixMilli(now.ResetsAt).In(s.host.Time().Location()).Format("Monday at 15:04")
	}
	s.events.Item(agent.Item{
		ID: fmt.Sprintf("limit:%s:%s:%d", e.Info.Type, e.Info.Status, now.ResetsAt), Type: agent.ItemNotice, Level: agent.LevelWarning,
		At: s.host.Time().UnixMilli(), Text: text,
	})
}

// planWindows lists what is known of the plan, ordered by name. s.mu is held.
func (s *session) planWindows() []agent.PlanWindow {
	return slices.SortedFunc(maps.Values(s.plan), func(a, b agent.PlanWindow) int { return cmp.Compare(a.Label, b.Label) })
}
