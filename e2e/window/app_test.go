//go:build window && linux

package window

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/host"
	"github.com/whippletree-app/whippletree/e2e/display"
)

const tags = "desktop,production,webkit2_41,devtools"

var (
	screen  *display.Session
	bin     string // folder of the built programs
	outPath string // folder of pictures and logs
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	root, err := filepath.Abs("../..")
	if err != nil {
		return broken(err)
	}
	if _, err := os.Stat(filepath.Join(root, "frontend", "dist", "index.html")); err != nil {
		return broken(fmt.Errorf("the front end is not built: make frontend"))
	}
	bin = filepath.Join(root, "build", "cache", "window")
	outPath = filepath.Join(root, "e2e", "out", "window")
	if err := build(root, "whippletree", "./backend/cmd/whippletree", "CGO_ENABLED=0", ""); err != nil {
		return broken(err)
	}
	if err := build(root, "whippletree-desktop", ".", "CGO_ENABLED=1", tags); err != nil {
		return broken(err)
	}
	tmp, err := os.MkdirTemp("", "wtd")
	if err != nil {
		return broken(err)
	}
	defer os.RemoveAll(tmp)
	screen, err = display.Start(tmp)
	if err != nil {
		return broken(err)
	}
	defer screen.Stop()
	return m.Run()
}

func broken(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func build(root, name, pkg, env, tags string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-w -s", "-tags", tags, "-o", filepath.Join(bin, name), pkg)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	return nil
}

// recovers is how long anything that was killed may take to be back.
const recovers = 3 * time.Second

// patience is how long anything else may take on a loaded machine.
const patience = 20 * time.Second

// app is one started window with its host.
type app struct {
	t         *testing.T
	home      string // of the person
	inspector string
	first     *exec.Cmd
	page      *display.Inspector
	window    *display.Window
}

// start opens the app in a home of its own and waits for its page.
func start(t *testing.T, args ...string) *app {
	t.Helper()
	home, err := os.MkdirTemp("", "wth")
	if err != nil {
		t.Fatal(err)
	}
	address, err := display.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	a := &app{t: t, home: home, inspector: address}
	t.Cleanup(a.cleanup)
	a.first = a.launch(args...)
	a.meet()
	return a
}

func (a *app) env() []string {
	base := []string{
		"HOME=" + a.home, "WHIPPLETREE_HOME=" + filepath.Join(a.home, "w"), "PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash",
		"LANG=C.UTF-8", "TMPDIR=" + os.TempDir(), "WEBKIT_INSPECTOR_HTTP_SERVER=" + a.inspector,
	}
	return screen.Env(base)
}

// launch starts the desktop binary once more for this home.
func (a *app) launch(args ...string) *exec.Cmd {
	a.t.Helper()
	log, err := os.OpenFile(filepath.Join(a.home, "desktop.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		a.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(bin, "whippletree-desktop"), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = a.env(), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	return cmd
}

// meet connects to the page and the window of the shell that runs now.
func (a *app) meet() {
	a.t.Helper()
	pid := a.shell()
	page, err := display.Inspect(a.inspector, patience)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.page != nil {
		a.page.Close()
	}
	a.page = page
	a.window, err = screen.FindWindow(pid, patience)
	if err != nil {
		a.t.Fatal(err)
	}
	a.until("the page shows the app", `document.querySelector('#app, main') !== null && document.body.innerText.trim().length > 0`)
}

// shell is the pid of the living desktop process of this home.
func (a *app) shell() int {
	a.t.Helper()
	var pid int
	a.eventually(patience, "a window process lives", func() bool {
		pid = 0
		for _, p := range a.processes("whippletree-desktop") {
			pid = p
		}
		return pid != 0
	})
	return pid
}

// processes lists the living processes of this home whose program has the name;
// "" lists all. They are known by the home in their environment.
func (a *app) processes(name string) []int {
	mark := []byte("WHIPPLETREE_HOME=" + filepath.Join(a.home, "w") + "\x00")
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, d := range dirs {
		env, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil || !bytes.Contains(append(env, 0), mark) {
			continue
		}
		exe, _ := os.Readlink(filepath.Join(d, "exe"))
		if name != "" && filepath.Base(exe) != name {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(d))
		pids = append(pids, pid)
	}
	return pids
}

// webProcess is the pid of the web process of a shell.
func (a *app) webProcess(shell int) int {
	for _, p := range a.processes("") {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if err != nil || !strings.Contains(string(b), "(WebKitWebProces") {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if f[1] == strconv.Itoa(shell) {
			return p
		}
	}
	return 0
}

// client is a connection of the test to the host, without a lease.
func (a *app) client() *api.Client {
	a.t.Helper()
	var client *api.Client
	a.eventually(patience, "the host answers", func() bool {
		running, ok := host.FindRunning(filepath.Join(a.home, "w"))
		if !ok {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		c, err := api.NewClient(ctx, api.ClientOptions{
			Dial: api.DialSocket(running.Socket), Hello: api.Hello{Client: "test", Version: "test"},
		})
		client = c
		return err == nil
	})
	a.t.Cleanup(client.Close)
	return client
}

// hostPid is the pid of the host that holds the home's lock, or 0.
func (a *app) hostPid() int {
	r, ok := host.FindRunning(filepath.Join(a.home, "w"))
	if !ok {
		return 0
	}
	return r.Pid
}

// eventually polls until it holds.
func (a *app) eventually(within time.Duration, what string, holds func() bool) time.Duration {
	a.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > within {
			_ = screen.Screenshot(filepath.Join(outPath, "failed-"+a.t.Name()+".png"))
			a.t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// until waits until an expression on the page is true.
func (a *app) until(what, js string) {
	a.t.Helper()
	var last error
	a.eventually(patience, what, func() bool {
		var ok bool
		last = a.page.Eval("!!("+js+")", &ok)
		return last == nil && ok
	})
}

// eval returns the value of an expression on the page.
func eval[T any](a *app, js string) T {
	a.t.Helper()
	var v T
	if err := a.page.Eval(js, &v); err != nil {
		a.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// shot takes a picture for a person to look at.
func (a *app) shot(name string) {
	a.t.Helper()
	if err := screen.Screenshot(filepath.Join(outPath, name+".png")); err != nil {
		a.t.Error(err)
	}
}

// click presses the real mouse on the first element that find yields.
func (a *app) click(what, find string) {
	a.t.Helper()
	var p struct{ X, Y float64 }
	js := fmt.Sprintf(`(() => { const e = %s; if (!e) return null; e.scrollIntoView({block: 'nearest'});
		const r = e.getBoundingClientRect(); return r.width ? {X: r.x + r.width / 2, Y: r.y + r.height / 2} : null })()`, find)
	a.eventually(patience, what+" is there to be clicked", func() bool {
		p.X = 0
		return a.page.Eval(js, &p) == nil && p.X > 0
	})
	if err := a.window.Click(int(p.X), int(p.Y)); err != nil {
		a.t.Fatal(err)
	}
}

// button finds a visible button by the start of its text or label.
func button(label string) string {
	q, _ := json.Marshal(label)
	return fmt.Sprintf(`[...document.querySelectorAll('button, [role=button], [role=option], [role=tab], [role=menuitem]')].find(b =>
		((b.innerText || '').trim().startsWith(%s) || (b.getAttribute('aria-label') || '').startsWith(%s)) && b.getClientRects().length && !b.disabled)`, q, q)
}

func (a *app) typeText(s string) {
	a.t.Helper()
	if err := screen.Type(s); err != nil {
		a.t.Fatal(err)
	}
}

func (a *app) key(keys ...string) {
	a.t.Helper()
	if err := screen.Key(keys...); err != nil {
		a.t.Fatal(err)
	}
}

// sees waits until a text is visible on the page.
func (a *app) sees(text string) {
	a.t.Helper()
	q, _ := json.Marshal(text)
	a.until("the page shows "+text, fmt.Sprintf("document.body.innerText.includes(%s)", q))
}

// cleanup ends whatever is left; a test that wants to see that nothing is left
// looks before.
func (a *app) cleanup() {
	if a.page != nil {
		a.page.Close()
	}
	if a.t.Failed() {
		b, _ := os.ReadFile(filepath.Join(a.home, "desktop.log"))
		a.t.Logf("desktop.log:\n%s", b)
		e, _ := os.ReadFile(filepath.Join(a.home, "w", "logs", "host.err"))
		a.t.Logf("host.err:\n%s", e)
		l, _ := os.ReadFile(filepath.Join(a.home, "w", "logs", "host.log"))
		a.t.Logf("host.log:\n%s", l[max(0, len(l)-4000):])
	}
	// The host first, or it would start the window again.
	for _, name := range []string{"whippletree", ""} {
		for _, p := range a.processes(name) {
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
	}
	_ = os.RemoveAll(a.home)
}
