// Command write writes docs/agents.md, or the file named by its one argument.
package main

import (
	"fmt"
	"os"

	"github.com/whippletree-app/whippletree/build/dev/agentsdoc"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(agentsdoc.Page()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
