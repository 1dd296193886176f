//go:build wailsdefect && linux

// Command deadpage shows that nothing Wails offers brings a dead web process
// back on Linux.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

const page = `<!doctype html><h1>alive</h1>`

// webProcesses lists the web processes that are children of this one.
func webProcesses() []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		s := string(b)
		open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
		if open < 0 || end < open || !strings.HasPrefix(s[open+1:end], "WebKitWebProces") {
			continue
		}
		rest := strings.Fields(s[end+1:])
		ppid, _ := strconv.Atoi(rest[1])
		pid, _ := strconv.Atoi(strings.TrimSpace(s[:open]))
		if ppid == os.Getpid() && rest[0] != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

func try(ctx context.Context) {
	pids := webProcesses()
	fmt.Println("web processes before:", len(pids))
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, s := range []struct {
		name string
		do   func()
	}{
		{"WindowReload", func() { runtime.WindowReload(ctx) }},
		{"WindowReloadApp", func() { runtime.WindowReloadApp(ctx) }},
		{"WindowExecJS", func() { runtime.WindowExecJS(ctx, "location.reload()") }},
	} {
		time.Sleep(time.Second)
		s.do()
		time.Sleep(2 * time.Second)
		n := len(webProcesses())
		fmt.Printf("kill -9, %s, 2 s later: %d web processes\n", s.name, n)
		if n > 0 {
			fmt.Println("NOT SEEN: the page came back")
			os.Exit(1)
		}
	}
	fmt.Println("SEEN: the window shows its last frame for ever; only a new process helps")
	os.Exit(0)
}

func main() {
	err := wails.Run(&options.App{
		Title: "deadpage", Width: 400, Height: 300,
		AssetServer: &assetserver.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(page))
		})},
		OnDomReady: func(ctx context.Context) { go try(ctx) },
	})
	fmt.Println("the window ended early:", err)
	os.Exit(2)
}
