package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// mostAgain is how many failed tests are looked at a second time. More of them
// are no accident.
const mostAgain = 6

// goTest is one top-level test of a package; Test "" is the whole package.
type goTest struct{ Pkg, Test string }

// again runs each failed Go test once more, alone. One that passes then is
// called flaky in the summary, with the log of its failure: a busy machine
// must not decide whether work lands, and a fault that comes and goes must not
// hide. A test that fails twice has failed.
func again(ctx context.Context, s Step, r Result) Result {
	if s.Count == nil || len(r.Count.FailedGo) == 0 || len(r.Count.FailedGo) > mostAgain || r.Why != "" {
		return r
	}
	for i, t := range r.Count.FailedGo {
		argv := slices.DeleteFunc(slices.Clone(s.Argv), func(a string) bool { return strings.HasPrefix(a, "./") || a == "-count=1" })
		argv = append(argv, "-count=1")
		if t.Test != "" {
			argv = append(argv, "-run", "^"+t.Test+"$")
		}
		second := s
		second.Argv = append(argv, t.Pkg)
		log := strings.TrimSuffix(r.Log, ".log") + fmt.Sprintf(".again-%d.log", i+1)
		res := runStep(ctx, second, log)
		r.Took += res.Took
		if res.Count.Failed > 0 || res.Count.Passed == 0 {
			continue
		}
		r.Count = withoutFailure(r.Count, t)
		r.Count.Notes = append(r.Count.Notes, fmt.Sprintf("flaky: %s failed once and passed when run again alone (%s, %s)",
			short(strings.TrimSpace(t.Pkg+" "+t.Test)), filepath.Base(r.Log), filepath.Base(log)))
	}
	return r
}

// withoutFailure counts the failures that t explains as passed.
func withoutFailure(c Count, t goTest) Count {
	mine := func(name string) bool {
		if t.Test == "" {
			return name == short(t.Pkg)+" (build or set-up)"
		}
		top := short(t.Pkg + " " + t.Test)
		return name == top || strings.HasPrefix(name, top+"/")
	}
	kept, said := []string{}, []string{}
	for i, f := range c.Failures {
		if mine(f) {
			c.Failed--
			c.Passed++
			continue
		}
		kept = append(kept, f)
		if i < len(c.Said) {
			said = append(said, c.Said[i])
		}
	}
	c.Failures, c.Said = kept, said
	return c
}
