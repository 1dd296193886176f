package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"
)

const (
	wailsTags = "desktop,production,webkit2_41"
	ldflags   = "-w -s"
)

// stepsOf lists a tier's steps in the order in which they run.
func stepsOf(tier string) ([]Step, error) {
	switch tier {
	case "quick":
		return append(static(), units(nil)...), nil
	case "ci":
		// The real agents come first: the tests of their folders run them.
		install := installs()
		steps := append(static(), install...)
		steps = append(steps, units(install)...)
		steps = append(steps, builds()...)
		return append(steps, browser(), window(), proof(install)), nil
	case "agents":
		install := installs()
		return append(install, matrix(install), proof(install)), nil
	case "fuzz":
		return fuzz()
	}
	return nil, fmt.Errorf("unknown tier %q: quick, ci, agents or fuzz", tier)
}

// notInTier says what a reader could believe to have run, but has not.
func notInTier(tier string) []string {
	never := []string{
		"macOS: behaviour, the .app bundle, signing (only compiled for darwin here; needs a Mac)",
		"Wayland and a real GPU (the window runs under Xvfb)",
	}
	switch tier {
	case "quick":
		return append([]string{"desktop build, browser, real window, real agents (make test)"}, never...)
	case "ci":
		return append([]string{
			"the full matrix over the real agents (make test-agents)",
			"fuzz targets beyond their seeds (make fuzz)",
			"figures against their floors (make bench)",
		}, never...)
	case "agents":
		return []string{"everything else (make test)"}
	}
	return nil
}

func static() []Step {
	return []Step{
		{ID: "gofmt", Title: "every Go file is formatted", Quiet: true,
			Argv: []string{"sh", "-c", `git ls-files -z '*.go' | xargs -0 gofmt -l`}},
		{ID: "vet", Title: "go vet without tags (no cgo, no GTK)",
			Env: []string{"CGO_ENABLED=0"}, Argv: []string{"go", "vet", "./..."}},
		{ID: "vet-darwin", Title: "go vet for macOS",
			Env: []string{"GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"}, Argv: []string{"go", "vet", "./..."}},
		{ID: "vet-shell", Title: "go vet of the desktop shell and the tagged tests",
			Argv: []string{"go", "vet", "-tags", wailsTags + ",devtools,window,agents,wailsdefect", "./..."}},
		{ID: "staticcheck", Title: "staticcheck",
			Argv: []string{"go", "run", "honnef.co/go/tools/cmd/staticcheck", "./..."}},
		{ID: "generated", Title: "generated files are those of the sources",
			Argv: []string{"sh", "-c", `set -e; mkdir -p build/cache; go run ./backend/api/tsgen/write build/cache/types.gen.ts; diff -u frontend/src/lib/api/types.gen.ts build/cache/types.gen.ts`}},
	}
}

// noRest: under the race detector each of our programs that a test starts would
// rest for a second as it ends.
const noRest = "GORACE=atexit_sleep_ms=0"

// units are the tests without a window. With agents installed a test that needs
// one must find it.
func units(agents []Step) []Step {
	goTest := Step{ID: "go-test", Title: "go test -race", Limit: 18 * time.Minute, Count: countGo, Env: []string{noRest},
		Argv: []string{"go", "test", "-race", "-timeout", "8m", "-json", "./..."}}
	if len(agents) > 0 {
		goTest.Title += ", with a smoke row per real agent"
		goTest.After, goTest.Env = ids(agents), append(goTest.Env, "WHIPPLETREE_REQUIRE_AGENTS=1")
	}
	return []Step{
		goTest,
		{ID: "svelte-check", Title: "types and warnings of the front end", Dir: "frontend",
			Argv: []string{"npm", "run", "--silent", "check"}},
		{ID: "vitest", Title: "front-end unit tests", Dir: "frontend", Count: countVitest, Report: report("vitest"),
			Argv: []string{"npx", "vitest", "run", "--reporter=default", "--reporter=json", "--outputFile.json=" + report("vitest")}},
	}
}

func builds() []Step {
	return []Step{
		{ID: "frontend", Title: "front-end build", Dir: "frontend", Argv: []string{"npm", "run", "--silent", "build"}},
		{ID: "core", Title: "whippletree, without cgo", After: []string{"frontend"}, Env: []string{"CGO_ENABLED=0"},
			Argv: []string{"go", "build", "-ldflags", ldflags, "-trimpath", "-o", "build/bin/whippletree", "./backend/cmd/whippletree"}},
		{ID: "desktop", Title: "whippletree-desktop", After: []string{"frontend"},
			Argv: []string{"go", "build", "-tags", wailsTags, "-ldflags", ldflags, "-trimpath", "-o", "build/bin/whippletree-desktop", "."}},
	}
}

func browser() Step {
	s := Step{ID: "browser", Title: "Chromium and Playwright against the real host", Dir: "frontend",
		After: []string{"core"}, Limit: 15 * time.Minute, Count: countPlaywright, Report: report("playwright"),
		Argv: []string{"npx", "playwright", "test", "--reporter=list,json"},
		Env: []string{
			"PLAYWRIGHT_JSON_OUTPUT_FILE=" + report("playwright"),
			"WHIPPLETREE_BIN=" + absolute(filepath.Join("build", "bin", "whippletree")),
		}}
	if _, err := os.Stat("frontend/playwright.config.ts"); err != nil {
		s.Absent = "frontend/playwright.config.ts is missing"
	}
	return s
}

// report is where a runner of tests writes what Count reads.
func report(name string) string {
	return absolute(filepath.Join("build", "cache", "logs", name+".json"))
}

// absolute is for steps that run in another folder.
func absolute(path string) string {
	if p, err := filepath.Abs(path); err == nil {
		return p
	}
	return path
}

func window() Step {
	s := Step{ID: "window", Title: "the real window under Xvfb, real mouse and keys",
		After: []string{"core"}, Limit: 8 * time.Minute, Count: countGo,
		Argv: []string{"go", "test", "-tags", "window", "-timeout", "7m", "-count=1", "-json", "./e2e/window/..."}}
	if runtime.GOOS != "linux" {
		s.Absent = "needs Xvfb (Linux)"
	}
	return s
}

// proof runs the main job from outside: the real host binary and the real agent
// in real terminals. It runs alone, so that its deadlines mean something.
func proof(install []Step) Step {
	s := Step{ID: "proof", Title: "real host, real Claude Code: tabs, tmux, xterm, chat, hand-over",
		After: ids(install), Limit: 9 * time.Minute, Count: countGo,
		Env:  []string{"WHIPPLETREE_REQUIRE_AGENTS=1"},
		Argv: []string{"go", "test", "-tags", "agents", "-timeout", "8m", "-count=1", "-json", "./e2e/proof/..."}}
	if runtime.GOOS != "linux" {
		s.Absent = "needs Xvfb (Linux)"
	}
	return s
}

// installs puts each real agent into its folder from its lock file.
func installs() []Step {
	locks, _ := filepath.Glob("e2e/agents/*/package-lock.json")
	sort.Strings(locks)
	var steps []Step
	for _, l := range locks {
		dir := filepath.Dir(l)
		steps = append(steps, Step{ID: "install:" + filepath.Base(dir), Title: "npm ci in " + dir, Limit: 8 * time.Minute,
			Argv: []string{"sh", "-ec", `. build/dev/npm.sh; npm_ci "$0"`, dir}})
	}
	return steps
}

// matrix runs every row over the real agents, the slow ones too.
func matrix(install []Step) Step {
	return Step{ID: "agents", Title: "the full matrix over the real agents", After: ids(install), Limit: 60 * time.Minute, Count: countGo,
		Env:  []string{noRest, "WHIPPLETREE_REQUIRE_AGENTS=1", "WHIPPLETREE_AGENTS=full"},
		Argv: []string{"go", "test", "-race", "-timeout", "55m", "-count=1", "-json", "./extensions/...", "./e2e/..."}}
}

func ids(steps []Step) []string {
	var all []string
	for _, s := range steps {
		all = append(all, s.ID)
	}
	return all
}

// fuzz finds every fuzz target of the module and gives each a minute.
func fuzz() ([]Step, error) {
	files, err := exec.Command("git", "grep", "-lE", "-e", `^func Fuzz[A-Z]`, "--", "*_test.go").Output()
	if err != nil {
		return nil, fmt.Errorf("looking for fuzz targets: %w", err)
	}
	var steps []Step
	for _, f := range strings.Fields(string(files)) {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for _, line := range bytes.Split(b, []byte("\n")) {
			name, ok := strings.CutPrefix(string(line), "func Fuzz")
			if !ok {
				continue
			}
			name = "Fuzz" + name[:strings.IndexByte(name, '(')]
			dir := "./" + filepath.ToSlash(filepath.Dir(f))
			steps = append(steps, Step{ID: name, Title: dir + " for 60 s", Limit: 4 * time.Minute,
				Argv: []string{"go", "test", "-run", "^$", "-fuzz", "^" + name + "$", "-fuzztime", "60s", dir}})
		}
	}
	return steps, nil
}
