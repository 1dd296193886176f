package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountGo(t *testing.T) {
	const m = "github.com/whippletree-app/whippletree/"
	out := []byte(`{"Action":"run","Package":"` + m + `a","Test":"TestX"}
{"Action":"pass","Package":"` + m + `a","Test":"TestX/one"}
{"Action":"output","Package":"` + m + `a","Test":"TestX/two","Output":"    x_test.go:7: no\n"}
{"Action":"fail","Package":"` + m + `a","Test":"TestX/two"}
{"Action":"fail","Package":"` + m + `a","Test":"TestX"}
{"Action":"output","Package":"` + m + `a","Test":"TestS","Output":"    s_test.go:3: needs a Mac\n"}
{"Action":"skip","Package":"` + m + `a","Test":"TestS"}
{"Action":"fail","Package":"` + m + `a"}
{"Action":"pass","Package":"` + m + `extensions/codex","Test":"TestRealSmoke"}
{"Action":"pass","Package":"` + m + `extensions/codex"}
{"Action":"build-output","ImportPath":"` + m + `c [` + m + `c.test]","Output":"c.go:1: undefined: y\n"}
{"Action":"fail","Package":"` + m + `c"}
not json
`)
	want := Count{Passed: 2, Failed: 2, Skipped: 1,
		Failures: []string{"a TestX/two", "c (build or set-up)"},
		Said:     []string{"    x_test.go:7: no", "c.go:1: undefined: y"},
		Skips:    []string{"a TestS: s_test.go:3: needs a Mac"},
		Notes:    []string{"smoke row codex: pass (TestRealSmoke)"},
		FailedGo: []goTest{{m + "a", "TestX"}, {Pkg: m + "c"}},
	}
	if d := cmp.Diff(want, countGo(out, true)); d != "" {
		t.Error(d)
	}
}

func TestCountVitest(t *testing.T) {
	got := countVitest([]byte(`noise {"numPassedTests":2,"numFailedTests":1,"numPendingTests":1,"testResults":[
{"name":"a","status":"failed","assertionResults":[{"fullName":"x y","status":"failed"}]},
{"name":"b","status":"failed","message":"cannot load","assertionResults":[]}]}`), true)
	if got.Passed != 2 || got.Failed != 2 || got.Skipped != 1 {
		t.Errorf("%+v", got)
	}
	if got := countVitest([]byte("no report"), true); got.Failed != 1 {
		t.Errorf("%+v", got)
	}
}

func TestCountPlaywright(t *testing.T) {
	got := countPlaywright([]byte(`{"suites":[{"title":"a.spec.ts","specs":[{"title":"one","tests":[{"status":"expected"}]}],
"suites":[{"title":"inner","specs":[{"title":"two","tests":[{"status":"unexpected"},{"status":"skipped"}]}]}]}],"errors":[]}`), true)
	want := Count{Passed: 1, Failed: 1, Skipped: 1, Failures: []string{"inner > two"}, Skips: []string{"inner > two"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAFailureThatPassesAloneIsFlaky(t *testing.T) {
	const m = "github.com/whippletree-app/whippletree/"
	c := Count{Passed: 3, Failed: 3, Failures: []string{"a TestX/two", "a TestXY", "c (build or set-up)"}, Said: []string{"s1", "s2", "s3"}}
	c = withoutFailure(c, goTest{m + "a", "TestX"})
	if want := (Count{Passed: 4, Failed: 2, Failures: []string{"a TestXY", "c (build or set-up)"}, Said: []string{"s2", "s3"}}); !cmp.Equal(want, c) {
		t.Error(cmp.Diff(want, c))
	}
	c = withoutFailure(c, goTest{Pkg: m + "c"})
	if want := (Count{Passed: 5, Failed: 1, Failures: []string{"a TestXY"}, Said: []string{"s2"}}); !cmp.Equal(want, c) {
		t.Error(cmp.Diff(want, c))
	}
}

// A parent that fails by itself, its subtests green, is one failure.
func TestCountGoParentAlone(t *testing.T) {
	got := countGo([]byte(`{"Action":"pass","Package":"p","Test":"TestP/a"}
{"Action":"fail","Package":"p","Test":"TestP"}
{"Action":"fail","Package":"p"}`), true)
	if got.Failed != 1 || got.Passed != 1 || len(got.FailedGo) != 1 {
		t.Errorf("%+v", got)
	}
}
