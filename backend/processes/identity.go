package processes

import (
	"errors"
	"fmt"
)

// ErrGone says that there is no such process any more. A zombie is gone: it
// runs nothing and only waits for its parent.
var ErrGone = errors.New("no such process")

// ErrDenied says that the process is there and this user may not look.
var ErrDenied = errors.New("the process belongs to another user")

// Identity names one process for ever, across pid reuse and reboots.
type Identity struct {
	Pid int `json:"pid"`
	// Start is when it started: on Linux the raw clock ticks since boot (stat
	// field 22), on macOS microseconds since the epoch. Compare, never compute.
	Start uint64 `json:"start"`
	// Boot is the id of the boot Start belongs to.
	Boot string `json:"boot"`
}

// String is for logs.
func (id Identity) String() string { return fmt.Sprintf("pid %d (start %d)", id.Pid, id.Start) }

// IsZero reports whether it names nothing.
func (id Identity) IsZero() bool { return id.Pid == 0 }

// Identify reads the identity of a running process. It fails with ErrGone
// when there is none (a zombie counts as none).
func Identify(pid int) (Identity, error) {
	p, err := Read(pid)
	if err != nil {
		return Identity{}, err
	}
	return p.Identity, nil
}

// Alive reports whether exactly this process still runs.
func (id Identity) Alive() bool {
	if id.Pid <= 0 {
		return false
	}
	now, err := Identify(id.Pid)
	return err == nil && now == id
}

// Proc is a row of the process table.
type Proc struct {
	Identity
	Ppid int
	Pgrp int
	// Sid is the session, 0 where its leader is outside this pid namespace.
	Sid int
	// TTY is the device number of the controlling terminal, 0 for none.
	TTY uint64
	// Foreground is the foreground process group of that terminal, -1 for none.
	Foreground int
	// Comm is the short name, cut by the kernel (15 bytes on Linux). It is
	// whatever the process says it is: show it, never decide by it.
	Comm string
	// UID is the effective user, -1 when unknown.
	UID int
	// Zombie processes are in the table because they still hold their pid.
	Zombie bool
}

// FactError is a fact about a process that could not be read. Err is ErrGone,
// ErrDenied or the system's error.
type FactError struct {
	Pid  int
	Fact string
	Err  error
}

func (e *FactError) Error() string { return fmt.Sprintf("%s of process %d: %v", e.Fact, e.Pid, e.Err) }
func (e *FactError) Unwrap() error { return e.Err }

// maxFact bounds what is read of one process's arguments or environment: the
// owner of a process chooses their size (2 MB and more are possible).
const maxFact = 4 << 20

// Argv is the argument list of a process. A kernel thread has none, and a
// process in the middle of its exec has none yet.
func Argv(pid int) ([]string, error) {
	v, err := readArgv(pid)
	return v, factError(pid, "command line", err)
}

// Exe is the path of the executable; " (deleted)" is cut off.
func Exe(pid int) (string, error) {
	v, err := readExe(pid)
	return v, factError(pid, "executable", err)
}

// Cwd is the working directory.
func Cwd(pid int) (string, error) {
	v, err := readCwd(pid)
	return v, factError(pid, "working directory", err)
}

// Environ is the environment the process was started with.
func Environ(pid int) ([]string, error) {
	v, err := readEnviron(pid)
	return v, factError(pid, "environment", err)
}
