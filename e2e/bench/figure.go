//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Figure is one row of the table: what was measured, the floor's values and
// ours from alternating runs, and what has to be reached.
type Figure struct {
	What   string
	Unit   string
	Floor  []float64 // empty: the target is absolute
	Ours   []float64
	Target Target
	// Note says what a reader must know to judge the figure.
	Note string
	// Err is why it could not be measured.
	Err error
}

// Target is what must hold for the medians (or the values themselves).
type Target struct {
	Says  string
	Holds func(floor, ours float64) bool
}

func atMostTimes(k float64) Target {
	return Target{fmt.Sprintf("<= %.1f x floor", k), func(f, o float64) bool { return o <= k*f }}
}

func atLeastTimes(k float64) Target {
	return Target{fmt.Sprintf(">= %.1f x floor", k), func(f, o float64) bool { return o >= k*f }}
}

func atMost(v float64, unit string) Target {
	return Target{fmt.Sprintf("<= %g %s", v, unit), func(_, o float64) bool { return o <= v }}
}

func atMostMore(v float64, unit string) Target {
	return Target{fmt.Sprintf("<= floor + %g %s", v, unit), func(f, o float64) bool { return o <= f+v }}
}

// Verdict is reached, MISSED or not measured.
func (f Figure) Verdict() string {
	switch {
	case f.Err != nil || len(f.Ours) == 0:
		return "not measured"
	case f.Target.Holds == nil:
		return ""
	case f.Target.Holds(median(f.Floor), median(f.Ours)):
		return "reached"
	default:
		return "MISSED"
	}
}

// table prints the figures; the values in brackets are the smallest and the
// largest of the runs.
func table(w io.Writer, figures []Figure) {
	rows := [][]string{{"figure", "floor", "ours", "ratio", "to reach", "verdict", "runs"}}
	for _, f := range figures {
		ratio := ""
		if m := median(f.Floor); len(f.Floor) > 0 && m > 0 && len(f.Ours) > 0 {
			ratio = fmt.Sprintf("%.2f", median(f.Ours)/m)
		}
		rows = append(rows, []string{f.What, spread(f.Floor, f.Unit), spread(f.Ours, f.Unit), ratio, f.Target.Says, f.Verdict(), fmt.Sprint(len(f.Ours))})
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	for n, r := range rows {
		for i, c := range r {
			fmt.Fprint(w, c, strings.Repeat(" ", widths[i]-len([]rune(c))+2))
		}
		fmt.Fprintln(w)
		if n == 0 {
			for _, wd := range widths {
				fmt.Fprint(w, strings.Repeat("-", wd), "  ")
			}
			fmt.Fprintln(w)
		}
	}
	for _, f := range figures {
		if f.Err != nil {
			fmt.Fprintf(w, "not measured: %s: %v\n", f.What, f.Err)
		}
		if f.Note != "" {
			fmt.Fprintf(w, "note: %s: %s\n", f.What, f.Note)
		}
	}
}

func spread(v []float64, unit string) string {
	if len(v) == 0 {
		return "-"
	}
	if len(v) == 1 {
		return num(v[0]) + " " + unit
	}
	return fmt.Sprintf("%s %s [%s..%s]", num(median(v)), unit, num(slices.Min(v)), num(slices.Max(v)))
}

func num(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1:
		return fmt.Sprintf("%.3f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

func median(v []float64) float64 { return quantile(v, 0.5) }

// quantile of unsorted values; the mean of the two middle ones for an even median.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	at := q * float64(len(s)-1)
	lo := int(at)
	if lo+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[lo] + (at-float64(lo))*(s[lo+1]-s[lo])
}
