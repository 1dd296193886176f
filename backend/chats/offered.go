package chats

import (
	"slices"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// offered remembers that the agent offers what the chat uses. Ids are opaque and
// an agent may take more than it lists, so that only what it once listed can be
// missed.
func (c *chat) offered(k agent.Catalog) {
	before := c.extra
	if hasModel(k, c.rec.Model) {
		c.extra.OfferedModel = c.rec.Model
	}
	if hasMode(k, c.rec.Mode) {
		c.extra.OfferedMode = c.rec.Mode
	}
	if c.extra != before {
		c.saveRecord()
	}
}

// fallBack goes to the agent's own choice, and says so, where it offered what the
// chat uses and does not any more. It goes by what is known; nobody is asked.
func (c *chat) fallBack() {
	known, ok := c.m.o.Offers(c.rec.Harness, c.rec.Cwd)
	if c.catalog != nil && (!ok || c.catalog.FetchedAt > known.FetchedAt) {
		known, ok = *c.catalog, true
	}
	if !ok {
		return
	}
	c.offered(known)
	text := ""
	if m := c.rec.Model; m != "" && m == c.extra.OfferedModel && len(known.Models) > 0 && !hasModel(known, m) {
		c.rec.Model, text = "", "The model "+m+" is not offered any more; the agent's own choice is used."
	}
	if m := c.rec.Mode; m != "" && m == c.extra.OfferedMode && len(known.Modes) > 0 && !hasMode(known, m) {
		if c.rec.Mode = ""; text != "" {
			text += " "
		}
		text += "The mode " + m + " is not offered any more; the agent asks first."
	}
	if text == "" {
		return
	}
	c.saveRecord()
	c.putRows([]model.Row{c.addRow(agent.Item{
		ID: "offered-" + itoa(c.turn.n), Type: agent.ItemNotice, Level: agent.LevelWarning, At: c.wall(), Text: text,
	})})
}

func hasModel(k agent.Catalog, id string) bool {
	return slices.ContainsFunc(k.Models, func(m agent.Model) bool { return m.ID == id })
}

func hasMode(k agent.Catalog, id string) bool {
	return slices.ContainsFunc(k.Modes, func(m agent.Mode) bool { return m.ID == id })
}
