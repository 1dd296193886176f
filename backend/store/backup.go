package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// backupsKept is how many copies from before a change of the format are kept.
const backupsKept = 2

// Backup is a copy of the database from before its format was changed.
type Backup struct {
	Path   string
	Format int
	At     int64 // epoch milliseconds
	Size   int64 // bytes
}

// backups is the folder of the copies beside the database.
func backups(path string) string { return filepath.Join(filepath.Dir(path), "backups") }

// Backups lists the copies beside a database, the newest first.
func Backups(path string) []Backup {
	entries, _ := os.ReadDir(backups(path)) // none: there are no copies
	var list []Backup
	for _, e := range entries {
		name, ours := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".db"), "format-")
		format, at, named := strings.Cut(name, "-")
		info, err := e.Info()
		if !ours || !named || err != nil || !info.Mode().IsRegular() {
			continue
		}
		b := Backup{Path: filepath.Join(backups(path), e.Name()), Size: info.Size()}
		if b.Format, err = strconv.Atoi(format); err != nil {
			continue
		}
		if b.At, err = strconv.ParseInt(at, 10, 64); err != nil {
			continue
		}
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b Backup) int { return int(b.At - a.At) })
	return list
}

// backup copies the database as it is into a file of its own, whole or not at
// all, and removes the oldest copies. Nothing of the database is changed.
func backup(tx *Tx, path string, have int) error {
	dir := backups(path)
	if err := private(dir); err != nil {
		return fmt.Errorf("the folder for copies of the database: %w", err)
	}
	removeParts(dir) // of a killed one
	name := filepath.Join(dir, fmt.Sprintf("format-%d-%d.db", have, tx.now().UnixMilli()))
	part := name + ".part"
	err := copyInto(tx, part)
	if err == nil {
		err = os.Rename(part, name)
	}
	if err == nil {
		err = syncFolder(dir)
	}
	if err != nil {
		removeParts(dir)
		if isFull(err) {
			return fmt.Errorf("this version keeps the database in another format and first makes a copy of it, for which there is no room: free %d MB on the disk of %s and start again. "+
				"Nothing was changed: %w", sizeMB(path), dir, ErrFull)
		}
		return fmt.Errorf("a copy of the database before its format is changed: %w", err)
	}
	for i, old := range Backups(path) {
		if i >= backupsKept {
			_ = os.Remove(old.Path) // tried again with the next one
		}
	}
	return nil
}

// removeParts removes copies that were not finished, with their journals.
func removeParts(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, "*.part*"))
	for _, part := range left {
		_ = os.Remove(part)
	}
}

// copyInto writes the database into a new private file.
func copyInto(tx *Tx, file string) error {
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// The file is empty, so that SQLite writes into it and keeps its mode.
	if _, err := tx.conn.ExecContext(context.Background(), "VACUUM INTO ?", file); err != nil {
		return err
	}
	if f, err = os.OpenFile(file, os.O_RDWR, 0o600); err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

func sizeMB(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 1
	}
	return info.Size()>>20 + 1
}
