package claudecode

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// The permission modes. On the wire the asking mode is "default".
const (
	modeAsk    = "default"
	modeBypass = "bypassPermissions"
)

// modes in the order of the agent's own switch. Bypassing everything is not
// offered: it needs a flag at the start and is refused to root.
var modes = []agent.Mode{
	{ID: modeAsk, Label: "Ask", Description: "Asks before it edits files or runs commands", Tier: agent.TierSafe, Default: true},
	{ID: "acceptEdits", Label: "Accept edits", Description: "Edits files in the folder without asking; commands are asked", Tier: agent.TierModerate},
	{ID: "plan", Label: "Plan", Description: "Reads and plans; changes nothing until the plan is approved", Tier: agent.TierPlanning},
	{ID: "auto", Label: "Auto", Description: "A model decides what is asked", Tier: agent.TierModerate},
	{ID: "dontAsk", Label: "Don't ask", Description: "Does what is already allowed, refuses the rest by itself", Tier: agent.TierSafe},
}

func knownMode(id string) bool {
	if id == modeBypass {
		return true
	}
	for _, m := range modes {
		if m.ID == id {
			return true
		}
	}
	return false
}

func modeWords(id string) string {
	for _, m := range modes {
		if m.ID == id {
			return "switch to " + m.Label
		}
	}
	return "switch to " + id
}

// initialized is the agent's answer to the handshake.
type initialized struct {
	Version  string `json:"claude_code_version"`
	Mode     string `json:"current_permission_mode"`
	Commands []struct {
		Name         string `json:"name"`
		Description  string `json:"description"`
		ArgumentHint string `json:"argumentHint"`
	} `json:"commands"`
	Models []struct {
		Value       string   `json:"value"`
		DisplayName string   `json:"displayName"`
		Description string   `json:"description"`
		Effort      bool     `json:"supportsEffort"`
		Levels      []string `json:"supportedEffortLevels"`
	} `json:"models"`
	Account account `json:"account"`
}

// account is whom the program is signed in as.
type account struct {
	Email        string `json:"email"`
	Organization string `json:"organization"`
	Subscription string `json:"subscriptionType"`
	TokenSource  string `json:"tokenSource"`
	APIKeySource string `json:"apiKeySource"`
}

func defaultModel(hello initialized) string {
	if len(hello.Models) > 0 {
		return hello.Models[0].Value
	}
	return ""
}

func catalogOf(hello initialized, now time.Time) agent.Catalog {
	c := agent.Catalog{
		Models: []agent.Model{}, Modes: modes, Features: []agent.Feature{}, Commands: []agent.CommandInfo{},
	}
	for i, m := range hello.Models {
		if m.Value == "" {
			continue
		}
		am := agent.Model{
			ID: m.Value, Label: or(m.DisplayName, m.Value), Description: m.Description,
			Default: i == 0, Input: []string{"text", "image"},
		}
		for _, l := range m.Levels {
			am.Thinking = append(am.Thinking, agent.Thinking{ID: l, Label: l})
		}
		c.Models = append(c.Models, am)
	}
	for _, cmd := range hello.Commands {
		if cmd.Name == "" {
			continue
		}
		c.Commands = append(c.Commands, agent.CommandInfo{
			Name: cmd.Name, Description: cmd.Description, ArgumentHint: cmd.ArgumentHint, Kind: "command",
		})
	}
	if data, err := json.Marshal(c); err == nil {
		sum := sha256.Sum256(data)
		c.Hash = hex.EncodeToString(sum[:8])
	}
	c.FetchedAt = now.UnixMilli()
	return c
}

// Catalog reads what the program offers without opening a chat: a process
// that keeps nothing, reads no project settings and is gone afterwards.
func (p *provider) Catalog(ctx context.Context, cwd string) (agent.Catalog, error) {
	start, err := p.host.LaunchOf(harnessID)
	if err != nil {
		return agent.Catalog{}, err
	}
	dir := cwd
	if dir == "" {
		made, err := os.MkdirTemp(p.host.CacheDir, "catalog-")
		if err != nil {
			return agent.Catalog{}, err
		}
		defer os.RemoveAll(made)
		dir = made
	}
	defer agent.Doing(ctx, "the handshake of claude")()
	l := &listener{catalog: make(chan agent.Catalog, 1)}
	chat, err := p.Open(ctx, agent.OpenRequest{
		ChatID: "catalog", Kind: agent.KindWorkspace, WorkingDirectory: dir, ProjectSourcesOff: true,
		Binary: start.Binary, Args: append(slices.Clone(start.Args), "--no-session-persistence"), Env: start.Env,
	}, l)
	if err != nil {
		return agent.Catalog{}, err
	}
	if err := chat.Close(ctx); err != nil {
		return agent.Catalog{}, err
	}
	select {
	case c := <-l.catalog:
		return c, nil
	default:
		return agent.Catalog{}, failure("Claude Code told nothing of its models")
	}
}

// listener is the deaf end of a probe: it keeps the catalog only, and whoever
// asks for a permission gets none.
type listener struct{ catalog chan agent.Catalog }

func (l *listener) Catalog(c agent.Catalog) {
	select {
	case l.catalog <- c:
	default:
	}
}

func (l *listener) Approval(context.Context, agent.Approval) agent.ApprovalAnswer {
	return agent.ApprovalAnswer{Canceled: true}
}

func (l *listener) Ready(agent.Ready)               {}
func (l *listener) Item(agent.Item)                 {}
func (l *listener) Append(string, string)           {}
func (l *listener) ApprovalAcked(string)            {}
func (l *listener) Usage(agent.Usage)               {}
func (l *listener) Title(string)                    {}
func (l *listener) Handle(agent.Handle)             {}
func (l *listener) Settings(agent.Settings)         {}
func (l *listener) Turn(agent.TurnEvent)            {}
func (l *listener) Delivery(string, agent.Delivery) {}
func (l *listener) Failure(string, string)          {}
func (l *listener) Exit(agent.Exit)                 {}
