package claudecode

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

//go:embed options.schema.json
var optionsJSON []byte

// optionsSchema says what a person may set for chats of this harness beyond what
// the contract has, in the program's own words. Unknown names are refused.
var optionsSchema = agentkit.NewSchema("https://whippletree.app/claude-code.options.schema.json", optionsJSON)

// options have the shape of options.schema.json.
type options struct {
	AllowedTools          []string `json:"allowedTools,omitempty"`
	DisallowedTools       []string `json:"disallowedTools,omitempty"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	// flagSettings go to the program as they are.
	flagSettings
}

// flagSettings are the options that are the program's settings, not flags. It
// merges them with those of its files.
type flagSettings struct {
	Permissions json.RawMessage `json:"permissions,omitempty"`
	Sandbox     json.RawMessage `json:"sandbox,omitempty"`
}

// OptionsSchema implements [agent.OptionsTeller].
func (p *provider) OptionsSchema() json.RawMessage { return optionsSchema.JSON() }

// CheckOptions implements [agent.OptionsChecker].
func (p *provider) CheckOptions(raw json.RawMessage) []agent.Issue {
	return optionsSchema.Check("$.options", raw)
}

func readOptions(raw json.RawMessage) (options, error) {
	var o options
	if issues := optionsSchema.Check("$.options", raw); len(issues) > 0 {
		return o, failure("The options of Claude Code cannot be used: " + agentkit.Explain(issues))
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return o, nil
	}
	return o, json.Unmarshal(raw, &o)
}

// args are the options as flags; those that are settings are written to a
// private file in dir, whose name is "" when there are none. A flag takes any
// number of values: another flag has to follow.
func (o options) args(dir string) (argv []string, file string, err error) {
	for _, list := range []struct {
		flag   string
		values []string
	}{
		{"--allowedTools", o.AllowedTools}, {"--disallowedTools", o.DisallowedTools}, {"--add-dir", o.AdditionalDirectories},
	} {
		if len(list.values) > 0 {
			argv = append(append(argv, list.flag), list.values...)
		}
	}
	if len(o.Permissions) == 0 && len(o.Sandbox) == 0 {
		return argv, "", nil
	}
	data, err := json.Marshal(o.flagSettings)
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	file = filepath.Join(dir, "settings-"+uuid.NewString()+".json")
	return append(argv, "--settings", file), file, os.WriteFile(file, data, 0o600)
}

var (
	_ agent.OptionsChecker = (*provider)(nil)
	_ agent.OptionsTeller  = (*provider)(nil)
)
