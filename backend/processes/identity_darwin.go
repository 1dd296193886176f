package processes

import (
	"context"
	"errors"
	"sync"

	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sys/unix"
)

var bootID = sync.OnceValue(func() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})

// statZombie is SZOMB of <sys/proc.h>.
const statZombie = 5

// Read reads one row of the process table.
func Read(pid int) (Proc, error) {
	if pid <= 0 {
		return Proc{}, ErrGone
	}
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	// The kernel answers with nothing (EIO here) when there is no such process.
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) || err == nil && int(k.Proc.P_pid) != pid {
		return Proc{}, ErrGone
	}
	if err != nil {
		return Proc{}, err
	}
	p := fromKinfo(k)
	if p.Zombie {
		return Proc{}, ErrGone
	}
	return p, nil
}

func fromKinfo(k *unix.KinfoProc) Proc {
	pid := int(k.Proc.P_pid)
	p := Proc{
		Identity: Identity{
			Pid:   pid,
			Start: uint64(k.Proc.P_starttime.Sec)*1_000_000 + uint64(k.Proc.P_starttime.Usec),
			Boot:  bootID(),
		},
		Ppid:       int(k.Eproc.Ppid),
		Pgrp:       int(k.Eproc.Pgid),
		Foreground: int(k.Eproc.Tpgid),
		Comm:       unix.ByteSliceToString(k.Proc.P_comm[:]),
		UID:        int(k.Eproc.Ucred.Uid),
		Zombie:     k.Proc.P_stat == statZombie,
	}
	if k.Eproc.Tdev != -1 {
		p.TTY = uint64(uint32(k.Eproc.Tdev))
	}
	if sid, err := unix.Getsid(pid); err == nil {
		p.Sid = sid
	}
	return p
}

func factError(pid int, fact string, err error) error {
	if err == nil {
		return nil
	}
	// The argument area of a zombie gives EINVAL.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) {
		if _, readErr := Read(pid); errors.Is(readErr, ErrGone) {
			err = ErrGone
		} else {
			err = ErrDenied
		}
	} else if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		err = ErrDenied
	}
	return &FactError{Pid: pid, Fact: fact, Err: err}
}

// The zero values of gopsutil's Process read by pid without a first look.
func of(pid int) *process.Process { return &process.Process{Pid: int32(pid)} }

func readArgv(pid int) ([]string, error) {
	return of(pid).CmdlineSliceWithContext(context.Background())
}
func readExe(pid int) (string, error) { return of(pid).ExeWithContext(context.Background()) }
func readCwd(pid int) (string, error) { return of(pid).CwdWithContext(context.Background()) }
func readEnviron(pid int) ([]string, error) {
	return of(pid).EnvironWithContext(context.Background())
}
