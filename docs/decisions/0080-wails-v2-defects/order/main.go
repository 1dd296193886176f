//go:build wailsdefect

// Command order shows that calls from the page to Go arrive unordered: each runs
// in a goroutine of its own.
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
)

const calls = 5000

var page = fmt.Sprintf(`<!doctype html><script>
addEventListener('load', async () => {
  const all = [];
  for (let i = 0; i < %d; i++) all.push(window.go.main.Report.Key(i));
  await Promise.all(all);
  await window.go.main.Report.Done();
});
</script>`, calls)

type Report struct {
	mu   sync.Mutex
	seen []int
}

// Key stands for a keystroke on its way to a terminal.
func (r *Report) Key(i int) {
	r.mu.Lock()
	r.seen = append(r.seen, i)
	r.mu.Unlock()
}

func (r *Report) Done() {
	inversions := 0
	for i := 1; i < len(r.seen); i++ {
		if r.seen[i] < r.seen[i-1] {
			inversions++
		}
	}
	fmt.Printf("%d calls in order from the page, %d arrived, %d times one arrived before its predecessor\n",
		calls, len(r.seen), inversions)
	if inversions == 0 {
		fmt.Println("NOT SEEN: every call arrived in order")
		os.Exit(1)
	}
	fmt.Println("SEEN: bound calls cannot carry keystrokes")
	os.Exit(0)
}

func main() {
	err := wails.Run(&options.App{
		Title: "order", Width: 400, Height: 300,
		AssetServer: &assetserver.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(page))
		})},
		Bind: []any{&Report{}},
	})
	fmt.Println("the window ended early:", err)
	os.Exit(2)
}
