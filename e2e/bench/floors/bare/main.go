// Command bare is the smallest host there can be: it says "ready" and waits for
// the end of its input. The floor of starting and of doing nothing.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
