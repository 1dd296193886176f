// Command modelserver runs the scripted model provider until it is interrupted.
// It prints its address as the first line.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/whippletree-app/whippletree/e2e/modelserver"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:0", "loopback address to listen on")
	dir := flag.String("scenarios", "", "folder with more scenario files")
	flag.Parse()
	if err := run(*addr, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}

func run(addr, dir string) error {
	var extra []*modelserver.Scenario
	if dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			return err
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			sc, err := modelserver.Parse(data)
			if err != nil {
				return fmt.Errorf("%s: %w", f, err)
			}
			extra = append(extra, sc)
		}
	}
	s, err := modelserver.NewAt(addr, extra...)
	if err != nil {
		return err
	}
	fmt.Println(s.URL())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	return s.Close()
}
