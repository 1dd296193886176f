package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/wailsapp/wails/v2/pkg/menu"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/options/mac"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/shell"
	"github.com/whippletree-app/whippletree/frontend"
)

// programName is the id of the .desktop file and the bundle's name.
const programName = "whippletree-desktop"

const (
	platform = goruntime.GOOS
	isMac    = platform == "darwin"
)

// options of the one Wails window.
func (a *App) options() *options.App {
	state := options.Normal
	if a.state.Maximised {
		state = options.Maximised
	}
	return &options.App{
		Title:            "Whippletree",
		Width:            a.state.Width,
		Height:           a.state.Height,
		MinWidth:         shell.MinWidth,
		MinHeight:        shell.MinHeight,
		WindowStartState: state,
		// The canvas of the dark and light theme is the page's; this is what
		// shows before the first paint.
		BackgroundColour: options.NewRGB(24, 24, 27),
		AssetServer: &assetserver.Options{
			Assets:     frontend.Assets(),
			Middleware: pageHeaders,
		},
		Menu:          a.menu(),
		OnStartup:     a.startup,
		OnDomReady:    a.domReady,
		OnBeforeClose: a.beforeClose,
		OnShutdown:    func(context.Context) { a.close() },
		Bind:          []any{a},
		Linux: &linux.Options{
			WebviewGpuPolicy: linux.WebviewGpuPolicyNever,
			ProgramName:      programName,
			Icon:             icon,
		},
		Mac: &mac.Options{
			OnUrlOpen: a.openLink,
		},
		// A file dropped on the page must not replace the page.
		DragAndDrop: &options.DragAndDrop{EnableFileDrop: true, DisableWebViewDrop: true},
	}
}

// menu is needed on macOS, where the Edit role makes the copy and paste keys
// work and Quit its key. On Linux the keys are the page's.
func (a *App) menu() *menu.Menu {
	if !isMac {
		return nil
	}
	return menu.NewMenuFromItems(menu.AppMenu(), menu.EditMenu(), menu.WindowMenu())
}

// prepareDisplay sets what WebKit and GDK read at their start. The host was
// forked before, so that agents and terminals do not inherit it.
func (a *App) prepareDisplay() {
	if isMac {
		return
	}
	_, err := os.Stat("/sys/module/nvidia")
	for k, v := range shell.WebKitEnv(os.LookupEnv, shell.Display{
		Nvidia: err == nil, SafeGPU: a.args.SafeGPU, Backend: a.state.Backend,
	}) {
		_ = os.Setenv(k, v)
	}
}

// environment is this process's own, as the host needs it to start the window
// again: it may have been started without a display.
func environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	return env
}

// hostProgram finds `whippletree` beside this executable.
func hostProgram(self string) (string, error) {
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path := filepath.Join(filepath.Dir(self), "whippletree")
	if st, err := os.Stat(path); err != nil || st.IsDir() {
		return "", fmt.Errorf("the host program %s is missing: install Whippletree again, or run make build", path)
	}
	return path, nil
}

// beforeClose decides whether the window may close; true keeps it open.
func (a *App) beforeClose(ctx context.Context) bool {
	a.saveState(ctx)
	if a.leaving.Load() || a.again.Load() {
		return false
	}
	if !a.asking.CompareAndSwap(false, true) {
		return true // the question is open already
	}
	defer a.asking.Store(false)
	if !a.mayQuit(ctx) {
		return true
	}
	a.leaving.Store(true)
	a.page.Stop()
	return false
}

// saveState remembers where the window stands.
func (a *App) saveState(ctx context.Context) {
	s := a.state
	s.Maximised = runtime.WindowIsMaximised(ctx)
	if !s.Maximised && !runtime.WindowIsMinimised(ctx) && !runtime.WindowIsFullscreen(ctx) {
		s.Width, s.Height = runtime.WindowGetSize(ctx)
		s.X, s.Y = runtime.WindowGetPosition(ctx)
		s.Placed = true
	}
	if err := shell.SaveWindowState(a.windows, a.args.Window, s); err != nil {
		a.log.Warn("the window's place was not saved", "err", err)
	}
}

// show brings the window to the front.
func (a *App) show() {
	select {
	case <-a.started:
	default:
		return
	}
	runtime.WindowUnminimise(a.ctx)
	runtime.WindowShow(a.ctx)
	// Some window managers only raise a window that changes its layer.
	runtime.WindowSetAlwaysOnTop(a.ctx, true)
	runtime.WindowSetAlwaysOnTop(a.ctx, false)
}

// openLink shows what a whippletree: link of the system names.
func (a *App) openLink(link string) {
	target, ok := shell.AppLink(link)
	if !ok {
		a.log.Warn("a link was refused")
		return
	}
	a.args.Open = target
	if client := a.client.Load(); client != nil {
		_, _ = api.Call[api.RaiseResult](context.Background(), client, "host.raise", api.Raise{Window: a.args.Window, Open: target})
	}
}

var errNoWindow = errors.New("no window answered")
