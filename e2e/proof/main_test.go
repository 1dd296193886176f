//go:build agents && linux

package proof

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/whippletree-app/whippletree/e2e/display"
)

// dirVariable is set in the process that runs the tests and names the folder of
// the built program.
const dirVariable = "WHIPPLETREE_PROOF_DIR"

// binary is the real host program.
var binary string

// TestMain builds the host and runs the tests below a shell whose process is
// named like a terminal app: only what a person's terminal starts may answer
// approvals, open tabs and type into them.
func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		binary = filepath.Join(dir, "whippletree")
		_ = os.Unsetenv(dirVariable)
		code := m.Run()
		desktop.stop()
		os.Exit(code)
	}
	code, err := outside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func outside() (int, error) {
	dir, err := os.MkdirTemp("", "wtp")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "whippletree"), "../../backend/cmd/whippletree")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the host: %w\n%s", err, out)
	}
	sh, err := os.ReadFile("/bin/sh")
	if err != nil {
		return 1, err
	}
	terminal := filepath.Join(dir, "xterm")
	if err := os.WriteFile(terminal, sh, 0o700); err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	cmd := exec.Command(terminal, append([]string{"-c", `"$@"; exit $?`, "sh", self}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), dirVariable+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// shared is the one display of all tests, started with the first that needs it.
type shared struct {
	once    sync.Once
	dir     string
	session *display.Session
	err     error
}

var desktop shared

func (d *shared) get(t *testing.T) *display.Session {
	t.Helper()
	d.once.Do(func() {
		if d.dir, d.err = os.MkdirTemp("", "wtx"); d.err == nil {
			d.session, d.err = display.Start(d.dir)
		}
	})
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.session
}

func (d *shared) stop() {
	if d.session != nil {
		d.session.Stop()
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
}

// bound makes a child of the tests end with them, even by a crash.
func bound(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
