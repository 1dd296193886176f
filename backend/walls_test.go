package backend_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The walls between the rooms (ARCHITECTURE, "Rooms"). Every Go file counts,
// whatever its build tags.

const module = "github.com/whippletree-app/whippletree/"

// file is one Go file of ours.
type file struct {
	path    string // from the top of the repository, with slashes
	dir     string
	test    bool
	imports []string // of ours, without the module's name
	tree    *ast.File
	set     *token.FileSet
}

func sources(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && p != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go"):
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(rel), set: token.NewFileSet(), test: strings.HasSuffix(p, "_test.go")}
		f.dir = path.Dir(f.path)
		f.tree, err = parser.ParseFile(f.set, p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, i := range f.tree.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			if ours, ok := strings.CutPrefix(name, module); ok {
				f.imports = append(f.imports, ours)
			}
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

// below reports whether p is the folder or lies in it.
func below(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

func belowAny(p string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return below(p, f) })
}

func TestWallContractAndModel(t *testing.T) {
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		for _, i := range f.imports {
			switch {
			case f.dir == "backend/agent":
				t.Errorf("%s imports %s: the contract imports nothing of ours", f.path, i)
			case f.dir == "backend/model" && i != "backend/agent":
				t.Errorf("%s imports %s: model imports only agent", f.path, i)
			case f.dir == "backend/processes":
				t.Errorf("%s imports %s: processes imports nothing of ours", f.path, i)
			}
		}
	}
}

// shared are the harness folders that others may build on, and who may.
var shared = map[string]func(harness string) bool{
	"acp":      func(string) bool { return true },
	"opencode": func(h string) bool { return h == "kilo" },
	"pi":       func(h string) bool { return h == "omp" },
}

// A harness knows the contract and the kit. It may also use processes: the kit
// hands out its types (Identity), and an interface of its own for them would
// only rename them.
func TestWallHarnesses(t *testing.T) {
	allowed := []string{"backend/agent", "backend/agentkit", "backend/processes"}
	for _, f := range sources(t) {
		parts := strings.Split(f.dir, "/")
		if parts[0] != "extensions" || len(parts) < 2 || parts[1] == "sdk" || parts[1] == "examples" {
			continue
		}
		own := "extensions/" + parts[1]
		for _, i := range f.imports {
			if below(i, own) || slices.Contains(allowed, i) {
				continue
			}
			if f.test && (belowAny(i, "backend/agent/agenttest", "e2e") || belowAny(i, allowed...)) {
				continue
			}
			if other, ok := strings.CutPrefix(i, "extensions/"); ok {
				name, _, _ := strings.Cut(other, "/")
				if may := shared[name]; may != nil && may(parts[1]) {
					continue
				}
			}
			t.Errorf("%s imports %s: a harness imports only agent, agentkit and processes", f.path, i)
		}
	}
}

// Only the composition root and the programs know a harness.
func TestWallNobodyElseKnowsAHarness(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || belowAny(f.dir, "extensions", "backend/host", "backend/cmd", "build/dev/agentsdoc", "e2e") {
			continue
		}
		for _, i := range f.imports {
			if below(i, "extensions") {
				t.Errorf("%s imports %s: only the host knows the harnesses", f.path, i)
			}
		}
	}
}

// Domain rooms do not know what stands above them.
func TestWallNobodyLooksUp(t *testing.T) {
	up := []string{"backend/host", "backend/cmd", "backend/shell"}
	for _, f := range sources(t) {
		if !below(f.dir, "backend") || belowAny(f.dir, up...) || f.test {
			continue
		}
		for _, i := range f.imports {
			if belowAny(i, up...) {
				t.Errorf("%s imports %s, which stands above it", f.path, i)
			}
			if belowAny(f.dir, "backend/chats", "backend/sessions", "backend/handoff", "backend/terminals", "backend/store") && i == "backend/api" {
				t.Errorf("%s imports %s: domain rooms do not know the API", f.path, i)
			}
		}
	}
}

// Roots are passed in: only programs ask where the user's home is.
func TestWallNobodyReadsHome(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || f.dir == "." || belowAny(f.dir, "backend/cmd", "e2e", "build", "docs") {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := pkg.Name + "." + sel.Sel.Name
			reads := name == "os.UserHomeDir" || name == "os.UserConfigDir" || name == "os.UserCacheDir"
			if (name == "os.Getenv" || name == "os.LookupEnv") && len(call.Args) == 1 {
				if lit, ok := call.Args[0].(*ast.BasicLit); ok {
					v, _ := strconv.Unquote(lit.Value)
					reads = v == "HOME" || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "WHIPPLETREE_")
				}
			}
			if reads {
				t.Errorf("%s: %s: roots are passed in", f.set.Position(call.Pos()), name)
			}
			return true
		})
	}
}

// namesHarness are files outside extensions that may hold the id of a harness,
// with the reason.
var namesHarness = map[string]string{
	"backend/cmd/whippletree": "`whippletree rehearsal` is a subcommand",
	"backend/host/editor.go":  "an editor's program has the name of its maker's agent",
}

// There is no switch over harnesses outside extensions: no literal of an id.
func TestWallNoHarnessIsNamed(t *testing.T) {
	ids := []string{
		"claude-code", "codex", "opencode", "kilo", "pi", "omp", "gemini", "copilot", "qwen", "kimi", "droid",
		"cursor", "hermes", "rehearsal",
	}
	manifests, err := filepath.Glob("../extensions/*/manifest.json")
	if err != nil || len(manifests) == 0 {
		t.Fatal("no manifests were found:", err)
	}
	for _, f := range sources(t) {
		if f.test || belowAny(f.dir, "extensions", "e2e", "build", "docs") || namesHarness[f.dir] != "" || namesHarness[f.path] != "" {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if v, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(ids, v) {
					t.Errorf("%s names the harness %q", f.set.Position(lit.Pos()), v)
				}
			}
			return true
		})
	}
}

// Every wall above stands on paths: a renamed room must not make it vacuous.
func TestWallRoomsExist(t *testing.T) {
	for _, room := range []string{"agent", "agentkit", "model", "processes", "chats", "api", "store", "terminals", "shell"} {
		if _, err := os.Stat(room); err != nil {
			t.Error(err)
		}
	}
}
