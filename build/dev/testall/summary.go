package main

import (
	"fmt"
	"io"
	"time"
)

// summary prints the table and the last line and returns the exit code.
func summary(w io.Writer, tier string, results []Result, took time.Duration) int {
	var sum Count
	fmt.Fprintf(w, "\n%-14s %-8s %7s %7s %8s %8s  %s\n", "step", "verdict", "passed", "failed", "skipped", "seconds", "what")
	for _, r := range results {
		fmt.Fprintf(w, "%-14s %-8s %7d %7d %8d %8.1f  %s\n", r.Step.ID, r.Verdict(),
			r.Count.Passed, r.Count.Failed, r.Count.Skipped, r.Took.Seconds(), r.Step.Title)
		sum.Passed += r.Count.Passed
		sum.Failed += r.Count.Failed
		sum.Skipped += r.Count.Skipped
	}
	for _, r := range results {
		if r.Why != "" {
			fmt.Fprintf(w, "%s %s: %s\n", r.Verdict(), r.Step.ID, r.Why)
		}
		for _, n := range r.Count.Notes {
			fmt.Fprintln(w, n)
		}
		for _, s := range r.Count.Skips {
			fmt.Fprintf(w, "skipped %s: %s\n", r.Step.ID, s)
		}
		for _, f := range r.Count.Failures {
			fmt.Fprintf(w, "FAILED %s: %s\n", r.Step.ID, f)
		}
	}
	for _, n := range notInTier(tier) {
		fmt.Fprintf(w, "not run in this tier: %s\n", n)
	}
	fmt.Fprintf(w, "tier %s took %s\n", tier, took.Round(time.Second))
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", sum.Passed, sum.Failed, sum.Skipped)
	if sum.Failed > 0 || sum.Passed == 0 {
		return 1
	}
	return 0
}
