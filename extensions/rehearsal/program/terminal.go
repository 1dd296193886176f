package program

import (
	"io"
	"os"
)

func runTerminal(opt Options, home string, in *os.File, stdout, stderr io.Writer) int { return 2 }
