//go:build window && linux

package window

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestWindowPaintsAndCloses(t *testing.T) {
	a := start(t)
	a.shot("start")
	if err := a.window.Resize(900, 640); err != nil {
		t.Fatal(err)
	}
	a.until("the page follows the window's size", "innerWidth === 900 && innerHeight === 640")
	a.shot("start-900x640")
	if err := a.window.CloseButton(); err != nil {
		t.Fatal(err)
	}
	a.eventually(patience, "the window, its web processes and the host are gone", func() bool { return len(a.processes("")) == 0 })
	b, err := os.ReadFile(filepath.Join(a.home, "w", "windows", "main.json"))
	if err != nil || !strings.Contains(string(b), `"width":900`) {
		t.Errorf("the size was not remembered: %s %v", b, err)
	}
}

func TestSecondStartRaisesTheFirst(t *testing.T) {
	a := start(t)
	if err := a.window.Minimise(); err != nil {
		t.Fatal(err)
	}
	second := a.launch()
	state, err := second.Process.Wait()
	if err == nil && state.ExitCode() != 0 {
		t.Errorf("the second start ended with %d", state.ExitCode())
	}
	a.eventually(patience, "the first window has the keyboard again", a.window.Active)
	if n := len(a.processes("whippletree-desktop")); n != 1 {
		t.Errorf("%d windows are open", n)
	}
}

func TestKilledWebProcessRecovers(t *testing.T) {
	a := start(t)
	shell, hostPid := a.shell(), a.hostPid()
	web := a.webProcess(shell)
	if web == 0 {
		t.Fatal("no web process was found")
	}
	began := time.Now()
	if err := syscall.Kill(web, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.eventually(patience, "another shell took over", func() bool {
		p := a.processes("whippletree-desktop")
		return len(p) == 1 && p[0] != shell
	})
	a.meet()
	a.recovered("the web process", began)
	if a.hostPid() != hostPid {
		t.Error("the host did not survive")
	}
	a.shot("after-web-process-kill")
}

func TestKilledShellRecovers(t *testing.T) {
	a := start(t)
	shell, hostPid := a.shell(), a.hostPid()
	began := time.Now()
	if err := syscall.Kill(shell, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.eventually(patience, "another shell took over", func() bool {
		p := a.processes("whippletree-desktop")
		return len(p) == 1 && p[0] != shell
	})
	a.meet()
	a.recovered("the shell", began)
	if a.hostPid() != hostPid {
		t.Error("the host did not survive")
	}
	a.eventually(patience, "nothing of the killed shell is left", func() bool {
		return len(a.processes("whippletree-desktop")) == 1 && len(a.processes("whippletree")) == 1
	})
}

func TestKilledHostRecovers(t *testing.T) {
	a := start(t)
	shell, hostPid := a.shell(), a.hostPid()
	// A response stays open while the new host is forked: what a child inherits
	// of it would keep the page's load open until that child ends.
	if err := a.page.Eval(`window.loads = 0; window.loading = setInterval(() => fetch('/index.html').then(r => r.text()).then(() => window.loads++), 5); 0`, nil); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := syscall.Kill(hostPid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.eventually(patience, "another host answers", func() bool { return a.hostPid() != 0 && a.hostPid() != hostPid })
	a.eventually(patience, "the window is connected to it", func() bool { return a.windows() >= 1 })
	a.recovered("the host", began)
	if a.shell() != shell {
		t.Error("the window did not survive")
	}
	if shared := sharedPipes(shell, a.hostPid()); len(shared) > 0 {
		t.Errorf("the new host holds pipes of the window: %v", shared)
	}
	loads := eval[int](a, "window.loads")
	a.until("the page still loads", fmt.Sprintf("window.loads > %d", loads))
	_ = a.page.Eval("clearInterval(window.loading)", nil)
	a.shot("after-host-kill")
}

// recovered checks the time from the kill; a loaded machine gets a second try by
// being told the number.
func (a *app) recovered(what string, began time.Time) {
	a.t.Helper()
	took := time.Since(began)
	a.t.Logf("after kill -9 of %s everything was back in %v", what, took.Round(time.Millisecond))
	if took > recovers {
		a.t.Errorf("%s took %v, more than %v", what, took, recovers)
	}
}

// windows is how many windows the host knows.
func (a *app) windows() int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := api.Call[api.HelloResult](ctx, a.client(), "host.info", api.None{})
	if err != nil {
		return 0
	}
	return r.Host.Windows
}

// sharedPipes lists the pipes that two processes both hold.
func sharedPipes(p, q int) []string {
	held := map[string]bool{}
	for _, l := range pipes(p) {
		held[l] = true
	}
	var shared []string
	for _, l := range pipes(q) {
		if held[l] {
			shared = append(shared, l)
		}
	}
	return shared
}

func pipes(pid int) []string {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	var all []string
	for _, fd := range fds {
		if l, err := os.Readlink(fd); err == nil && strings.HasPrefix(l, "pipe:") {
			all = append(all, l)
		}
	}
	return all
}

// A quit with something running asks first; No keeps everything.
func TestQuitAsksWhenATerminalIsBusy(t *testing.T) {
	a := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := a.client()
	// Only a person may open a terminal: with the window's own keys.
	a.click("Show the window", `[...document.querySelectorAll('[data-view=welcome] .foot button.primary')][0]`)
	a.key("ctrl+shift+t")
	a.until("a terminal is shown", `document.querySelector('.xterm-rows')`)
	a.click("the terminal", `document.querySelector('.xterm-screen')`)
	a.typeText("sleep 600")
	a.key("Return")
	id := a.onlyTerminal(client)
	a.eventually(patience, "the terminal counts as busy", func() bool {
		r, err := api.Call[api.HelloResult](ctx, client, "host.info", api.None{})
		return err == nil && r.Host.Terminals > 0
	})
	if err := a.window.CloseButton(); err != nil {
		t.Fatal(err)
	}
	a.sees("Quit Whippletree?")
	a.sees("1 terminal has something running")
	a.shot("quit-question")
	a.click("Stay", button("Stay"))
	a.until("the question is gone", `!document.body.innerText.includes("Quit Whippletree?")`)
	a.stillRuns(client, id)

	// A page that hangs does not keep the window open: the second press asks
	// with a dialog of the system.
	if err := a.page.Eval(`setTimeout(() => { for (;;); }, 0); 0`, nil); err != nil {
		t.Fatal(err)
	}
	a.pressCloseUntilAsked()
	a.shot("quit-question-native")
	a.key("Escape")
	a.dialog(false)
	a.stillRuns(client, id)
	a.pressCloseUntilAsked()
	client.Close()
	a.key("alt+y")
	a.eventually(patience, "everything is gone, the terminal's program too", func() bool { return len(a.processes("")) == 0 })
}

// pressCloseUntilAsked does what a person does with a window that hangs.
func (a *app) pressCloseUntilAsked() {
	a.t.Helper()
	var pressed time.Time
	a.eventually(patience, "the system's dialog is there", func() bool {
		if titles, _ := screen.Titles(); strings.Contains(titles, "Quit Whippletree?") {
			return true
		}
		if time.Since(pressed) > time.Second {
			pressed = time.Now()
			if err := a.window.CloseButton(); err != nil {
				a.t.Fatal(err)
			}
		}
		return false
	})
}

// dialog waits until the system's quit dialog is there, or gone.
func (a *app) dialog(there bool) {
	a.t.Helper()
	a.eventually(patience, fmt.Sprintf("the system's dialog is there: %v", there), func() bool {
		titles, _ := screen.Titles()
		return strings.Contains(titles, "Quit Whippletree?") == there
	})
}

func (a *app) stillRuns(client *api.Client, id string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := api.Call[api.Terminals](ctx, client, "terminals.list", api.None{})
	if err != nil || !running(list.Terminals, id) {
		a.t.Fatalf("the terminal did not survive a quit that was not confirmed: %+v %v", list, err)
	}
}

func (a *app) onlyTerminal(client *api.Client) string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := api.Call[api.Terminals](ctx, client, "terminals.list", api.None{})
	if err != nil || len(list.Terminals) != 1 {
		a.t.Fatalf("terminals: %+v %v", list, err)
	}
	return list.Terminals[0].ID
}

func running(all []model.Terminal, id string) bool {
	for _, t := range all {
		if t.ID == id {
			return t.Running
		}
	}
	return false
}

// --in-process: one process holds window and host.
func TestHostInsideTheWindow(t *testing.T) {
	a := start(t, "--in-process")
	if host, shell := a.hostPid(), a.shell(); host != shell {
		t.Errorf("the host is process %d, the window %d", host, shell)
	}
	if n := len(a.processes("whippletree")); n != 0 {
		t.Errorf("%d host processes run beside it", n)
	}
	if err := a.window.CloseButton(); err != nil {
		t.Fatal(err)
	}
	a.eventually(patience, "all of it is gone", func() bool { return len(a.processes("")) == 0 })
}
