//go:build linux || darwin

package projects

import (
	"io/fs"
	"syscall"
)

// identityOf is by device and inode: on macOS the same folder may be named in
// two Unicode forms (NFC, NFD) and in any case.
func identityOf(info fs.FileInfo) (identity, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{uint64(st.Dev), uint64(st.Ino)}, true
}
