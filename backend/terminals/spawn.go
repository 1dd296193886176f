package terminals

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// spawn opens a pseudo terminal and starts the command as the leader of its
// own kernel session in it. The returned master is non-blocking, so that a
// Close ends a pending Read. On an error nothing is left open.
func spawn(cmd *exec.Cmd, cols, rows int) (*os.File, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, openError(err)
	}
	defer slave.Close()
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	fd, err := duplicate(master)
	_ = master.Close()
	if err != nil {
		return nil, openError(err)
	}
	f := os.NewFile(uintptr(fd), "terminal")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		_ = f.Close()
		return nil, startError(cmd, err)
	}
	return f, nil
}

// duplicate copies the descriptor into one that the netpoller can wait for.
func duplicate(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(from uintptr) {
		fd, dupErr = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return -1, err
	}
	if dupErr != nil {
		return -1, dupErr
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func openError(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("the system has no terminal left: close some, or allow more with `sudo sysctl -w kernel.pty.max=8192`: %w", err)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fmt.Errorf("too many open files: close some terminals, or raise the limit with `ulimit -n 65536`: %w", err)
	}
	return fmt.Errorf("open a terminal: %w", err)
}

// startError names the folder or the program that is missing: the system's
// message does not tell which.
func startError(cmd *exec.Cmd, err error) error {
	if cmd.Dir != "" {
		if _, statErr := os.Stat(cmd.Dir); statErr != nil {
			return fmt.Errorf("the folder %s cannot be used: %w", cmd.Dir, statErr)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s does not exist, or the interpreter in its first line: %w", cmd.Path, err)
	}
	return fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
}

// lookPath finds a program in the PATH that it will run with.
func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	var path string
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		full := filepath.Join(dir, name)
		if st, err := os.Stat(full); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s was not found in PATH (%s): %w", name, path, exec.ErrNotFound)
}

// setSize tells the program its new size.
func setSize(f *os.File, cols, rows int) {
	control(f, func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
}

// foreground is the process group that reads the keyboard, 0 when unknown.
func foreground(f *os.File) int {
	group := 0
	control(f, func(fd uintptr) {
		if g, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP); err == nil {
			group = g
		}
	})
	return group
}

func control(f *os.File, do func(fd uintptr)) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(do)
	}
}
