package claudecode

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// ProjectStarts tells what the program would start by itself in a folder: hooks
// and MCP servers that the folder brings along, and its plugins. In the
// structured mode it starts them without asking. Servers are read of every
// folder above, too, and private settings of the repository's main checkout.
func (p *provider) ProjectStarts(_ context.Context, cwd string) ([]agent.ProjectStart, error) {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real // the program looks from there
	}
	settings := []string{filepath.Join(cwd, ".claude", "settings.json"), filepath.Join(cwd, ".claude", "settings.local.json")}
	if root := mainCheckout(cwd); root != "" && root != cwd {
		settings = append(settings, filepath.Join(root, ".claude", "settings.local.json"))
	}
	var list []agent.ProjectStart
	for _, file := range settings {
		var s projectSettings
		if err := readJSON(file, &s); err != nil {
			list = append(list, agent.ProjectStart{Kind: "other", Name: "unreadable settings", Source: file})
			continue
		}
		list = append(list, s.starts(file)...)
	}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		list = append(list, servers(filepath.Join(dir, ".mcp.json"))...)
		if dir == filepath.Dir(dir) {
			return list, nil
		}
	}
}

// servers lists the MCP servers of one file.
func servers(file string) []agent.ProjectStart {
	var m struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			URL     string   `json:"url"`
		} `json:"mcpServers"`
	}
	if err := readJSON(file, &m); err != nil {
		return []agent.ProjectStart{{Kind: "other", Name: "unreadable MCP servers", Source: file}}
	}
	var list []agent.ProjectStart
	for _, name := range sortedKeys(m.Servers) {
		s := m.Servers[name]
		list = append(list, agent.ProjectStart{
			Kind: "mcpServer", Name: name, Source: file,
			Command: or(strings.TrimSpace(s.Command+" "+strings.Join(s.Args, " ")), s.URL),
		})
	}
	return list
}

// mainCheckout is the folder of the repository that cwd belongs to; of a linked
// worktree that of the main one. "" outside of any.
func mainCheckout(cwd string) string {
	for dir := cwd; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		info, err := os.Lstat(git)
		if err == nil && !info.IsDir() {
			data, err := os.ReadFile(git)
			link, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
			if link = strings.TrimSpace(link); err == nil && ok {
				if !filepath.IsAbs(link) {
					link = filepath.Join(dir, link)
				}
				if trees := filepath.Dir(link); filepath.Base(trees) == "worktrees" && filepath.Base(filepath.Dir(trees)) == ".git" {
					return filepath.Dir(filepath.Dir(trees))
				}
			}
		}
		if err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

type projectSettings struct {
	Hooks map[string][]struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type    string `json:"type"`
			Command string `json:"command"`
			URL     string `json:"url"`
		} `json:"hooks"`
	} `json:"hooks"`
	Plugins    map[string]json.RawMessage `json:"enabledPlugins"`
	KeyHelper  string                     `json:"apiKeyHelper"`
	StatusLine struct {
		Command string `json:"command"`
	} `json:"statusLine"`
}

func (s *projectSettings) starts(file string) []agent.ProjectStart {
	var list []agent.ProjectStart
	for _, event := range sortedKeys(s.Hooks) {
		for _, group := range s.Hooks[event] {
			for _, h := range group.Hooks {
				list = append(list, agent.ProjectStart{
					Kind: "hook", Name: strings.TrimSpace(event + " " + group.Matcher),
					Command: or(h.Command, h.URL, h.Type), Source: file,
				})
			}
		}
	}
	for _, name := range sortedKeys(s.Plugins) {
		list = append(list, agent.ProjectStart{Kind: "plugin", Name: name, Source: file})
	}
	for name, command := range map[string]string{"apiKeyHelper": s.KeyHelper, "statusLine": s.StatusLine.Command} {
		if command != "" {
			list = append(list, agent.ProjectStart{Kind: "other", Name: name, Command: command, Source: file})
		}
	}
	return list
}
