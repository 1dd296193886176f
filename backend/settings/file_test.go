package settings

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestMain(m *testing.M) {
	if os.Getenv("SETTINGS_TEST_CHILD") != "" {
		saveForever(os.Getenv("SETTINGS_TEST_CHILD"))
		return
	}
	goleak.VerifyTestMain(m)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f := Open(Options{Path: path})
	t.Cleanup(f.Close)
	return f
}

func set(t *testing.T, f *File, path, value string) model.Settings {
	t.Helper()
	s, err := f.Set(path, json.RawMessage(value))
	if err != nil {
		t.Fatalf("set %s: %v", path, err)
	}
	return s
}

func TestDefaultsWithoutAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	f := open(t, path)
	v := f.Values()
	if v.General.Theme != "system" || v.General.Zoom != 100 || v.Terminal.Scrollback != 10000 || v.Terminal.ClipboardWrite != "never" ||
		!v.Notifications.Enabled || v.Notifications.ShowText || v.General.KeepRunning || !v.Harness("codex").On() || v.Webview.GPU != "auto" || v.Chats.SilentAfter != 120 {
		t.Errorf("%+v", v)
	}
	if s := f.Get(); len(s.Problems) != 0 || s.Path != path {
		t.Errorf("%+v", s)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("opening made a file")
	}
	if got, ok := f.Value("general.zoom"); !ok || string(got) != "100" {
		t.Errorf("%s %v", got, ok)
	}
}

// The schema and the types name the same settings.
func TestTypesCoverTheSchema(t *testing.T) {
	raw, _, problems := (&File{}).effective(map[string]any{"harnesses": map[string]any{"h": map[string]any{
		"enabled": false, "binary": "b", "args": []any{"a"}, "env": map[string]any{"A": "b"}, "envFile": "f"}}})
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	var v Values
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	_ = json.Unmarshal(raw, &a)
	_ = json.Unmarshal(back, &b)
	one, _ := json.Marshal(a)
	two, _ := json.Marshal(b)
	if string(one) != string(two) {
		t.Errorf("schema %s\ntypes  %s", one, two)
	}
}

const handWritten = `// my settings
{
	"general": {
		"zoom": 120, // bigger
		/* not sure */ "theme": "dark",
		"future": {"x": [1, 2]},
	},

	// agents
	"harnesses": {"codex": {"enabled": false}},
	"mine": "kept",
}
`

// An edit changes what it names and nothing else.
func TestSetKeepsCommentsOrderAndUnknownKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	write(t, path, handWritten)
	f := open(t, path)
	set(t, f, "general.zoom", "130")
	set(t, f, "harnesses.codex.enabled", "true")
	want := strings.Replace(strings.Replace(handWritten, "120", "130", 1), `"enabled": false`, `"enabled": true`, 1)
	if got := read(t, path); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	set(t, f, "terminal.app", `"kitty"`)
	set(t, f, "harnesses.claude-code.args", `["--verbose"]`)
	got := read(t, path)
	for _, part := range []string{"// my settings", "// bigger", "/* not sure */", `"future": {"x": [1, 2]}`, "// agents", `"mine": "kept"`, "\n\t\"terminal\": {\n\t\t\"app\": \"kitty\"\n\t}"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is lost in\n%s", part, got)
		}
	}
	v := f.Values()
	if v.Terminal.App != "kitty" || v.Harness("claude-code").Args[0] != "--verbose" || v.General.Zoom != 130 || v.General.Theme != "dark" {
		t.Errorf("%+v", v)
	}
	var unknown []string
	for _, p := range f.Get().Problems {
		unknown = append(unknown, p.Code+" "+p.Path)
	}
	if strings.Join(unknown, ", ") != "unknown_field $.general.future, unknown_field $.mine" {
		t.Errorf("%v", unknown)
	}
	// A removed value is as if it had never been written.
	before := read(t, path)
	set(t, f, "terminal.fontSize", "15")
	set(t, f, "terminal.fontSize", "null")
	if after := read(t, path); after != before {
		t.Errorf("set and removed:\n%s\nbefore:\n%s", after, before)
	}
	if read(t, path+".bak") == "" {
		t.Error("no backup")
	}
}

func TestNamesWithDotsGoByPointer(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	f := open(t, path)
	set(t, f, "/harnesses/acme.agent/enabled", "false")
	if f.Values().Harness("acme.agent").On() {
		t.Error(read(t, path))
	}
	if got := read(t, path); got != "{\n  \"harnesses\": {\n    \"acme.agent\": {\n      \"enabled\": false\n    }\n  }\n}\n" {
		t.Errorf("%q", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

func TestRefusedValuesNameTheirPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	write(t, path, `{"general": {"zoom": 1000}}`)
	f := open(t, path)
	for _, c := range []struct{ path, value, want, code string }{
		{"general.zoom", "79", "$.general.zoom", "invalid_integer"},
		{"general.theme", `"pink"`, "$.general.theme", "invalid_enum"},
		{"harnesses.codex.args", `["a", 5]`, "$.harnesses.codex.args[1]", "invalid_type"},
		{"harnesses.codex.env", `{"A B": "x"}`, "$.harnesses.codex.env.A B", "invalid_string"},
		{"harnesses.codex", `true`, "$.harnesses.codex", "invalid_type"},
		{"general..zoom", `1`, "$", "invalid_path"},
		{"general.zoom", `{`, "$.general.zoom", "invalid_type"},
	} {
		_, err := f.Set(c.path, json.RawMessage(c.value))
		var bad *InvalidError
		if !errors.As(err, &bad) || bad.Issues[0].Path != c.want || bad.Issues[0].Code != c.code {
			t.Errorf("%s = %s: %v", c.path, c.value, err)
		}
	}
	if got := read(t, path); got != `{"general": {"zoom": 1000}}` {
		t.Errorf("a refused value changed the file: %s", got)
	}
	// What was wrong before does not keep the rest from being changed.
	set(t, f, "general.theme", `"dark"`)
	s := f.Get()
	if v := f.Values(); v.General.Zoom != 100 || v.General.Theme != "dark" || len(s.Problems) != 1 || s.Problems[0].Path != "$.general.zoom" {
		t.Errorf("%+v %+v", v.General, s.Problems)
	}
}

// Case C01: a settings file of 0 bytes and a torn one give the defaults, a
// message, and a copy; they are not overwritten while nothing is set.
func TestC01BrokenFileIsKeptAside(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "half": `{"a":1`, "zeros": "\x00\x00\x00", "list": "[1]"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), FileName)
			write(t, path, content)
			f := open(t, path)
			s := f.Get()
			if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Message, path) || f.Values().General.Zoom != 100 {
				t.Fatalf("%+v", s)
			}
			if got := read(t, s.KeptAside); got != content {
				t.Errorf("kept %q", got)
			}
			if got := read(t, path); got != content {
				t.Errorf("the file became %q", got)
			}
			set(t, f, "general.zoom", "110")
			if got := read(t, s.KeptAside); got != content {
				t.Errorf("kept %q", got)
			}
			if s := f.Get(); len(s.Problems) != 0 || f.Values().General.Zoom != 110 {
				t.Errorf("after a change: %+v", s)
			}
		})
	}
}

// While running, what was in force stays when the file breaks: a harness that is
// switched off is not switched on by a typing mistake.
func TestBreakingWhileRunningChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	write(t, path, `{"harnesses": {"codex": {"enabled": false}}}`)
	f := open(t, path)
	write(t, path, `{"harnesses": {"codex": {"enabled": fal`)
	f.Changed()
	if s := f.Get(); f.Values().Harness("codex").On() || len(s.Problems) != 1 || s.KeptAside == "" {
		t.Errorf("%+v", s)
	}
	// A change begins from the last good content.
	set(t, f, "general.zoom", "90")
	if f.Values().Harness("codex").On() || f.Values().General.Zoom != 90 {
		t.Error(read(t, path))
	}
}

func TestDuplicateKeysAreReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	write(t, path, `{"general": {"zoom": 90, "zoom": 110}}`)
	f := open(t, path)
	if s := f.Get(); len(s.Problems) != 1 || s.Problems[0].Code != "duplicate" || f.Values().General.Zoom != 110 {
		t.Errorf("%+v", s)
	}
}

// Case C02: the link stays, mode and owner stay, a link that leads nowhere is
// filled at its end.
func TestC02WrittenThroughLinks(t *testing.T) {
	dir := t.TempDir()
	dot := filepath.Join(dir, "dot", "deep")
	if err := os.MkdirAll(dot, 0o755); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dot, "real.json")
	write(t, real, "{}\n")
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(real, 1234, 2345); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, FileName)
	middle := filepath.Join(dir, "dot", "middle.json")
	for link, to := range map[string]string{middle: "deep/real.json", path: middle} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	f := open(t, path)
	set(t, f, "general.zoom", "90")
	for _, link := range []string{path, middle} {
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", link)
		}
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o640 || !strings.Contains(read(t, real), "90") {
		t.Errorf("%v %v %s", info.Mode(), err, read(t, real))
	}
	if os.Getuid() == 0 {
		if uid, gid := ownerOf(info); uid != 1234 || gid != 2345 {
			t.Errorf("owner %d:%d", uid, gid)
		}
	}

	dangling := filepath.Join(dir, "dangling.json")
	if err := os.Symlink("nowhere/yet/settings.json", dangling); err != nil {
		t.Fatal(err)
	}
	g := open(t, dangling)
	if s := g.Get(); len(s.Problems) != 0 {
		t.Errorf("%+v", s.Problems)
	}
	set(t, g, "general.zoom", "80")
	if info, err := os.Lstat(dangling); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the dangling link was replaced")
	}
	if got := read(t, filepath.Join(dir, "nowhere", "yet", "settings.json")); !strings.Contains(got, "80") {
		t.Error(got)
	}

	loop := filepath.Join(dir, "loop.json")
	if err := os.Symlink("loop.json", loop); err != nil {
		t.Fatal(err)
	}
	h := open(t, loop)
	if s := h.Get(); len(s.Problems) != 1 {
		t.Errorf("%+v", s.Problems)
	}
	if _, err := h.Set("general.zoom", json.RawMessage("80")); err == nil {
		t.Error("wrote through a circle of links")
	}
}

// Changes from outside arrive by the watch: of the file, of the target of a link,
// and of the link itself.
func TestLiveReload(t *testing.T) {
	w := agentkit.NewWatcher(agentkit.WatcherOptions{})
	t.Cleanup(func() { _ = w.Close() })
	dir, other := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, FileName)
	zooms := make(chan int, 100)
	f := Open(Options{Path: path, Watch: func(dir string) Watch { return w.Watch(dir) },
		OnChange: func(_ model.Settings, v Values) { zooms <- v.General.Zoom }})
	t.Cleanup(f.Close)
	wait := func(want int) {
		t.Helper()
		for got := range zooms {
			if got == want {
				return
			}
		}
	}
	write(t, path, `{"general": {"zoom": 90}}`)
	wait(90)
	target := filepath.Join(other, "s.json")
	write(t, target, `{"general": {"zoom": 91}}`)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wait(100)
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	wait(91)
	write(t, target, `{"general": {"zoom": 92}}`)
	wait(92)
	// An own change is told once, not once more by the watch.
	set(t, f, "general.zoom", "93")
	wait(93)
	set(t, f, "general.zoom", "94")
	if got := <-zooms; got != 94 {
		t.Errorf("told %d in between", got)
	}
}
