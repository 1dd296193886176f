package program

import "io"

func runStructured(opt Options, home string, stdin io.Reader, stdout, stderr io.Writer) int {
	return 2
}
