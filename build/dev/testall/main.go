// Command testall runs a tier of checks, each with its own log and time, and
// prints what ran, what failed and what was skipped and why. Its last line is
// "N passed, N failed, N skipped", counting tests; a static check counts as one
// test. It exits with 1 when anything failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	tier := flag.String("tier", "ci", "quick, ci, agents or fuzz")
	only := flag.String("only", "", "run only the steps whose id holds one of these comma-separated words")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, *tier, *only))
}

func run(ctx context.Context, tier, only string) int {
	logs := filepath.Join("build", "cache", "logs", tier)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		return 1
	}
	steps, err := stepsOf(tier)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		return 1
	}
	began := time.Now()
	var results []Result
	failed := map[string]bool{}
	for _, s := range steps {
		if !selected(s.ID, only) {
			continue
		}
		r := Result{Step: s}
		switch missing := firstFailed(s.After, failed); {
		case ctx.Err() != nil:
			r.Count.Failed, r.Why = 1, "interrupted"
		case s.Absent != "":
			r.Count.Skipped, r.Why = 1, s.Absent
		case missing != "":
			// Not being able to run is a failure, not a skip.
			r.Count.Failed, r.Why = 1, "not run: "+missing+" failed"
		default:
			fmt.Printf("==> %-12s %s\n", s.ID, s.Title)
			r = again(ctx, s, runStep(ctx, s, filepath.Join(logs, s.ID+".log")))
			fmt.Printf("    %-12s %s in %.1fs (%s)\n", s.ID, r.Verdict(), r.Took.Seconds(), r.Log)
			for i, f := range r.Count.Failures {
				fmt.Printf("    FAIL %s\n", f)
				if i < len(r.Count.Said) {
					fmt.Println(indent(r.Count.Said[i]))
				}
			}
			if r.Count.Failed > 0 && len(r.Count.Said) == 0 {
				fmt.Println(indent(tail(r.Log, 40)))
			}
		}
		failed[s.ID] = r.Count.Failed > 0
		results = append(results, r)
	}
	return summary(os.Stdout, tier, results, time.Since(began))
}

func selected(id, only string) bool {
	if only == "" {
		return true
	}
	for _, w := range strings.Split(only, ",") {
		if strings.Contains(id, w) {
			return true
		}
	}
	return false
}

func firstFailed(after []string, failed map[string]bool) string {
	for _, a := range after {
		if failed[a] {
			return a
		}
	}
	return ""
}
