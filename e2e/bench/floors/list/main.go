// Command list is the floor of listing stored sessions: it walks the folder that
// is its second argument and does one thing with every transcript in it.
//
//	list stat FOLDER        the size of each, nothing opened
//	list ends FOLDER BYTES  one read of the first and one of the last so many bytes of each
//
// It prints the number of files, the milliseconds that passed and the
// milliseconds of processor time.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: list stat|ends FOLDER [BYTES]")
		os.Exit(2)
	}
	window := int64(0)
	if os.Args[1] == "ends" && len(os.Args) > 3 {
		window, _ = strconv.ParseInt(os.Args[3], 10, 64)
	}
	began, spent := time.Now(), cpu()
	n, err := list(os.Args[2], window)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d %.3f %.3f\n", n, float64(time.Since(began).Microseconds())/1000, float64((cpu()-spent).Microseconds())/1000)
}

func list(top string, window int64) (n int, err error) {
	folders, err := os.ReadDir(top)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, window)
	for _, d := range folders {
		dir, err := os.Open(filepath.Join(top, d.Name()))
		if err != nil {
			return n, err
		}
		files, err := dir.ReadDir(-1)
		_ = dir.Close()
		if err != nil {
			return n, err
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".jsonl") {
				continue
			}
			info, err := f.Info()
			if err != nil {
				return n, err
			}
			n++
			if window == 0 {
				continue
			}
			file, err := os.Open(filepath.Join(top, d.Name(), f.Name()))
			if err != nil {
				return n, err
			}
			_, _ = file.ReadAt(buf, 0)
			if at := info.Size() - window; at > 0 {
				_, _ = file.ReadAt(buf, at)
			}
			_ = file.Close()
		}
	}
	return n, nil
}

func cpu() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
