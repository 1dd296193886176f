package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Step is one check: a command with what it needs and how its tests are counted.
type Step struct {
	ID, Title string
	Dir       string
	Argv      []string
	Env       []string
	// After names steps without which this one makes no sense.
	After []string
	// Absent says why the step cannot run here; it then counts as skipped.
	Absent string
	// Limit ends a step that hangs; 0 is ten minutes.
	Limit time.Duration
	// Count reads the outcome from what the command wrote; nil counts the
	// command itself as one test.
	Count func(out []byte, failed bool) Count
	// Report is a file that Count reads in place of the output.
	Report string
	// Quiet commands must print nothing (gofmt -l).
	Quiet bool
}

// Count is how many tests passed, failed and were skipped, by name where the
// names are worth a line.
type Count struct {
	Passed, Failed, Skipped int
	Failures, Skips         []string
	// Said is what each of Failures printed, where that is known: a log of all
	// packages ends with somebody else's lines.
	Said []string
	// FailedGo names the failed Go tests, to run them again.
	FailedGo []goTest
	// Notes are outcomes that deserve a line of their own.
	Notes []string
}

// Result is a step that ran, or the reason why it did not.
type Result struct {
	Step  Step
	Count Count
	Took  time.Duration
	Log   string
	Why   string
}

// Verdict is one word for the table.
func (r Result) Verdict() string {
	switch {
	case r.Count.Failed > 0:
		return "FAILED"
	case r.Count.Passed == 0:
		return "skipped"
	default:
		return "ok"
	}
}

func runStep(ctx context.Context, s Step, log string) Result {
	limit := s.Limit
	if limit == 0 {
		limit = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := Result{Step: s, Log: log}
	if s.Report != "" {
		_ = os.Remove(s.Report)
	}
	began := time.Now()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, s.Argv[0], s.Argv[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	// What a step starts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	r.Took = time.Since(began)
	text := out.Bytes()
	if s.Quiet && err == nil && len(bytes.TrimSpace(text)) > 0 {
		err = fmt.Errorf("it listed something")
	}
	if ctx.Err() == context.DeadlineExceeded {
		r.Why = fmt.Sprintf("ended after its limit of %s", limit)
	}
	if s.Count != nil {
		counted := text
		if s.Report != "" {
			counted, _ = os.ReadFile(s.Report) // without one Count says so
		}
		r.Count = s.Count(counted, err != nil)
		text = readable(text)
	}
	if err != nil && r.Count.Failed == 0 {
		r.Count.Failed = 1
		r.Count.Failures = append(r.Count.Failures, strings.Join(s.Argv, " ")+": "+err.Error())
	}
	if s.Count == nil && err == nil {
		r.Count.Passed = 1
	}
	writeLog(log, s, text, errs.Bytes(), err)
	return r
}

func writeLog(path string, s Step, out, errs []byte, err error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "$ %s\n", strings.Join(s.Argv, " "))
	b.Write(out)
	b.Write(errs)
	if err != nil {
		fmt.Fprintf(&b, "\n%v\n", err)
	}
	if werr := os.WriteFile(path, b.Bytes(), 0o644); werr != nil {
		fmt.Fprintln(os.Stderr, "testall:", werr)
	}
}

func tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}

func indent(s string) string { return "      | " + strings.ReplaceAll(s, "\n", "\n      | ") }
