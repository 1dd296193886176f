package chats

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// offered remembers that the agent offers what the chat uses. Ids are opaque and
// an agent may take more than it lists, so that only what it once listed can be
// missed.
func (c *chat) offered(k agent.Catalog) {
	before, changed := c.extra, false
	if hasModel(k, c.rec.Model) {
		c.extra.OfferedModel = c.rec.Model
	}
	if hasMode(k, c.rec.Mode) {
		c.extra.OfferedMode = c.rec.Mode
	}
	if list := thinkingOf(k, c.rec.Model); hasThinking(list, c.rec.Thinking) {
		c.extra.OfferedThinking = c.rec.Thinking
	}
	for id, v := range c.rec.Features {
		if takesFeature(k, id, v) && !c.extra.OfferedFeatures[id] {
			f := maps.Clone(c.extra.OfferedFeatures)
			if f == nil {
				f = map[string]bool{}
			}
			f[id] = true
			c.extra.OfferedFeatures, changed = f, true
		}
	}
	if changed || c.extra.OfferedModel != before.OfferedModel || c.extra.OfferedMode != before.OfferedMode || c.extra.OfferedThinking != before.OfferedThinking {
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
	if t, list := c.rec.Thinking, thinkingOf(known, c.rec.Model); t != "" && t == c.extra.OfferedThinking && len(list) > 0 && !hasThinking(list, t) {
		c.rec.Thinking = ""
		text = strings.TrimSpace(text + " Thinking as " + t + " is not offered any more; the agent's own choice is used.")
	}
	for _, id := range slices.Sorted(maps.Keys(c.rec.Features)) {
		if c.extra.OfferedFeatures[id] && len(known.Features) > 0 && !takesFeature(known, id, c.rec.Features[id]) {
			f := maps.Clone(c.rec.Features)
			delete(f, id)
			c.rec.Features = f
			text = strings.TrimSpace(text + " The setting " + id + " is not offered any more as it was set; the agent's own choice is used.")
		}
	}
	if text == "" {
		return
	}
	c.saveRecord()
	c.putRows([]model.Row{c.addRow(agent.Item{
		ID: "offered-" + itoa(c.turn.n), Type: agent.ItemNotice, Level: agent.LevelWarning, At: c.wall(), Text: text,
	})})
}

// takesFeature says that a feature is offered and, a select, with this value.
func takesFeature(k agent.Catalog, id string, value json.RawMessage) bool {
	i := slices.IndexFunc(k.Features, func(f agent.Feature) bool { return f.ID == id })
	if i < 0 {
		return false
	}
	f := k.Features[i]
	if len(f.Choices) == 0 {
		return true
	}
	var choice string
	return json.Unmarshal(value, &choice) == nil && slices.ContainsFunc(f.Choices, func(o agent.QuestionOption) bool { return o.ID == choice })
}

// thinkingOf is what a model offers: the chat's, or the agent's own choice.
func thinkingOf(k agent.Catalog, id string) []agent.Thinking {
	for _, m := range k.Models {
		if m.ID == id || id == "" && m.Default {
			return m.Thinking
		}
	}
	return nil
}

func hasThinking(list []agent.Thinking, id string) bool {
	return slices.ContainsFunc(list, func(t agent.Thinking) bool { return t.ID == id })
}

func hasModel(k agent.Catalog, id string) bool {
	return slices.ContainsFunc(k.Models, func(m agent.Model) bool { return m.ID == id })
}

func hasMode(k agent.Catalog, id string) bool {
	return slices.ContainsFunc(k.Modes, func(m agent.Mode) bool { return m.ID == id })
}
