package host

import (
	"net"
	"os"
	"path/filepath"
)

// listen makes the socket 0600 in a 0700 folder whatever the umask: it is bound
// under a temporary name in the private folder, restricted, and only then named.
// A stale socket is replaced; the lock has proved that nobody listens there.
func listen(path string) (*net.UnixListener, error) {
	dir := filepath.Dir(path)
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	tmp := filepath.Join(dir, ".s")
	_ = os.Remove(tmp)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it has another name; Stop removes it
	err = os.Chmod(tmp, 0o600)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = l.Close()
		_ = os.Remove(tmp)
		return nil, err
	}
	return l, nil
}
