package attachments

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// ErrNotFound says that nothing is kept under the id.
var ErrNotFound = errors.New("the attachment is not there any more")

// InvalidError is what a person can change: too large, empty, not a file.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return e.Reason }

func invalid(format string, args ...any) error {
	return &InvalidError{fmt.Sprintf(format, args...)}
}

var (
	chatID    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,127}$`)
	contentID = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// Store keeps attachments below one folder. It has no state but the files; its
// methods are safe for concurrent use.
type Store struct{ dir string }

// Open makes the folder when it is missing.
func Open(dir string) (*Store, error) {
	return &Store{dir}, os.MkdirAll(dir, 0o700)
}

// New is what is to be kept: Bytes, or the file at Path.
type New struct {
	Name, Mime string
	Bytes      []byte
	Path       string
}

// Keep stores a content for a chat and returns the attachment that stands for it.
// The same content again is the same file. A file at a path that is no picture is
// not copied: the agent gets the person's own file. InvalidError for what breaks
// a limit.
func (s *Store) Keep(chat string, n New) (agent.Attachment, error) {
	if !chatID.MatchString(chat) {
		return agent.Attachment{}, invalid("There is no chat of this id.")
	}
	if n.Path != "" {
		if a, whole, err := s.own(n); err != nil || whole {
			return a, err
		}
		data, err := readFile(n.Path)
		if err != nil {
			return agent.Attachment{}, err
		}
		n.Name, n.Bytes = filepath.Base(n.Path), data
	}
	if len(n.Bytes) == 0 {
		return agent.Attachment{}, invalid("%s is empty.", fileName(n.Name, "file", ""))
	}
	kind, mime := kindOf(n.Bytes, n.Mime)
	limit := MaxFile
	if kind == "image" {
		limit = MaxImage
	}
	name := fileName(n.Name, kind, mime)
	if len(n.Bytes) > limit {
		return agent.Attachment{}, invalid("%s is %.1f MB, at most %d MB can be attached.", name, float64(len(n.Bytes))/(1<<20), limit>>20)
	}
	sum := sha256.Sum256(n.Bytes)
	id := hex.EncodeToString(sum[:16])
	path := filepath.Join(s.dir, chat, id, name)
	if err := put(path, n.Bytes); err != nil {
		return agent.Attachment{}, fmt.Errorf("the attachment could not be kept: %w", err)
	}
	return agent.Attachment{ID: id, Kind: kind, Name: name, Mime: mime, Path: path, Size: int64(len(n.Bytes))}, nil
}

// own looks at a file of the person's. whole says that it goes as it is.
func (s *Store) own(n New) (a agent.Attachment, whole bool, err error) {
	if !filepath.IsAbs(n.Path) {
		return a, false, invalid("%s is not an absolute path.", fileName(n.Path, "file", ""))
	}
	n.Path = filepath.Clean(n.Path)
	info, err := os.Stat(n.Path)
	name := fileName(n.Path, "file", "")
	switch {
	case err != nil:
		return a, false, invalid("%s cannot be read: %v.", name, errors.Unwrap(err))
	case info.IsDir():
		return agent.Attachment{Kind: "file", Name: name, Mime: "inode/directory", Path: n.Path}, true, nil
	case !info.Mode().IsRegular():
		return a, false, invalid("%s is no file.", name)
	}
	head := make([]byte, 512)
	f, err := os.Open(n.Path)
	if err != nil {
		return a, false, invalid("%s cannot be read: %v.", name, errors.Unwrap(err))
	}
	defer func() { _ = f.Close() }()
	got, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return a, false, invalid("%s cannot be read: %v.", name, err)
	}
	kind, mime := kindOf(head[:got], n.Mime)
	if kind == "image" && info.Size() <= MaxImage {
		return a, false, nil
	}
	return agent.Attachment{Kind: "file", Name: name, Mime: mime, Path: n.Path, Size: info.Size()}, true, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, invalid("%s cannot be read: %v.", filepath.Base(path), errors.Unwrap(err))
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// put writes a file whole or not at all. One that is there has the same content:
// its folder is named after it.
func put(path string, data []byte) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(data)) {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// find opens what is kept under an id.
func (s *Store) find(chat, id string) (*os.File, error) {
	if !chatID.MatchString(chat) || !contentID.MatchString(id) {
		return nil, ErrNotFound
	}
	dir := filepath.Join(s.dir, chat, id)
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, ErrNotFound
	}
	for _, e := range list {
		if e.Type().IsRegular() && e.Name()[0] != '.' {
			f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
			if err != nil {
				return nil, ErrNotFound
			}
			return f, nil
		}
	}
	return nil, ErrNotFound
}

// Read returns at most limit bytes of what is kept from offset on; next is 0 at
// the end.
func (s *Store) Read(chat, id string, offset int64, limit int) (data []byte, next, size int64, err error) {
	f, err := s.find(chat, id)
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, 0, err
	}
	size = info.Size()
	if offset < 0 || offset > size {
		return nil, 0, size, invalid("The place lies outside of the file.")
	}
	data = make([]byte, min(int64(limit), size-offset))
	n, err := f.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, size, err
	}
	if end := offset + int64(n); end < size && n > 0 {
		next = end
	}
	return data[:n], next, size, nil
}

// Has tells whether path is one that this store gave out for the chat.
func (s *Store) Has(chat string, a agent.Attachment) bool {
	return chatID.MatchString(chat) && contentID.MatchString(a.ID) && a.Path == filepath.Join(s.dir, chat, a.ID, fileName(a.Name, a.Kind, a.Mime)) && filepath.Dir(filepath.Dir(a.Path)) == filepath.Join(s.dir, chat)
}

// Remove forgets everything of a chat.
func (s *Store) Remove(chat string) error {
	if !chatID.MatchString(chat) {
		return nil
	}
	return os.RemoveAll(filepath.Join(s.dir, chat))
}

// Sweep removes the folders of chats that are not known any more (a crash between
// the two). Only what this package makes is touched.
func (s *Store) Sweep(known func(chat string) bool) error {
	list, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range list {
		if e.IsDir() && chatID.MatchString(e.Name()) && !known(e.Name()) {
			errs = append(errs, s.Remove(e.Name()))
		}
	}
	return errors.Join(errs...)
}
