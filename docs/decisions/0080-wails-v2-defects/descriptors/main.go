//go:build wailsdefect

// Command descriptors shows that a child forked while a response is open keeps
// that response open: the page's fetch ends when the child does.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"

	"github.com/whippletree-app/whippletree/backend/shell"
)

const page = `<!doctype html><script>
addEventListener('load', async () => {
  for (const path of ['/as-is', '/sealed']) {
    const began = performance.now();
    await (await fetch(path)).text();
    await window.go.main.Report.Took(path, performance.now() - began);
  }
  await window.go.main.Report.Done();
});
</script>`

// childLife is how long the forked child lives; a page that waits half of it waits for it.
const childLife = 4 * time.Second

type Report struct{ took map[string]time.Duration }

func (r *Report) Took(path string, ms float64) {
	r.took[path] = time.Duration(ms * float64(time.Millisecond))
	fmt.Printf("%-8s a response of 10 bytes, `sleep 4` forked in the middle: the page saw its end after %v\n",
		path, r.took[path].Round(time.Millisecond))
}

func (r *Report) Done() {
	switch {
	case r.took["/as-is"] < childLife/2:
		fmt.Println("NOT SEEN: the page did not wait for the child")
		os.Exit(1)
	case r.took["/sealed"] > childLife/2:
		fmt.Println("NOT HELPED: the page waited although every descriptor was sealed before the fork")
		os.Exit(1)
	}
	fmt.Println("SEEN: the page waits for a child that is none of its business; sealing the descriptors first helps")
	os.Exit(0)
}

func handle(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	case "/as-is", "/sealed":
		_, _ = w.Write([]byte("12345"))
		if r.URL.Path == "/sealed" {
			_ = shell.SealDescriptors()
		}
		_ = exec.Command("sleep", fmt.Sprint(childLife.Seconds())).Start()
		_, _ = w.Write([]byte("67890"))
	default:
		http.NotFound(w, r)
	}
}

func main() {
	err := wails.Run(&options.App{
		Title: "descriptors", Width: 400, Height: 300,
		AssetServer: &assetserver.Options{Handler: http.HandlerFunc(handle)},
		Bind:        []any{&Report{took: map[string]time.Duration{}}},
	})
	fmt.Println("the window ended early:", err)
	os.Exit(2)
}
