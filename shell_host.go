package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/whippletree-app/whippletree/backend/api"
)

// followHost acts on what the host tells windows, until the client ends.
func (a *App) followHost(ctx context.Context, client *api.Client) {
	if a.args.Open != "" {
		_, _ = api.Call[api.RaiseResult](ctx, client, "host.raise", api.Raise{Window: a.args.Window, Open: a.args.Open})
	}
	// The subscription ends with the client.
	if _, err := client.Subscribe(ctx, api.TopicHost, api.Subscriber{Event: a.hostEvent}); err != nil {
		a.log.Warn("no events from the host", "err", err)
	}
}

func (a *App) hostEvent(e api.Event) {
	if e.Type != api.EventRaise {
		return
	}
	var r api.Raise
	if json.Unmarshal(e.Data, &r) != nil {
		return
	}
	if r.Window == "" || r.Window == a.args.Window {
		go a.show()
	}
}

// raise asks a running host to show this start's window and link.
func (a *App) raise(ctx context.Context) error {
	var last error
	for ctx.Err() == nil {
		client, err := api.NewClient(ctx, api.ClientOptions{
			Dial: a.connect, Hello: api.Hello{Client: "cli", Version: version},
		})
		if err == nil {
			r, err := api.Call[api.RaiseResult](ctx, client, "host.raise", api.Raise{Window: a.args.Window, Open: a.args.Open})
			client.Close()
			if err == nil && r.Windows > 0 {
				return nil
			}
			last = err
			if err == nil {
				last = errNoWindow
			}
		} else {
			last = err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return last
}

// mayQuit asks the host whether something would be lost and, if so, the person:
// in the page, whose dialog then quits by itself, and natively when the close
// button is pressed again, because a page that hangs must not keep the app open.
// Only the main window ends the host; a popped-out one just closes.
func (a *App) mayQuit(ctx context.Context) bool {
	client := a.client.Load()
	if client == nil || a.args.Window != "main" {
		return true
	}
	r, err := a.quitHost(ctx, client, false)
	if err != nil || r.Ending {
		// A host that does not answer keeps nobody here.
		return true
	}
	if a.page.Connected() && a.asked.CompareAndSwap(false, true) {
		runtime.EventsEmit(a.ctx, "quit:ask", map[string]int{"runningTurns": r.RunningTurns, "terminals": r.Terminals})
		// A page that works takes the question and may be asked again.
		runtime.WindowExecJS(a.ctx, "window.go.main.App.Asked()")
		return false
	}
	answer, err := runtime.MessageDialog(ctx, runtime.MessageDialogOptions{
		Type: runtime.QuestionDialog, Title: "Quit Whippletree?", Message: quitQuestion(r.RunningTurns, r.Terminals),
		Buttons: []string{"Quit", "Cancel"}, DefaultButton: "Cancel", CancelButton: "Cancel",
	})
	if err != nil || answer != "Yes" && answer != "Quit" {
		a.asked.Store(false)
		return false
	}
	_, _ = a.quitHost(ctx, client, true)
	return true
}

// quitHost asks the host to end, unless it is to keep running: then nothing is
// lost and it says so.
func (a *App) quitHost(ctx context.Context, client *api.Client, force bool) (api.GoodbyeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	info, err := api.Call[api.HelloResult](ctx, client, "host.info", api.None{})
	if err != nil {
		return api.GoodbyeResult{}, err
	}
	if info.Host.KeepRunning {
		return api.GoodbyeResult{Ending: true}, nil
	}
	return api.Call[api.GoodbyeResult](ctx, client, "host.goodbye", api.Goodbye{QuitHost: true, Force: force})
}

// quitQuestion says what ends with the app.
func quitQuestion(turns, terminals int) string {
	var what string
	switch {
	case turns > 0 && terminals > 0:
		what = fmt.Sprintf("%s and %s", plural(turns, "agent is working", "agents are working"),
			plural(terminals, "terminal has something running", "terminals have something running"))
	case turns > 0:
		what = plural(turns, "agent is working", "agents are working")
	default:
		what = plural(terminals, "terminal has something running", "terminals have something running")
	}
	it := "it"
	if turns+terminals > 1 {
		it = "them"
	}
	return what + ". Quitting stops " + it + ".\n\n" +
		"To let everything go on without a window, switch on \u201cKeep running in the background\u201d in Settings."
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// goodbye gives the lease back. A window that starts anew keeps it.
func (a *App) goodbye() {
	client := a.client.Load()
	if client == nil || a.again.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if a.args.Window == "main" {
		// The page's own lease would keep the host for its grace.
		_, _ = a.quitHost(ctx, client, false)
	}
	_, _ = api.Call[api.GoodbyeResult](ctx, client, "host.goodbye", api.Goodbye{})
	client.Close()
}

// quit ends the window without a question: the system or a signal asks.
func (a *App) quit() {
	a.leaving.Store(true)
	a.page.Stop()
	select {
	case <-a.started:
		runtime.Quit(a.ctx)
	case <-time.After(5 * time.Second):
	}
}
