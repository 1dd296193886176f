package claudecode

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func TestOptionsBecomeFlagsAndPrivateSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for text, want := range map[string]struct {
		argv     []string
		settings string
	}{
		``:   {},
		`{}`: {},
		`{"allowedTools":["Bash(git log:*)","Read"],"additionalDirectories":["/a"]}`: {argv: []string{"--allowedTools", "Bash(git log:*)", "Read", "--add-dir", "/a"}},
		`{"disallowedTools":["WebFetch"],"permissions":{"deny":["Read(./.env)"]},"sandbox":{"enabled":true,"network":{"allowedDomains":["example.org"]}}}`: {
			argv:     []string{"--disallowedTools", "WebFetch", "--settings"},
			settings: `{"permissions":{"deny":["Read(./.env)"]},"sandbox":{"enabled":true,"network":{"allowedDomains":["example.org"]}}}`,
		},
	} {
		o, err := readOptions(json.RawMessage(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		argv, file, err := o.args(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want.settings != "" {
			want.argv = append(want.argv, file)
			data, err := os.ReadFile(file)
			if err != nil || string(data) != want.settings {
				t.Errorf("%s: settings %s %v", text, data, err)
			}
			if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%v %v", st.Mode(), err)
			}
		}
		if !slices.Equal(argv, want.argv) {
			t.Errorf("%s: %q", text, argv)
		}
	}
}

func TestOptionsAreStrict(t *testing.T) {
	for bad, want := range map[string]string{
		`{"permissionMode":"bypassPermissions"}`:                                    "$.options.permissionMode is not a known name",
		`{"AllowedTools":["Bash"]}`:                                                 "$.options.AllowedTools is not a known name",
		`{"allowedTools":"Bash"}`:                                                   "$.options.allowedTools got string, want array",
		`{"allowedTools":["Read","--dangerously-skip-permissions"]}`:                "$.options.allowedTools[1] ",
		`{"additionalDirectories":["a"]}`:                                           "$.options.additionalDirectories[0] ",
		`{"disallowedTools":[""]}`:                                                  "$.options.disallowedTools[0] ",
		`{"permissions":{"defaultMode":"bypassPermissions"}}`:                       "$.options.permissions.defaultMode is not a known name",
		`{"sandbox":{"enabled":"yes","network":{"allowedDomains":[1]}}}`:            "$.options.sandbox.enabled got string, want boolean; $.options.sandbox.network.allowedDomains[0] got number, want string",
		`{"sandbox":{"network":{"httpProxyPort":1}}}`:                               "$.options.sandbox.network.httpProxyPort is not a known name",
		`{"sandbox":{"enabled":true,"enabled":false}}`:                              "$.options.sandbox.enabled stands twice",
		`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"x"}]}]}}`: "$.options.hooks is not a known name",
		`[]`:   "$.options got array, want object",
		`{`:    "$.options is not JSON",
		`{} 1`: "$.options is not JSON",
	} {
		if _, err := readOptions(json.RawMessage(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
		if (&provider{}).CheckOptions(json.RawMessage(bad)) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// The schema and the type that reads what it let through name the same things.
func TestOptionsSchemaNamesWhatIsRead(t *testing.T) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal((&provider{}).OptionsSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[options]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			read = append(read, name)
		}
	}
	slices.Sort(read)
	if named := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(read, named) {
		t.Errorf("read %v, named %v", read, named)
	}
}

func TestRealOptionsReachTheAgent(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, func(r *agent.OpenRequest) {
		r.Options = json.RawMessage(`{"allowedTools":["Bash"],"disallowedTools":["WebFetch"],"additionalDirectories":["` + l.home + `"]}`)
	})
	l.completed(chat, "scenario:bash-allow")
	if len(rec.approvals) != 0 {
		t.Errorf("asked: %+v", rec.approvals)
	}
	if tools := l.server.Turns()[0].Tools; slices.Contains(tools, "WebFetch") || !slices.Contains(tools, "Bash") {
		t.Errorf("tools: %v", tools)
	}
}
