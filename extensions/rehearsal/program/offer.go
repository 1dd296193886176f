package program

import (
	"slices"
	"strings"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// Modes of the agent.
const (
	modeAsk   = "ask"
	modeEdits = "edits"
	modePlan  = "plan"
	modeFree  = "free"
)

var models = []wire.Selectable{
	{ID: "evening", Label: "Evening", About: "Takes its time and explains itself", Default: true},
	{ID: "matinee", Label: "Matinee", About: "Short answers, quickly"},
}

var modes = []wire.Selectable{
	{ID: modeAsk, Label: "Ask first", About: "Asks before every edit and every command", Tier: "safe", Default: true},
	{ID: modeEdits, Label: "Accept edits", About: "Edits in its scratch folder without asking", Tier: "moderate"},
	{ID: modePlan, Label: "Plan only", About: "Looks and plans, changes nothing", Tier: "planning"},
	{ID: modeFree, Label: "Free rein", About: "Edits and runs without asking", Tier: "dangerous"},
}

var thinking = []wire.Selectable{
	{ID: "off", Label: "Off"},
	{ID: "brief", Label: "Brief", Default: true},
	{ID: "full", Label: "Full"},
}

var commands = []wire.Command{
	{Name: "help", About: "What this rehearsal can show"},
	{Name: "plan", About: "Make a plan and work through it", Hint: "[what for]"},
	{Name: "edit", About: "Edit a file in the scratch folder"},
	{Name: "run", About: "Run a harmless command", Hint: "[echo | date | list]"},
	{Name: "question", About: "Ask you something"},
	{Name: "agents", About: "Send out two helpers"},
	{Name: "later", About: "Come back by itself a moment after the turn"},
	{Name: "wait", About: "Stand still until stopped or spoken to"},
	{Name: "long", About: "A long answer"},
	{Name: "fail", About: "A turn that fails"},
}

func offered(list []wire.Selectable, id string) bool {
	return slices.ContainsFunc(list, func(s wire.Selectable) bool { return s.ID == id })
}

func ids(list []wire.Selectable) string {
	var out []string
	for _, s := range list {
		out = append(out, s.ID)
	}
	return strings.Join(out, ", ")
}

func standard(list []wire.Selectable) string {
	for _, s := range list {
		if s.Default {
			return s.ID
		}
	}
	return list[0].ID
}

// settingsFrom fills what was not asked for with what was in force, then with
// the defaults.
func settingsFrom(asked, before wire.Settings) wire.Settings {
	pick := func(list []wire.Selectable, a, b string) string {
		switch {
		case a != "":
			return a
		case offered(list, b):
			return b
		}
		return standard(list)
	}
	return wire.Settings{
		Model:    pick(models, asked.Model, before.Model),
		Mode:     pick(modes, asked.Mode, before.Mode),
		Thinking: pick(thinking, asked.Thinking, before.Thinking),
	}
}
