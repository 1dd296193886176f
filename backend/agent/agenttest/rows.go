package agenttest

import (
	"strings"
	"unicode/utf8"

	"github.com/whippletree-app/whippletree/backend/agent"
)

type row struct {
	item   agent.Item
	text   strings.Builder // text or tool output as appended
	turn   int
	ended  bool // its turn has ended
	chunks int
}

// Item implements [agent.Events].
func (r *Recorder) Item(it agent.Item) {
	defer r.enter("Item")()
	if len(r.ready) == 0 {
		r.violate(RuleReady, "item %s came before Ready", it.ID)
	}
	for _, is := range agent.ValidateItem(it) {
		r.violate(RuleItems, "%s: item %s: %s %s", is.Code, it.ID, is.Path, is.Message)
	}
	if was := r.byID[it.ID]; r.turn == "" && (was == nil || was.ended || was.item.Type != agent.ItemSubagent || !was.item.Open()) {
		r.violate(RuleAfterEnd, "item %s (%s) came outside a turn", it.ID, it.Type)
	}
	if p := r.byID[it.ParentID]; it.ParentID != "" && (p == nil || p.item.Type != agent.ItemSubagent) {
		r.violate(RuleRows, "item %s names the parent %s, which is no sub-agent that was published", it.ID, it.ParentID)
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
		r.violate(RuleAfterEnd, "item %s of an ended turn was touched (%s %s %q)", it.ID, it.Type, it.State, short(grown(it)))
	case was.Type != it.Type:
		r.violate(RuleRows, "item %s changed its type from %s to %s", it.ID, was.Type, it.Type)
	case was.ParentID != it.ParentID:
		r.violate(RuleRows, "item %s changed its parent", it.ID)
	case was.Type == agent.ItemUser && was.Text != it.Text:
		r.violate(RuleRows, "the text of user row %s was changed", it.ID)
	case !was.Open() && it.Open() && was.Type != agent.ItemPlan:
		r.violate(RuleRows, "invalid_transition: item %s was closed and is open again", it.ID)
	case was.State != "" && !was.State.Open() && was.State != it.State:
		r.violate(RuleRows, "invalid_transition: item %s went from %s to %s", it.ID, was.State, it.State)
	}
	if it.Hidden() {
		return // what was shown is taken back
	}
	if w.chunks > 0 && !strings.HasPrefix(grown(it), w.text.String()) {
		r.violate(RuleAppends, "item %s: the whole text %q does not begin with what was appended, %q", it.ID, short(grown(it)), short(w.text.String()))
	}
}

// Append implements [agent.Events].
func (r *Recorder) Append(id, text string) {
	defer r.enter("Append")()
	w := r.byID[id]
	switch {
	case w == nil:
		r.violate(RuleAppends, "text was appended to item %s, which was never published", id)
		return
	case text == "":
		r.violate(RuleAppends, "invalid_string: an empty text was appended to item %s", id)
	case len(text) > agent.LimitTextBytes:
		r.violate(RuleAppends, "text_too_long: %d bytes were appended to item %s", len(text), id)
	case !utf8.ValidString(text):
		r.violate(RuleAppends, "invalid_string: text appended to item %s is not UTF-8", id)
	case w.ended:
		r.violate(RuleAfterEnd, "text was appended to item %s of an ended turn", id)
	case !w.item.Open():
		r.violate(RuleAppends, "text was appended to item %s, which is closed", id)
	}
	switch w.item.Type {
	case agent.ItemText, agent.ItemReasoning, agent.ItemTool:
	default:
		r.violate(RuleAppends, "text was appended to item %s of type %s", id, w.item.Type)
	}
	w.text.WriteString(text)
	w.chunks++
}
