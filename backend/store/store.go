package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// FileName of the database in the directory given to Open.
const FileName = "whippletree.db"

// queueLength bounds what waits for the writer; a sender beyond it waits.
const queueLength = 256

// Options of OpenWith. The zero value is what Open uses.
type Options struct {
	// Ballast is the size in bytes of the file that is given up to write the
	// end of things on a full disk; 0 means 4 MiB, negative none.
	Ballast int64
	// OnFull is called from the writer's goroutine when storing stops being
	// possible (true) and when it works again (false). It must not block.
	OnFull func(full bool)
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// Store is an open database. All methods may be called from any goroutine.
type Store struct {
	dir     string
	path    string
	opts    Options
	writer  *sql.DB
	readers *sql.DB
	tx      *Tx

	commands chan *command
	closing  chan struct{}
	closed   chan struct{}
	wrote    chan struct{} // something was committed since the indexer looked
	indexed  chan struct{} // closed when the indexer has ended
	stop     func()        // ends the indexer
	once     sync.Once
	closeErr error
	full     atomic.Bool
	commits  atomic.Int64
	ballast  ballast
	// groupTime bounds the time of one transaction.
	groupTime time.Duration
}

// Open opens or creates the database in dir, which is created with mode 0700.
// Errors: NewerError, DamagedError, ErrFull and those of the file system.
func Open(dir string) (*Store, error) { return OpenWith(dir, Options{}) }

// OpenWith is Open with options.
func OpenWith(dir string, opts Options) (*Store, error) {
	if opts.Ballast == 0 {
		opts.Ballast = 4 << 20
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("the data folder: %w", err)
	}
	path := filepath.Join(dir, FileName)
	// The file exists with mode 0600 before SQLite sees it; its WAL and shared
	// memory files take the mode of the database.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	err = f.Chmod(0o600)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	s := &Store{
		dir: dir, path: path, opts: opts,
		commands: make(chan *command, queueLength),
		closing:  make(chan struct{}), closed: make(chan struct{}), groupTime: groupTime,
		wrote: make(chan struct{}, 1), indexed: make(chan struct{}),
		ballast: ballast{path: filepath.Join(dir, "ballast"), size: opts.Ballast},
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	s.ballast.fill()
	s.wrote <- struct{}{} // what an earlier run left
	go s.run()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.index(ctx)
	return s, nil
}

func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

func (s *Store) open() error {
	writer, err := sql.Open("sqlite", dsn(s.path, []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)",
		"foreign_keys(ON)", "temp_store(MEMORY)", "wal_autocheckpoint(1000)", "journal_size_limit(67108864)"}, true))
	if err != nil {
		return err
	}
	writer.SetMaxOpenConns(1)
	conn, err := writer.Conn(context.Background())
	if err == nil {
		s.tx = &Tx{conn: conn, stmts: map[string]*sql.Stmt{}, now: s.opts.Now}
		err = migrate(s.tx, s.path)
	}
	if err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		_ = writer.Close()
		switch {
		case errors.Is(err, ErrFull):
			return err
		case isFull(err):
			return fmt.Errorf("%w (%s)", ErrFull, s.path)
		case code(err) == sqlite3.SQLITE_NOTADB, code(err) == sqlite3.SQLITE_CORRUPT:
			return &DamagedError{Path: s.path, Err: err}
		}
		var newer *NewerError
		if errors.As(err, &newer) {
			return newer
		}
		return fmt.Errorf("the database %s: %w", s.path, err)
	}
	readers, err := sql.Open("sqlite", dsn(s.path, []string{"busy_timeout(5000)", "query_only(ON)", "cache_size(-8192)"}, false))
	if err != nil {
		_ = conn.Close()
		_ = writer.Close()
		return err
	}
	readers.SetMaxOpenConns(4)
	readers.SetMaxIdleConns(2)
	s.writer, s.readers = writer, readers
	return nil
}

func dsn(path string, pragmas []string, immediate bool) string {
	q := url.Values{}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	if immediate {
		q.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// Path of the database file.
func (s *Store) Path() string { return s.path }

// Full reports whether storing is impossible for want of space.
func (s *Store) Full() bool { return s.full.Load() }

// Commits counts the transactions committed so far.
func (s *Store) Commits() int64 { return s.commits.Load() }

// Close writes what was sent before, and closes. It is idempotent.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.stop()
		<-s.indexed
		close(s.closing)
		<-s.closed
		ctx := context.Background()
		rerr := s.readers.Close()
		_, _ = s.tx.conn.ExecContext(ctx, "PRAGMA optimize")
		_, _ = s.tx.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		for _, st := range s.tx.stmts {
			_ = st.Close()
		}
		s.closeErr = errors.Join(rerr, s.tx.conn.Close(), s.writer.Close())
	})
	return s.closeErr
}
