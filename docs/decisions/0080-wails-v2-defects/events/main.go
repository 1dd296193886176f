//go:build wailsdefect

// Command events shows that events from Go to the page have neither replay nor
// back-pressure: what is sent before the page listens is lost without a word,
// and the sender is never slowed down by a page that does not keep up.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

const (
	early = 1000
	flood = 400
	piece = 64 << 10
	stuck = 2 * time.Second
)

var page = fmt.Sprintf(`<!doctype html><script>
addEventListener('load', async () => {
  let early = 0, flood = 0;
  window.runtime.EventsOn('early', () => { early++; });
  window.runtime.EventsOn('flood', () => { flood++; });
  await new Promise(done => setTimeout(done, 1000));
  await window.go.main.Report.Early(early);
  window.go.main.Report.Flood();
  const until = performance.now() + %d;
  while (performance.now() < until) ;
});
</script>`, stuck.Milliseconds())

type Report struct {
	ctx   context.Context
	lost  int
	ready chan struct{}
}

func (r *Report) startup(ctx context.Context) {
	r.ctx = ctx
	for i := range early {
		runtime.EventsEmit(ctx, "early", i)
	}
	close(r.ready)
}

func (r *Report) Early(got int) {
	<-r.ready
	r.lost = early - got
	fmt.Printf("%d events sent at start-up, the page saw %d: %d lost\n", early, got, r.lost)
}

func (r *Report) Flood() {
	data := strings.Repeat("x", piece)
	began := time.Now()
	for range flood {
		runtime.EventsEmit(r.ctx, "flood", data)
	}
	took := time.Since(began)
	fmt.Printf("%d MiB sent to a page that is stuck for %v: the sender was done after %v\n",
		flood*piece>>20, stuck, took.Round(time.Millisecond))
	switch {
	case r.lost == 0:
		fmt.Println("NOT SEEN: no event was lost")
		os.Exit(1)
	case took > stuck:
		fmt.Println("NOT SEEN: the sender waited for the page")
		os.Exit(1)
	}
	fmt.Println("SEEN: no replay, no back-pressure; the backlog grows in memory")
	os.Exit(0)
}

func main() {
	r := &Report{ready: make(chan struct{})}
	err := wails.Run(&options.App{
		Title: "events", Width: 400, Height: 300,
		AssetServer: &assetserver.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(page))
		})},
		OnStartup: r.startup,
		Bind:      []any{r},
	})
	fmt.Println("the window ended early:", err)
	os.Exit(2)
}
