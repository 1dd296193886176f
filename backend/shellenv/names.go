package shellenv

import (
	"bufio"
	"os"
	"strings"
)

// dropped names would make an agent believe that it runs inside another one,
// in another terminal, or in our shell; or they belong to one process only.
var dropped = map[string]bool{
	"CLAUDECODE": true, "CLAUDE_CODE_ENTRYPOINT": true, "CLAUDE_CODE_SSE_PORT": true,
	"CLAUDE_CODE_CHILD_SESSION": true, "CLAUDE_CODE_SESSION_ID": true, "CLAUDE_PID": true,
	"CODEX_THREAD_ID": true, "CODEX_SANDBOX": true, "CODEX_SANDBOX_NETWORK_DISABLED": true,
	"CODEX_INTERNAL_ORIGINATOR_OVERRIDE": true,
	"GEMINI_CLI":                         true, "OPENCODE": true, "OPENCODE_SERVER_PASSWORD": true, "AI_AGENT": true,
	"TERM_PROGRAM": true, "TERM_PROGRAM_VERSION": true, "TERM_SESSION_ID": true, "TERMINFO": true,
	"KITTY_WINDOW_ID": true, "KITTY_PID": true, "KITTY_LISTEN_ON": true, "WEZTERM_PANE": true,
	"WEZTERM_UNIX_SOCKET": true, "ALACRITTY_WINDOW_ID": true, "ITERM_SESSION_ID": true, "WINDOWID": true,
	"TMUX": true, "TMUX_PANE": true, "STY": true, "WINDOW": true, "ZELLIJ": true, "ZELLIJ_SESSION_NAME": true,
	"VTE_VERSION": true, "COLUMNS": true, "LINES": true,
	"_": true, "SHLVL": true, "PWD": true, "OLDPWD": true, "PS1": true,
	"WEBKIT_DISABLE_DMABUF_RENDERER": true,
}

// kept of the families that are dropped otherwise: they locate the agent's
// data or configure it, and are the user's own.
var kept = map[string]bool{
	"CLAUDE_CONFIG_DIR": true, "CODEX_HOME": true,
	"CLAUDE_CODE_USE_BEDROCK": true, "CLAUDE_CODE_USE_VERTEX": true, "CLAUDE_CODE_OAUTH_TOKEN": true,
	"CLAUDE_CODE_MAX_OUTPUT_TOKENS": true, "CLAUDE_CODE_GIT_BASH_PATH": true,
}

// Clean removes what would confuse a nested agent, and our own variables.
func Clean(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if ok && !drops(name) {
			out = append(out, kv)
		}
	}
	return out
}

func drops(name string) bool {
	switch {
	case kept[name]:
		return false
	case dropped[name], strings.HasPrefix(name, "WHIPPLETREE_"):
		return true
	}
	return strings.HasPrefix(name, "CODEX_THREAD_") || strings.HasPrefix(name, "CLAUDE_AGENT_") ||
		strings.HasPrefix(name, "GHOSTTY_")
}

func value(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func set(env []string, name, v string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return append(out, name+"="+v)
}

// passwdLine is for systems without getent.
func passwdLine(user string) []byte {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), ":")
		if len(fields) == 7 && (fields[0] == user || fields[2] == user) {
			return s.Bytes()
		}
	}
	return nil
}
