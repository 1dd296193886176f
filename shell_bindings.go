package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/shell"
)

// Endpoint is where the page finds the host.
type Endpoint struct {
	URL    string `json:"url"`
	Token  string `json:"token"`
	Window string `json:"window"`
	Open   string `json:"open,omitempty"` // what to show first
}

// Endpoint tells the page its WebSocket and the token of this launch.
func (a *App) Endpoint() Endpoint {
	return Endpoint{URL: a.proxy.WebSocketURL(), Token: a.proxy.Token(), Window: a.args.Window, Open: a.args.Open}
}

// OpenURL opens a web or mail address outside.
func (a *App) OpenURL(raw string) error {
	link, err := shell.OutsideLink(raw)
	if err != nil {
		return err
	}
	// The browser is a child of this process on Linux.
	if err := shell.SealDescriptors(); err != nil {
		return err
	}
	runtime.BrowserOpenURL(a.ctx, link)
	return nil
}

// PickFolder is the system's folder dialog; "" when it was closed.
func (a *App) PickFolder(start string) (string, error) {
	return runtime.OpenDirectoryDialog(a.ctx, runtime.OpenDialogOptions{
		Title: "Choose a folder", DefaultDirectory: start, CanCreateDirectories: true,
	})
}

// PickFiles is the system's file dialog; empty when it was closed.
func (a *App) PickFiles(start string) ([]string, error) {
	return runtime.OpenMultipleFilesDialog(a.ctx, runtime.OpenDialogOptions{Title: "Attach files", DefaultDirectory: start})
}

// SaveFile is the system's dialog for a new file; "" when it was closed.
func (a *App) SaveFile(name string) (string, error) {
	return runtime.SaveFileDialog(a.ctx, runtime.SaveDialogOptions{DefaultFilename: name, CanCreateDirectories: true})
}

const longestTitle = 200

// SetTitle names the window. Titles come from sessions: no control characters.
func (a *App) SetTitle(title string) {
	title = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, title)
	if r := []rune(title); len(r) > longestTitle {
		title = string(r[:longestTitle])
	}
	runtime.WindowSetTitle(a.ctx, title)
}

// answerNotifications brings the window up at what a clicked notification was
// about. The page sends them itself, with {open: "chat:ID"} or "session:...".
func (a *App) answerNotifications(ctx context.Context) {
	runtime.OnNotificationResponse(ctx, func(r runtime.NotificationResult) {
		open, ok := r.Response.UserInfo["open"].(string)
		if r.Error != nil || !ok {
			return
		}
		a.Show()
		runtime.EventsEmit(ctx, "notification:open", open)
	})
}

// domReady expects the page to connect from now on, and asks it for a sign after
// its first two animation frames.
func (a *App) domReady(ctx context.Context) {
	a.page.Loaded()
	if a.args.ReportPaint {
		runtime.WindowExecJS(ctx, "requestAnimationFrame(()=>requestAnimationFrame(()=>window.go.main.App.Painted()))")
	}
}

// Painted is called after the first animation frames with --report-paint.
func (a *App) Painted() {
	if a.args.ReportPaint {
		fmt.Println("painted", time.Now().UnixNano())
	}
}

// Asked is the page's sign that it took the question whether to quit.
func (a *App) Asked() { a.asked.Store(false) }

// Show brings the window to the front.
func (a *App) Show() { a.show() }

// Quit asks like the close button does.
func (a *App) Quit() { runtime.Quit(a.ctx) }

// Platform is darwin or linux: the keyboard table needs it.
func (a *App) Platform() string { return platform }

// pageHeaders puts the content policy on the page.
func pageHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.Headers(w.Header())
		next.ServeHTTP(w, r)
	})
}
