//go:build floors

// Command window is an empty Wails window with the options of ours: the floor of
// the first paint and of memory. It prints "painted" and the time in nanoseconds
// of the epoch after the second animation frame, then stays open.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

const page = `<!doctype html><meta charset="utf-8"><title>Floor</title><h1>Hello</h1>`

type App struct{}

// Painted is called by the page.
func (*App) Painted() { fmt.Println("painted", time.Now().UnixNano()) }

func main() {
	err := wails.Run(&options.App{
		Title: "Floor", Width: 1280, Height: 820,
		AssetServer: &assetserver.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(page))
		})},
		OnDomReady: func(ctx context.Context) {
			runtime.WindowExecJS(ctx, "requestAnimationFrame(()=>requestAnimationFrame(()=>window.go.main.App.Painted()))")
		},
		Bind:  []any{&App{}},
		Linux: &linux.Options{WebviewGpuPolicy: linux.WebviewGpuPolicyNever, ProgramName: "floor"},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
