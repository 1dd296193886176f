package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// target follows a link, also one that leads nowhere yet, to the file that is
// to be written. The link itself is never replaced.
func target(path string) (string, error) {
	for range 40 {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Relative to where the link really is, not to how it was reached.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", errors.New("too many links")
}

const tempMark = ".whippletree-"

// writeThrough replaces the content of path, through links, so that a reader or
// a crash at any moment finds the old or the new content. Mode and owner are
// kept; a new file has mode 0600. step is called before each step, for tests.
func writeThrough(path string, content []byte, step func(string)) (err error) {
	file, err := target(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	old, serr := os.Stat(file)
	if serr == nil {
		if !old.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", file)
		}
		mode = old.Mode().Perm()
	} else if !errors.Is(serr, fs.ErrNotExist) {
		return serr
	}
	step("create")
	f, err := os.CreateTemp(dir, "."+filepath.Base(file)+tempMark+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	step("write")
	if _, err := f.Write(content); err != nil {
		return err
	}
	if serr == nil {
		if err := keepOwner(f, old); err != nil {
			return err
		}
	}
	step("mode")
	if err := f.Chmod(mode); err != nil {
		return err
	}
	step("sync")
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	step("rename")
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	step("renamed")
	return syncDir(dir)
}

func keepOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	now, err := f.Stat()
	if err != nil || !ok {
		return err
	}
	is, ok := now.Sys().(*syscall.Stat_t)
	if !ok || (was.Uid == is.Uid && was.Gid == is.Gid) {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		if was.Uid == is.Uid { // the group alone cannot be kept; the mode is not widened by that
			return nil
		}
		return fmt.Errorf("the file belongs to another user (%d) and would not any more: %w", was.Uid, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	// Some file systems cannot sync a folder; the rename is done nevertheless.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// sweep removes what a killed write left beside the file.
func sweep(path string) {
	file, err := target(path)
	if err != nil {
		return
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+filepath.Base(file)+tempMark) {
			_ = os.Remove(filepath.Join(filepath.Dir(file), e.Name()))
		}
	}
}
