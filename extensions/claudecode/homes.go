package claudecode

import (
	"path/filepath"
	"slices"

	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// homes are the folders in which the program keeps its data: where the
// environment says, and wherever a start that a person set puts it. The first one
// is the default.
func homes(h *agentkit.Host) []string {
	list := []string{configDir(h, nil)}
	if h.Launches == nil {
		return list
	}
	for _, l := range h.Launches(harnessID) {
		if dir := configDir(h, l.Env); filepath.IsAbs(dir) && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// homeEnv names a home for the program; nil for the default one.
func homeEnv(h *agentkit.Host, home string) map[string]string {
	return locating(h, map[string]string{configDirEnv: home})
}
