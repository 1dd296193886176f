package settings

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/whippletree-app/whippletree/backend/store/smalldisk"
)

// Case C01: on a full disk the old file stays and the error says so.
func TestC01FullDisk(t *testing.T) {
	disk, done := smalldisk.Mount(t, "1m")
	if done {
		return
	}
	path := filepath.Join(disk, FileName)
	write(t, path, `{"general": {"zoom": 90}}`)
	f := open(t, path)
	hog, err := os.Create(filepath.Join(disk, "hog"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hog.Close() }()
	for err == nil {
		_, err = hog.Write(make([]byte, 4096))
	}
	if _, err := f.Set("general.zoom", json.RawMessage("110")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if got := read(t, path); got != `{"general": {"zoom": 90}}` || f.Values().General.Zoom != 90 {
		t.Errorf("%s", got)
	}
	if err := os.Remove(hog.Name()); err != nil {
		t.Fatal(err)
	}
	_ = hog.Close()
	set(t, f, "general.zoom", "110")
}
