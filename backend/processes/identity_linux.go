package processes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})

// Read reads one row of the process table.
func Read(pid int) (Proc, error) {
	if pid <= 0 {
		return Proc{}, ErrGone
	}
	var buf [1024]byte
	p, err := readStat(pid, buf[:])
	if err != nil {
		return Proc{}, err
	}
	if p.Zombie {
		return Proc{}, ErrGone
	}
	return p, nil
}

// readStat reads /proc/<pid>/stat. The owner is that of the directory: its
// files belong to root when the process cannot be dumped.
func readStat(pid int, buf []byte) (Proc, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	n, err := readSmall(dir+"/stat", buf)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
			return Proc{}, ErrGone
		}
		return Proc{}, err
	}
	p, ok := parseStat(buf[:n])
	if !ok {
		return Proc{}, errors.New("unreadable /proc/" + strconv.Itoa(pid) + "/stat")
	}
	p.Boot = bootID()
	p.UID = -1
	var st unix.Stat_t
	if unix.Stat(dir, &st) == nil {
		p.UID = int(st.Uid)
	}
	return p, nil
}

func readSmall(path string, buf []byte) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		n, err := unix.Read(fd, buf)
		_ = unix.Close(fd)
		if err == unix.EINTR {
			continue
		}
		return n, err
	}
}

// parseStat reads the fields of proc(5) stat. The name may hold anything, even
// ") R 1", so the fields are counted from the last parenthesis.
func parseStat(b []byte) (Proc, bool) {
	open := bytes.IndexByte(b, '(')
	end := bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return Proc{}, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	if err != nil || pid <= 0 {
		return Proc{}, false
	}
	p := Proc{Comm: string(b[open+1 : end])}
	p.Pid = pid
	var num [23]int64 // by the numbers of proc(5)
	field := 3
	state := byte(0)
	for rest := b[end+1:]; field <= 22; field++ {
		rest = bytes.TrimLeft(rest, " ")
		n := bytes.IndexAny(rest, " \n")
		if n < 0 {
			n = len(rest)
		}
		if n == 0 {
			return Proc{}, false
		}
		if field == 3 {
			state = rest[0]
		} else if field == 22 {
			start, err := strconv.ParseUint(string(rest[:n]), 10, 64)
			if err != nil {
				return Proc{}, false
			}
			p.Start = start
		} else if field <= 8 || field == 20 {
			v, err := strconv.ParseInt(string(rest[:n]), 10, 64)
			if err != nil {
				return Proc{}, false
			}
			num[field] = v
		}
		rest = rest[n:]
	}
	p.Ppid, p.Pgrp, p.Sid = int(num[4]), int(num[5]), int(num[6])
	p.TTY, p.Foreground = uint64(uint32(num[7])), int(num[8])
	// A main thread that ended while others run shows Z as well; the process lives.
	p.Zombie = state == 'X' || state == 'x' || state == 'Z' && num[20] <= 1
	return p, true
}

func factError(pid int, fact string, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
		err = ErrGone
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		err = ErrDenied
	}
	return &FactError{Pid: pid, Fact: fact, Err: err}
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

func readList(pid int, name string) ([]string, error) {
	if pid <= 0 {
		return nil, ErrGone
	}
	f, err := os.Open(procPath(pid, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFact))
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		// Kernel threads have none; so have zombies, which are gone.
		if _, err := Read(pid); err != nil {
			return nil, err
		}
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

func readArgv(pid int) ([]string, error)    { return readList(pid, "cmdline") }
func readEnviron(pid int) ([]string, error) { return readList(pid, "environ") }

func readLink(pid int, name string) (string, error) {
	if pid <= 0 {
		return "", ErrGone
	}
	s, err := os.Readlink(procPath(pid, name))
	return strings.TrimSuffix(s, " (deleted)"), err
}

func readExe(pid int) (string, error) { return readLink(pid, "exe") }
func readCwd(pid int) (string, error) { return readLink(pid, "cwd") }
