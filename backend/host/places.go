package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// HomeVariable moves all data of Whippletree when it is set.
const HomeVariable = "WHIPPLETREE_HOME"

// Home is where all data is: WHIPPLETREE_HOME, else the system's place for it
// below the user's home. Only programs call it; it is given what it reads.
func Home(getenv func(string) string, userHome string) (string, error) {
	if dir := getenv(HomeVariable); dir != "" {
		return filepath.Abs(dir)
	}
	if userHome == "" {
		return "", errors.New("the home folder of this user is not known; set " + HomeVariable)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(userHome, "Library", "Application Support", "Whippletree"), nil
	}
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "whippletree"), nil
	}
	return filepath.Join(userHome, ".local", "share", "whippletree"), nil
}

// maxSocketPath keeps below the shortest limit of a socket's name (104 bytes
// on macOS) with room for a temporary one beside it.
const maxSocketPath = 100

// SocketPath is where a host of this home listens when none runs yet: a long
// home has its socket in a short private folder.
func SocketPath(home string) string {
	path := filepath.Join(home, "run", "host.sock")
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(home))
	name := "whippletree-" + strconv.Itoa(os.Getuid()) + "-" + hex.EncodeToString(sum[:6])
	return filepath.Join("/tmp", name, "host.sock")
}

// Running is what the lock file says of the host that holds it.
type Running struct {
	Pid     int    `json:"pid"`
	Socket  string `json:"socket"`
	Version string `json:"version"`
}

// ErrRunning is returned by Start when another host has the home.
var ErrRunning = errors.New("another host runs for this home")

const lockName = "host.lock"

// lockHome takes the home or returns ErrRunning.
func lockHome(home string, r Running) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(home, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrRunning
		}
		return nil, err
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// FindRunning reads the lock file: ok is true when a host holds it now.
func FindRunning(home string) (r Running, ok bool) {
	f, err := os.Open(filepath.Join(home, lockName))
	if err != nil {
		return r, false
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return r, false // closing f gives it up
	}
	raw := make([]byte, 4096)
	n, _ := f.ReadAt(raw, 0)
	if json.Unmarshal(raw[:n], &r) != nil || r.Socket == "" {
		return r, false
	}
	return r, true
}

// privateDir makes a directory that only this user can enter and refuses one
// that somebody else made there.
func privateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d", path, sys.Uid)
	}
	if st.Mode().Perm() != 0o700 {
		return os.Chmod(path, 0o700)
	}
	return nil
}
