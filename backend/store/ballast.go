package store

import (
	"errors"
	"io/fs"
	"os"
)

// ballast is a file of real blocks that is removed to get the last things
// written on a full disk. Only the writer's goroutine uses it after Open.
type ballast struct {
	path string
	size int64
}

// gone reports whether a wanted ballast is missing.
func (b ballast) gone() bool {
	if b.size <= 0 {
		return false
	}
	info, err := os.Stat(b.path)
	return err != nil || info.Size() < b.size
}

// fill writes the ballast; false when there is no room for it.
func (b ballast) fill() bool {
	if b.size <= 0 || !b.gone() {
		return true
	}
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	// Not zeros: a file system that compresses or keeps holes would hold no room.
	block := make([]byte, 64<<10)
	x := uint32(2463534242)
	for i := range block {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		block[i] = byte(x)
	}
	for left := b.size; left > 0 && err == nil; left -= int64(len(block)) {
		_, err = f.Write(block[:min(left, int64(len(block)))])
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(b.path)
		return false
	}
	return true
}

// drop gives the room up; false when there was none to give.
func (b ballast) drop() bool {
	err := os.Remove(b.path)
	return err == nil || (b.size > 0 && !errors.Is(err, fs.ErrNotExist))
}
