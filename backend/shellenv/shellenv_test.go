package shellenv_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/shellenv"
)

func write(t *testing.T, home, name, text string) {
	t.Helper()
	path := filepath.Join(home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func shell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is needed for this test: apt-get install %s", name, name)
	}
	return path
}

// Case R04: PATH of GUI apps.
func TestR04Shells(t *testing.T) {
	noise := "echo 'Welcome! FAKE=1'; printf 'name? '; read x; "
	for _, tc := range []struct{ name, shell, file, text string }{
		{"bash, banner and question", "bash", ".bashrc", noise + "export PATH=$HOME/.nvm/versions/node/v22/bin:$PATH KEY='a b\nc'"},
		{"bash, profile", "bash", ".bash_profile", "export PATH=$HOME/.nvm/versions/node/v22/bin:$PATH KEY='a b\nc'; exec 2>/dev/null"},
		{"zsh, banner and question", "zsh", ".zshrc", noise + "export PATH=$HOME/.nvm/versions/node/v22/bin:$PATH KEY='a b\nc'"},
		{"fish, list", "fish", ".config/fish/config.fish", "echo Welcome; set -gx PATH $HOME/.nvm/versions/node/v22/bin $PATH; set -gx KEY 'a b\nc'"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := t.TempDir()
			write(t, home, tc.file, tc.text)
			if tc.file == ".bashrc" { // as distributions ship it: a login bash reads no .bashrc by itself
				write(t, home, ".profile", `[ -n "$BASH" ] && . "$HOME/.bashrc"`)
			}
			r := shellenv.Import(t.Context(), shellenv.Options{
				Home: home, Base: []string{"HOME=" + home, "PATH=/usr/bin:/bin", "SHELL=" + shell(t, tc.shell), "CLAUDECODE=1", "TMUX=x"},
			})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if !slices.Contains(r.Env, "KEY=a b\nc") {
				t.Errorf("KEY is missing in %q", r.Env)
			}
			want := "PATH=" + home + "/.nvm/versions/node/v22/bin:/"
			if !slices.ContainsFunc(r.Env, func(kv string) bool { return strings.HasPrefix(kv, want) }) {
				t.Errorf("no %s... in %q", want, r.Env)
			}
			for _, kv := range r.Env {
				for _, bad := range []string{"CLAUDECODE=", "TMUX=", "WHIPPLETREE_", "FAKE="} {
					if strings.HasPrefix(kv, bad) {
						t.Errorf("%s was kept", kv)
					}
				}
			}
		})
	}
}

func TestR04SleepingShell(t *testing.T) {
	home := t.TempDir()
	pidFile := filepath.Join(home, "pid")
	write(t, home, ".zshrc", "sleep 61 & echo $! > "+pidFile+"; wait")
	began := time.Now()
	r := shellenv.Import(t.Context(), shellenv.Options{
		Home: home, Shell: shell(t, "zsh"), Base: []string{"PATH=/usr/bin:/bin", "KEEP=1"}, Limit: 2 * time.Second,
	})
	if r.Err == nil || !slices.Contains(r.Env, "KEEP=1") {
		t.Errorf("%v %q", r.Err, r.Env)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if cmd, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil && strings.Contains(string(cmd), "61") {
		t.Errorf("sleep %d was left behind", pid)
	}
}

func TestR04ShellUnset(t *testing.T) {
	r := shellenv.Import(t.Context(), shellenv.Options{
		Home: t.TempDir(), User: strconv.Itoa(os.Getuid()), Base: []string{"PATH=/usr/bin:/bin"},
	})
	if r.Err != nil || !filepath.IsAbs(r.Shell) {
		t.Errorf("%q %v", r.Shell, r.Err)
	}
	r = shellenv.Import(t.Context(), shellenv.Options{Shell: "/no/such/shell", Base: []string{"A=1"}})
	if r.Err == nil || !slices.Equal(r.Env, []string{"A=1"}) {
		t.Errorf("%v %q", r.Err, r.Env)
	}
}

func TestCleanKeepsWhatTheUserConfigured(t *testing.T) {
	got := shellenv.Clean([]string{"ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "CODEX_HOME=/x", "CODEX_THREAD_ID=1", "CLAUDECODE=1", "broken"})
	if want := []string{"ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "CODEX_HOME=/x"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
