//go:build linux

// Command bench measures Whippletree beside its floors: small programs of ours
// that do the least that could do the job, built with the same flags, in
// alternating runs. It prints medians with their range, the ratio, what is to be
// reached and the verdict. It ends with 1 when a figure is missed.
//
//	go run ./e2e/bench            every figure
//	go run ./e2e/bench -only idle,delta
//	go run ./e2e/bench -full      the stored sessions at their full size
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// measure is one or more rows of the table that are taken together.
type measure struct {
	id  string
	run func(*Lab) []Figure
}

func main() {
	only := flag.String("only", "", "comma-separated ids: start, memory, idle, registry, files, list, append, open, delta, paint, terminal, tree, search")
	runs := flag.Int("runs", 5, "alternating runs of each program")
	full := flag.Bool("full", false, "stored sessions of 100 KB each instead of 10 KB")
	seed := flag.Uint64("seed", 1, "of the generated sessions")
	flag.Parse()
	os.Exit(run(*only, *runs, *full, *seed))
}

func run(only string, runs int, full bool, seed uint64) int {
	lab, err := newLab(runs, full, seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	defer lab.Close()
	all := []measure{
		{"start", measureStart}, {"memory", measureMemory}, {"idle", measureIdle}, {"registry", measureRegistry},
		{"files", measureFiles}, {"list", measureList}, {"append", measureAppend}, {"open", measureOpen}, {"delta", measureDelta}, {"chats", measureChats}, {"paint", measurePaint}, {"terminal", measureTerminal}, {"tree", measureTree},
		{"search", measureSearch},
	}
	var figures []Figure
	for _, m := range all {
		if only != "" && !strings.Contains(","+only+",", ","+m.id+",") {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: measuring %s\n", m.id)
		figures = append(figures, m.run(lab)...)
	}
	fmt.Println()
	fmt.Println(lab.Machine())
	table(os.Stdout, figures)
	missed := 0
	for _, f := range figures {
		if f.Verdict() != "reached" {
			missed++
		}
	}
	fmt.Printf("%d reached, %d missed or not measured\n", len(figures)-missed, missed)
	if missed > 0 {
		return 1
	}
	return 0
}
