//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// importsMain links what the host links and does nothing with it.
const importsMain = `package main

import (
	"fmt"
	"io"
	"os"

	_ "github.com/whippletree-app/whippletree/backend/host"
)

func main() {
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
`

// tickerFile makes a host that breaks the rule of no periodic timers.
const tickerFile = `package main

import "time"

func init() {
	go func() {
		for range time.Tick(time.Second) {
		}
	}()
}
`

// importsFloor builds the program with the host's imports.
func (l *Lab) importsFloor() (string, error) {
	return l.buildWith("floor-imports", "./e2e/bench/floors/bare", map[string]string{
		"e2e/bench/floors/bare/main.go": importsMain,
	})
}

// tickerHost builds a host with a ticker of one second in it, to prove that the
// idle figure would show it.
func (l *Lab) tickerHost() (string, error) {
	return l.buildWith("whippletree-ticker", "./backend/cmd/whippletree", map[string]string{
		"backend/cmd/whippletree/ticker_of_the_bench.go": tickerFile,
	})
}

// buildWith builds a package with files laid over the source tree, which stays
// as it is.
func (l *Lab) buildWith(name, pkg string, files map[string]string) (string, error) {
	replace := map[string]string{}
	n := 0
	for path, content := range files {
		n++
		src := filepath.Join(l.tmp, fmt.Sprintf("%s-%d.go", name, n))
		if err := os.WriteFile(src, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(l.root, path)] = src
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(l.tmp, name+".json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		return "", err
	}
	return l.Build(name, pkg, "-overlay", overlay)
}
