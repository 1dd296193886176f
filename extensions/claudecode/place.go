package claudecode

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

const configDirEnv = "CLAUDE_CONFIG_DIR"

// configDir is where the agent keeps its data: what set says, else the
// imported environment, else the default below home.
func configDir(h *agentkit.Host, set map[string]string) string {
	if dir := set[configDirEnv]; dir != "" {
		return filepath.Clean(dir)
	}
	if dir := h.Getenv(configDirEnv); dir != "" {
		return filepath.Clean(dir)
	}
	return filepath.Join(h.Home, ".claude")
}

// locating returns the variables that a command needs to find this data again.
func locating(h *agentkit.Host, set map[string]string) map[string]string {
	dir := configDir(h, set)
	if dir == filepath.Join(h.Home, ".claude") {
		return nil
	}
	return map[string]string{configDirEnv: dir}
}

var errBadID = errors.New("this is not the id of a Claude Code session")

// checkID lets 1 to 128 letters, digits, dots, dashes and underscores pass, a
// letter or digit first.
func checkID(id string) error {
	if id == "" || len(id) > 128 || strings.Contains(id, "..") {
		return errBadID
	}
	for i := range len(id) {
		c := id[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || i > 0 && (c == '-' || c == '_' || c == '.') {
			continue
		}
		return errBadID
	}
	return nil
}

var unslug = regexp.MustCompile(`[^A-Za-z0-9-]`)

// slug is the name of a project's folder: every other character of the real
// path becomes a dash. It cannot be turned back.
func slug(cwd string) string {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	return unslug.ReplaceAllString(cwd, "-")
}

func projectsDir(config string) string { return filepath.Join(config, "projects") }

// transcriptPath finds the transcript of a session. When it does not exist yet
// the path where it will be is returned with ok false.
func transcriptPath(config, id, cwd string) (path string, ok bool) {
	if checkID(id) != nil {
		return "", false
	}
	expected := filepath.Join(projectsDir(config), slug(cwd), id+".jsonl")
	if regular(expected) {
		return expected, true
	}
	dirs, err := os.ReadDir(projectsDir(config))
	if err != nil {
		return expected, false
	}
	for _, d := range dirs { // another folder: a worktree, a long path, a moved project
		if p := filepath.Join(projectsDir(config), d.Name(), id+".jsonl"); d.IsDir() && regular(p) {
			return p, true
		}
	}
	return expected, false
}

func regular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// version is a dotted number like 2.1.332.
type version []int

func parseVersion(s string) version {
	s, _, _ = strings.Cut(strings.TrimSpace(s), " ")
	var v version
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		v = append(v, n)
	}
	return v
}

func (v version) atLeast(min string) bool {
	for i, m := range parseVersion(min) {
		if i >= len(v) || v[i] < m {
			return false
		}
		if v[i] > m {
			return true
		}
	}
	return true
}

// readJSON reads a small JSON file; a missing one leaves out as it is.
func readJSON(path string, out any) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > 16<<20 {
		return agentkit.ErrNotRegular
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}

func handleFor(h *agentkit.Host, id, cwd string, env map[string]string) agent.Handle {
	return agent.Handle{Harness: harnessID, NativeID: id, Cwd: cwd, Env: locating(h, env)}
}
