//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/e2e/display"
)

// windowEnv is env with the display's variables.
func (l *Lab) windowEnv(home string, extra ...string) ([]string, error) {
	s, err := l.Display()
	if err != nil {
		return nil, err
	}
	return append(s.Env(env(home)), extra...), nil
}

// painted waits for the line "painted <ns>" of a window and returns how long
// after began it was.
func (r *Running) painted(began time.Time) (time.Duration, error) {
	for {
		line, err := r.Line()
		if err != nil {
			return 0, fmt.Errorf("the window ended before it painted: %w", err)
		}
		if ns, ok := strings.CutPrefix(line, "painted "); ok {
			n, err := strconv.ParseInt(ns, 10, 64)
			return time.Unix(0, n).Sub(began), err
		}
	}
}

// measurePaint: from the fork to the second animation frame after the page is
// there; ours starts its host in that time.
func measurePaint(l *Lab) []Figure {
	f := Figure{What: "window first paint, host included", Unit: "ms", Target: atMostTimes(1.3)}
	floor, err := l.Floor("window")
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	desktop, err := l.Desktop()
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	for n := range l.Runs + 1 {
		base, err := l.paint(floor)
		if err != nil {
			f.Err = err
			break
		}
		ours, err := l.paint(desktop, "--report-paint")
		if err != nil {
			f.Err = err
			break
		}
		if n > 0 { // the first one warms the caches
			f.Floor, f.Ours = append(f.Floor, ms(base)), append(f.Ours, ms(ours))
		}
	}
	return []Figure{f}
}

func (l *Lab) paint(argv ...string) (time.Duration, error) {
	home, err := l.Home()
	if err != nil {
		return 0, err
	}
	environ, err := l.windowEnv(home)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	r, err := l.Start(environ, argv...)
	if err != nil {
		return 0, err
	}
	defer func() {
		r.Stop()
		endHost(home)
	}()
	return r.painted(began)
}

// endHost ends the host of a home if one is left, so that no run disturbs the
// next.
func endHost(home string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client, err := api.NewClient(ctx, api.ClientOptions{
		Dial:  api.DialSocket(filepath.Join(home, "w", "run", "host.sock")),
		Hello: api.Hello{Client: "bench", Version: "bench"},
	})
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = api.Call[api.GoodbyeResult](ctx, client, "host.goodbye", api.Goodbye{QuitHost: true, Force: true})
}

// measureTree: the proportional memory of everything that belongs to the app,
// with a chat open, beside the tree of an empty window.
func measureTree(l *Lab) []Figure {
	f := Figure{What: "memory of the whole app (PSS), chat open", Unit: "MB", Target: atMostTimes(1.4),
		Note: "shell, web and network process and the host; agents are not counted. Each is measured alone, so that nothing is shared between the two."}
	floor, err := l.Floor("window")
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	desktop, err := l.Desktop()
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	for range l.Runs {
		base, err := l.treeOf(false, floor)
		if err != nil {
			f.Err = err
			break
		}
		ours, err := l.treeOf(true, desktop, "--report-paint")
		if err != nil {
			f.Err = err
			break
		}
		f.Floor, f.Ours = append(f.Floor, base), append(f.Ours, ours)
	}
	return []Figure{f}
}

func (l *Lab) treeOf(app bool, argv ...string) (float64, error) {
	home, err := l.Home()
	if err != nil {
		return 0, err
	}
	environ, err := l.windowEnv(home)
	if err != nil {
		return 0, err
	}
	r, err := l.Start(environ, argv...)
	if err != nil {
		return 0, err
	}
	defer func() {
		r.Stop()
		endHost(home)
	}()
	if _, err := r.painted(time.Now()); err != nil {
		return 0, err
	}
	pids := tree(r.Pid())
	if app {
		if err := l.openHello(home); err != nil {
			return 0, err
		}
		host, err := hostPid(home)
		if err != nil {
			return 0, err
		}
		time.Sleep(settle)
		pids = append(withoutTree(tree(r.Pid()), host), host)
		return mb(pss(pids...)), nil
	}
	time.Sleep(settle)
	return mb(pss(pids...)), nil
}

// withoutTree leaves out a process and all below it.
func withoutTree(pids []int, root int) []int {
	below := map[int]bool{}
	for _, p := range tree(root) {
		below[p] = true
	}
	var rest []int
	for _, p := range pids {
		if !below[p] {
			rest = append(rest, p)
		}
	}
	return rest
}

func dialHome(ctx context.Context, home string) (*api.Client, error) {
	return api.NewClient(ctx, api.ClientOptions{
		Dial:  api.DialSocket(filepath.Join(home, "w", "run", "host.sock")),
		Hello: api.Hello{Client: "bench", Version: "bench"},
	})
}

func hostPid(home string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client, err := dialHome(ctx, home)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	return client.Host().Pid, nil
}

// openHello makes a chat with one answered prompt and shows it.
func (l *Lab) openHello(home string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := dialHome(ctx, home)
	if err != nil {
		return err
	}
	defer client.Close()
	chat, err := api.Call[api.ChatResult](ctx, client, "chats.create", api.CreateChat{
		ClientID: "hello", Harness: "rehearsal", Kind: agent.KindWorkspace, Cwd: home, Prompt: "hello",
	})
	if err != nil {
		return err
	}
	_, err = api.Call[api.RaiseResult](ctx, client, "host.raise", api.Raise{Open: "chat:" + chat.Chat.ID})
	return err
}

const terminalBytes = 8 << 20

// measureTerminal: the same bytes through xterm.js alone and through a terminal
// tab of the app, from the first byte to the last one drawn.
func measureTerminal(l *Lab) []Figure {
	f := Figure{What: "terminal bytes to screen", Unit: "MB/s", Target: atLeastTimes(0.7)}
	floor, err := l.Floor("xterm")
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	desktop, err := l.inspectable()
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	file, err := l.terminalFile()
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	for range l.Runs {
		ours, cols, rows, err := l.throughApp(desktop, file)
		if err != nil {
			f.Err = err
			break
		}
		base, err := l.throughXterm(floor, file, cols, rows)
		if err != nil {
			f.Err = err
			break
		}
		f.Floor, f.Ours = append(f.Floor, base), append(f.Ours, ours)
	}
	return []Figure{f}
}

// inspectable builds the window with the inspector in it, in a folder of its own:
// the host knows our window by the name of its program and the place beside it.
func (l *Lab) inspectable() (string, error) {
	if err := os.MkdirAll(filepath.Join(l.bin, "inspect"), 0o755); err != nil {
		return "", err
	}
	if _, err := l.Build(filepath.Join("inspect", "whippletree"), "./backend/cmd/whippletree"); err != nil {
		return "", err
	}
	return l.Build(filepath.Join("inspect", "whippletree-desktop"), ".", "-tags", wailsTags+",devtools")
}

func (l *Lab) terminalFile() (string, error) {
	path := filepath.Join(l.cache, "terminal.txt")
	if st, err := os.Stat(path); err == nil && st.Size() >= terminalBytes {
		return path, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for n, i := 0, 0; n < terminalBytes; i++ {
		k, err := fmt.Fprintf(w, "\x1b[3%dm%07d\x1b[0m 0123456789 the quick brown fox jumps over the lazy dog \u2713 \u2500\u2502 %x\r\n", i%8, i, i*2654435761)
		if err != nil {
			return "", err
		}
		n += k
	}
	return path, w.Flush()
}

func (l *Lab) throughXterm(floor, file string, cols, rows int) (float64, error) {
	home, err := l.Home()
	if err != nil {
		return 0, err
	}
	environ, err := l.windowEnv(home)
	if err != nil {
		return 0, err
	}
	r, err := l.Start(environ, floor, file, strconv.Itoa(cols), strconv.Itoa(rows), filepath.Join(l.root, "frontend", "node_modules"))
	if err != nil {
		return 0, err
	}
	defer r.Stop()
	for {
		line, err := r.Line()
		if err != nil {
			return 0, fmt.Errorf("xterm.js alone ended early: %w", err)
		}
		if v, ok := strings.CutPrefix(line, "done "); ok {
			took, err := strconv.ParseFloat(v, 64)
			return float64(terminalBytes) / 1e6 / (took / 1000), err
		}
	}
}

// throughApp runs `cat file` in a terminal of the app that is shown, and times
// from the command's start to the end mark in the DOM.
func (l *Lab) throughApp(desktop, file string) (rate float64, cols, rows int, err error) {
	home, err := l.Home()
	if err != nil {
		return 0, 0, 0, err
	}
	address, err := display.FreeAddress()
	if err != nil {
		return 0, 0, 0, err
	}
	environ, err := l.windowEnv(home, "WEBKIT_INSPECTOR_HTTP_SERVER="+address)
	if err != nil {
		return 0, 0, 0, err
	}
	r, err := l.Start(environ, desktop, "--report-paint")
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() {
		r.Stop()
		endHost(home)
	}()
	if _, err := r.painted(time.Now()); err != nil {
		return 0, 0, 0, err
	}
	page, err := display.Inspect(address, 10*time.Second)
	if err != nil {
		return 0, 0, 0, err
	}
	defer page.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	client, err := dialHome(ctx, home)
	if err != nil {
		return 0, 0, 0, err
	}
	defer client.Close()
	// Only a person may open a terminal: with the window's own keys.
	window, err := l.screen.FindWindow(r.Pid(), 10*time.Second)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := l.openTerminal(ctx, page, window); err != nil {
		return 0, 0, 0, err
	}
	// The command waits for a line, so that the clock starts with the bytes.
	if err := l.screen.Type("read x; cat " + file + "; echo all-shown-\"now\""); err != nil {
		return 0, 0, 0, err
	}
	if err := l.screen.Key("Return"); err != nil {
		return 0, 0, 0, err
	}
	size, err := terminalSize(ctx, client)
	if err != nil {
		return 0, 0, 0, err
	}
	began := time.Now()
	if err := l.screen.Key("Return"); err != nil {
		return 0, 0, 0, err
	}
	if err := until(ctx, page, "all-shown-now"); err != nil {
		return 0, 0, 0, err
	}
	took := time.Since(began)
	return float64(terminalBytes) / 1e6 / took.Seconds(), size.Cols, size.Rows, nil
}

// openTerminal opens a terminal tab and puts the keyboard into it.
func (l *Lab) openTerminal(ctx context.Context, page *display.Inspector, window *display.Window) error {
	if err := window.Focus(); err != nil {
		return err
	}
	// The first start shows its welcome once the lists are there.
	left := `(() => { const b = document.querySelector('[data-view=welcome] .foot button.primary'); b?.click(); return !!b })()`
	if err := untilTrue(ctx, page, left); err != nil {
		return err
	}
	if err := l.screen.Key("ctrl+shift+t"); err != nil {
		return err
	}
	return until(ctx, page, "$", "#")
}

func terminalSize(ctx context.Context, client *api.Client) (model.Terminal, error) {
	all, err := api.Call[api.Terminals](ctx, client, "terminals.list", api.None{})
	if err != nil {
		return model.Terminal{}, err
	}
	if len(all.Terminals) != 1 {
		return model.Terminal{}, fmt.Errorf("%d terminals are open", len(all.Terminals))
	}
	return all.Terminals[0], nil
}

// until waits until the rows of the shown terminal hold one of the texts.
func until(ctx context.Context, page *display.Inspector, texts ...string) error {
	list, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	return untilTrue(ctx, page, fmt.Sprintf(`[...document.querySelectorAll('.xterm-rows > div')].some(r => %s.some(t => r.textContent.includes(t)))`, list))
}

// untilTrue waits until an expression on the page is true.
func untilTrue(ctx context.Context, page *display.Inspector, js string) error {
	for {
		var found bool
		if err := page.Eval(js, &found); err != nil {
			return err
		}
		if found {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("never true on the page: %s", js)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
