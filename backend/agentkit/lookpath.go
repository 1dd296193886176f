package agentkit

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Getenv reads name from an environment list; the last entry wins, as for a
// started process.
func Getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// LookPath finds the program name in the PATH of env, then in the folders
// where package and version managers put programs below home. It returns the
// absolute path ("" when not found) and the folders that were searched, in
// order, for the message. A name with a separator is checked as it is.
//
// Applications started from a desktop often have a PATH without any of these.
func LookPath(env []string, home, name string) (path string, searched []string) {
	if strings.ContainsRune(name, filepath.Separator) {
		if p, err := filepath.Abs(name); err == nil && executable(p) {
			return p, nil
		}
		return "", []string{filepath.Dir(name)}
	}
	seen := map[string]bool{}
	for _, dir := range append(filepath.SplitList(Getenv(env, "PATH")), usualFolders(env, home)...) {
		if !filepath.IsAbs(dir) || seen[dir] {
			continue
		}
		seen[dir] = true
		searched = append(searched, dir)
		if p := filepath.Join(dir, name); executable(p) {
			return p, searched
		}
	}
	return "", searched
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// usualFolders lists existing folders only; versioned ones newest first.
func usualFolders(env []string, home string) []string {
	var dirs []string
	add := func(base string, globs ...string) {
		if base == "" {
			return
		}
		for _, g := range globs {
			found, err := filepath.Glob(filepath.Join(base, g))
			if err != nil {
				continue
			}
			sort.Slice(found, func(i, j int) bool { return versionLess(found[j], found[i]) })
			dirs = append(dirs, found...)
		}
	}
	or := func(name, fallback string) string {
		if v := Getenv(env, name); v != "" {
			return v
		}
		if home == "" {
			return ""
		}
		return filepath.Join(home, fallback)
	}
	add(home, ".local/bin", "bin", ".claude/local", ".npm-global/bin", ".yarn/bin", ".config/yarn/global/node_modules/.bin")
	add(or("BUN_INSTALL", ".bun"), "bin")
	add(or("PNPM_HOME", ".local/share/pnpm"), ".")
	add(home, "Library/pnpm")
	add(or("VOLTA_HOME", ".volta"), "bin")
	add(or("NVM_DIR", ".nvm"), "versions/node/*/bin")
	add(or("FNM_DIR", ".local/share/fnm"), "aliases/default/bin", "node-versions/*/installation/bin")
	add(home, ".fnm/node-versions/*/installation/bin", "Library/Application Support/fnm/node-versions/*/installation/bin")
	add(or("ASDF_DATA_DIR", ".asdf"), "shims", "installs/nodejs/*/bin")
	add(or("MISE_DATA_DIR", ".local/share/mise"), "shims", "installs/node/*/bin")
	add("/", "opt/homebrew/bin", "usr/local/bin", "home/linuxbrew/.linuxbrew/bin", "usr/bin", "bin", "snap/bin")
	return dirs
}

// versionLess compares paths with their numbers as numbers: v9 before v22.
func versionLess(a, b string) bool {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da != "" && db != "" {
			na, nb := strings.TrimLeft(da, "0"), strings.TrimLeft(db, "0")
			if len(na) != len(nb) {
				return len(na) < len(nb)
			}
			if na != nb {
				return na < nb
			}
			a, b = a[len(da):], b[len(db):]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digits(s string) string {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i]
}
