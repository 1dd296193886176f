//go:build floors

// Command xterm is xterm.js alone in the same kind of window: it writes the file
// named by its first argument into a terminal of the given columns and rows as
// fast as xterm.js takes it, and prints "done" with the milliseconds from the
// first byte to the last one on the screen. No pipe, no protocol.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

const page = `<!doctype html><meta charset="utf-8"><title>Floor</title>
<link rel="stylesheet" href="/xterm/css/xterm.css"><div id="t" style="width:1000px;height:700px"></div>
<script src="/xterm/lib/xterm.js"></script>
<script>
addEventListener('load', async () => {
  const { cols, rows } = await window.go.main.App.Size();
  const term = new Terminal({ cols, rows, scrollback: 5000, fontFamily: 'DejaVu Sans Mono', fontSize: 13 });
  term.open(document.getElementById('t'));
  const bytes = new Uint8Array(await (await fetch('/bytes')).arrayBuffer());
  await new Promise(requestAnimationFrame);
  const began = performance.now();
  const piece = 64 * 1024;
  for (let at = 0; at < bytes.length; at += piece) {
    await new Promise(done => term.write(bytes.subarray(at, at + piece), done));
  }
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  await window.go.main.App.Done(performance.now() - began);
});
</script>`

type App struct {
	ctx        context.Context
	cols, rows int
}

type size struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

func (a *App) Size() size { return size{a.cols, a.rows} }

func (a *App) Done(ms float64) {
	fmt.Printf("done %.0f\n", ms)
	runtime.Quit(a.ctx)
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "xterm FILE COLS ROWS NODE_MODULES")
		os.Exit(2)
	}
	a := &App{}
	_, _ = fmt.Sscan(os.Args[2], &a.cols)
	_, _ = fmt.Sscan(os.Args[3], &a.rows)
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	})
	mux.Handle("/xterm/", http.StripPrefix("/xterm/", http.FileServer(http.Dir(filepath.Join(os.Args[4], "@xterm", "xterm")))))
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, os.Args[1]) })
	err := wails.Run(&options.App{
		Title: "Floor", Width: 1280, Height: 820,
		AssetServer: &assetserver.Options{Handler: mux},
		OnStartup:   func(ctx context.Context) { a.ctx = ctx },
		Bind:        []any{a},
		Linux:       &linux.Options{WebviewGpuPolicy: linux.WebviewGpuPolicyNever, ProgramName: "floor"},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
