package attachments

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pixel is a whole picture of one pixel.
var pixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

const chat = "11111111-2222-3333-4444-555555555555"

func open(t *testing.T) *Store {
	s, err := Open(filepath.Join(t.TempDir(), "attachments"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKeepsByContent(t *testing.T) {
	s := open(t)
	a, err := s.Keep(chat, New{Name: "shot.png", Mime: "image/jpeg", Bytes: pixel})
	if err != nil {
		t.Fatal(err)
	}
	if a.Kind != "image" || a.Mime != "image/png" || a.Name != "shot.png" || a.Size != int64(len(pixel)) || !s.Has(chat, a) {
		t.Errorf("%+v", a)
	}
	for path, mode := range map[string]os.FileMode{a.Path: 0o600, filepath.Dir(a.Path): 0o700, s.dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Error(path, info.Mode(), err)
		}
	}
	again, err := s.Keep(chat, New{Name: "shot.png", Bytes: pixel})
	if err != nil || again.Path != a.Path || again.ID != a.ID {
		t.Errorf("%+v %v", again, err)
	}
	var got []byte
	for offset := int64(0); ; {
		part, next, size, err := s.Read(chat, a.ID, offset, 7)
		if err != nil || size != a.Size {
			t.Fatal(size, err)
		}
		got = append(got, part...)
		if offset = next; next == 0 {
			break
		}
	}
	if !bytes.Equal(got, pixel) {
		t.Error("what is read is not what was kept")
	}
	if err := s.Remove(chat); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.Read(chat, a.ID, 0, 10); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestWhatItIsSaysItsContent(t *testing.T) {
	s := open(t)
	for _, in := range []struct {
		name, mime string
		data       []byte
		kind, as   string
	}{
		{"a.png", "image/png", []byte("<svg onload=x>"), "text", "a.png"},
		{"notes", "", []byte("täxt"), "text", "notes"},
		{"photo", "", pixel, "image", "photo.png"},
		{"x.bin", "", []byte{0, 1, 2}, "file", "x.bin"},
		{"", "", pixel, "image", "image.png"},
		{"../../.ssh/id", "", []byte("k"), "text", "id"},
		{"..", "", []byte("k"), "text", "text.txt"},
		{"a\u202Egnp.exe", "", []byte("k"), "text", "agnp.exe"},
		{strings.Repeat("ö", 300) + ".md", "", []byte("k"), "text", strings.Repeat("ö", 88) + ".md"},
	} {
		a, err := s.Keep(chat, New{Name: in.name, Mime: in.mime, Bytes: in.data})
		if err != nil || a.Kind != in.kind || a.Name != in.as || filepath.Dir(filepath.Dir(a.Path)) != filepath.Join(s.dir, chat) {
			t.Errorf("%q: %+v %v", in.name, a, err)
		}
	}
}

func TestLimits(t *testing.T) {
	s := open(t)
	var bad *InvalidError
	big := append(bytes.Clone(pixel), make([]byte, MaxImage)...)
	for _, n := range []New{{Name: "big.png", Bytes: big}, {Name: "none"}, {Name: "huge", Bytes: make([]byte, MaxFile+1)}, {Path: "relative"}, {Path: filepath.Join(t.TempDir(), "gone")}} {
		if _, err := s.Keep(chat, n); !errors.As(err, &bad) {
			t.Error(n.Name, n.Path, err)
		}
	}
	for _, id := range []string{"../x", "", ".", "a/b", strings.Repeat("a", 4096), "a\x00b"} {
		if _, err := s.Keep(id, New{Bytes: pixel}); !errors.As(err, &bad) {
			t.Errorf("%.20q: %v", id, err)
		}
		if _, _, _, err := s.Read(chat, id, 0, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("%.20q: %v", id, err)
		}
		if err := s.Remove(id); err != nil {
			t.Errorf("%.20q: %v", id, err)
		}
	}
}

// A file of the person's goes as it is; a picture is kept, because it is shown.
func TestOwnFiles(t *testing.T) {
	s := open(t)
	dir := t.TempDir()
	doc, shot, fifo := filepath.Join(dir, "a b.pdf"), filepath.Join(dir, "shot.png"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(doc, []byte("%PDF-1.7\x00"), 0o644), os.WriteFile(shot, pixel, 0o644), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	a, err := s.Keep(chat, New{Path: doc})
	if err != nil || a.Path != doc || a.ID != "" || a.Kind != "file" || a.Name != "a b.pdf" {
		t.Errorf("%+v %v", a, err)
	}
	if a, err = s.Keep(chat, New{Path: shot}); err != nil || a.ID == "" || !s.Has(chat, a) {
		t.Errorf("%+v %v", a, err)
	}
	if _, err = s.Keep(chat, New{Path: fifo}); err == nil {
		t.Error("a pipe was attached")
	}
	if a, err = s.Keep(chat, New{Path: dir}); err != nil || a.Mime != "inode/directory" {
		t.Errorf("%+v %v", a, err)
	}
}

func TestSweepLeavesWhatIsKnown(t *testing.T) {
	s := open(t)
	for _, id := range []string{"known", "gone"} {
		if _, err := s.Keep(id, New{Bytes: pixel}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sweep(func(id string) bool { return id == "known" }); err != nil {
		t.Fatal(err)
	}
	list, _ := os.ReadDir(s.dir)
	if len(list) != 1 || list[0].Name() != "known" {
		t.Error(list)
	}
}
