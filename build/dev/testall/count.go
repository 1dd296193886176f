package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// goEvent is a line of `go test -json`.
type goEvent struct {
	Action, Package, Test, Output string
	// ImportPath takes the package's place in what its build says.
	ImportPath string
}

// countGo counts `go test -json`: tests without subtests below them, and a
// package that failed without a failed test (build, TestMain) as one.
func countGo(out []byte, _ bool) Count {
	var c Count
	parents, done := map[string]bool{}, map[string]string{}
	failedIn, pkgFailed := map[string]bool{}, map[string]bool{}
	var order []string
	why, said := map[string]string{}, map[string][]string{}
	scan := bufio.NewScanner(bytes.NewReader(out))
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var e goEvent
		if json.Unmarshal(scan.Bytes(), &e) != nil {
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "build-output":
			of, _, _ := strings.Cut(e.ImportPath, " ")
			said[of+" "] = append(said[of+" "], strings.TrimRight(e.Output, "\n"))
		case "output":
			if t := strings.TrimSpace(e.Output); e.Test != "" && strings.Contains(t, ".go:") {
				why[key] = t
			}
			said[key] = append(said[key], strings.TrimRight(e.Output, "\n"))
		case "pass", "fail", "skip":
			if e.Test == "" {
				pkgFailed[e.Package] = e.Action == "fail"
				continue
			}
			if e.Action == "fail" {
				failedIn[e.Package] = true
			}
			if _, seen := done[key]; !seen {
				order = append(order, key)
			}
			done[key] = e.Action
			for i := strings.LastIndexByte(key, '/'); i > len(e.Package); i = strings.LastIndexByte(key[:i], '/') {
				parents[key[:i]] = true
			}
		}
	}
	for _, key := range order {
		if pkg, test, _ := strings.Cut(key, " "); strings.HasPrefix(test, "TestRealSmoke") && !strings.Contains(test, "/") {
			c.Notes = append(c.Notes, fmt.Sprintf("smoke row %s: %s (%s)", path.Base(pkg), done[key], test))
		}
		// A parent counts only where it failed by itself.
		if parents[key] && done[key] != "fail" {
			continue
		}
		switch done[key] {
		case "pass":
			c.Passed++
		case "skip":
			c.Skipped++
			c.Skips = append(c.Skips, short(key)+": "+why[key])
		case "fail":
			if !slices.ContainsFunc(order, func(k string) bool { return strings.HasPrefix(k, key+"/") && done[k] == "fail" }) {
				c.Failed++
				c.Failures = append(c.Failures, short(key))
				c.Said = append(c.Said, last(said[key], saidLines))
				pkg, test, _ := strings.Cut(key, " ")
				top, _, _ := strings.Cut(test, "/")
				if t := (goTest{pkg, top}); !slices.Contains(c.FailedGo, t) {
					c.FailedGo = append(c.FailedGo, t)
				}
			}
		}
	}
	for p, f := range pkgFailed {
		if f && !failedIn[p] {
			c.Failed++
			c.Failures = append(c.Failures, short(p)+" (build or set-up)")
			c.Said = append(c.Said, last(said[p+" "], saidLines))
			c.FailedGo = append(c.FailedGo, goTest{Pkg: p})
		}
	}
	return c
}

// saidLines is how much of a failed test's own output is printed.
const saidLines = 30

func last(lines []string, n int) string {
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func short(s string) string {
	return strings.TrimPrefix(s, "github.com/whippletree-app/whippletree/")
}

// readable turns the JSON lines of `go test -json` back into text; other output
// stays as it is.
func readable(out []byte) []byte {
	if !bytes.HasPrefix(out, []byte(`{"`)) {
		return out
	}
	var b bytes.Buffer
	scan := bufio.NewScanner(bytes.NewReader(out))
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var e goEvent
		if json.Unmarshal(scan.Bytes(), &e) != nil {
			b.Write(scan.Bytes())
			b.WriteByte('\n')
			continue
		}
		b.WriteString(e.Output)
	}
	if b.Len() == 0 {
		return out
	}
	return b.Bytes()
}

// countVitest counts the report of `vitest run --reporter=json`.
func countVitest(out []byte, _ bool) Count {
	var r struct {
		NumPassedTests, NumFailedTests, NumPendingTests, NumTodoTests int
		NumFailedTestSuites                                           int
		TestResults                                                   []struct {
			Name, Status, Message string
			AssertionResults      []struct {
				FullName, Status string
			}
		}
	}
	if i := bytes.IndexByte(out, '{'); i < 0 || json.Unmarshal(out[i:], &r) != nil {
		return Count{Failed: 1, Failures: []string{"vitest gave no report"}}
	}
	c := Count{Passed: r.NumPassedTests, Failed: r.NumFailedTests, Skipped: r.NumPendingTests + r.NumTodoTests}
	for _, s := range r.TestResults {
		if s.Status == "failed" && len(s.AssertionResults) == 0 {
			c.Failed++
			c.Failures = append(c.Failures, s.Name+": "+s.Message)
		}
		for _, a := range s.AssertionResults {
			if a.Status == "failed" {
				c.Failures = append(c.Failures, a.FullName)
			}
		}
	}
	return c
}

// countPlaywright counts the report of `playwright test --reporter=json`.
func countPlaywright(out []byte, _ bool) Count {
	type suite struct {
		Title  string
		Suites []json.RawMessage
		Specs  []struct {
			Title string
			Tests []struct{ Status string }
		}
	}
	var c Count
	var walk func(raw json.RawMessage, at string)
	walk = func(raw json.RawMessage, at string) {
		var s suite
		if json.Unmarshal(raw, &s) != nil {
			return
		}
		for _, sp := range s.Specs {
			for _, t := range sp.Tests {
				name := fmt.Sprintf("%s > %s", s.Title, sp.Title)
				switch t.Status {
				case "flaky":
					c.Passed++
					c.Notes = append(c.Notes, "flaky: "+name+" failed once and passed when run again")
				case "expected":
					c.Passed++
				case "skipped":
					c.Skipped++
					c.Skips = append(c.Skips, name)
				default:
					c.Failed++
					c.Failures = append(c.Failures, name)
				}
			}
		}
		for _, sub := range s.Suites {
			walk(sub, s.Title)
		}
	}
	var r struct {
		Suites []json.RawMessage
		Errors []struct{ Message string }
	}
	if i := bytes.IndexByte(out, '{'); i < 0 || json.Unmarshal(out[i:], &r) != nil {
		return Count{Failed: 1, Failures: []string{"playwright gave no report"}}
	}
	for _, s := range r.Suites {
		walk(s, "")
	}
	for _, e := range r.Errors {
		c.Failed++
		c.Failures = append(c.Failures, e.Message)
	}
	return c
}
