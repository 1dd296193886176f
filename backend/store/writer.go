package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Bounds of one transaction.
const (
	groupCommands = 50
	groupTime     = 2 * time.Millisecond
)

// command is one unit of work of the writer. do may run twice (after a full
// disk) and must change nothing but the transaction.
type command struct {
	ctx    context.Context
	do     func(*Tx) error
	urgent bool
	quiet  bool // leaves nothing to index
	done   func(error)
}

// Tx is the running transaction as a command sees it. It is valid only inside
// the function it was given to. All functions see earlier changes.
type Tx struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	now   func() time.Time
}

// Do runs do in a transaction of the writer and returns after the commit. When
// do returns an error nothing of it is stored. do may run twice and must have no
// effect but through tx; it must not call the Store. A ctx that ends while the
// command waits in the queue cancels it; later the outcome is unknown to the
// caller, who gets the cause.
func (s *Store) Do(ctx context.Context, do func(tx *Tx) error) error {
	return s.wait(ctx, do, false)
}

// DoUrgent is Do for what must be written even on a full disk, at the cost of
// the ballast.
func (s *Store) DoUrgent(ctx context.Context, do func(tx *Tx) error) error {
	return s.wait(ctx, do, true)
}

func (s *Store) wait(ctx context.Context, do func(*Tx) error, urgent bool) error {
	return s.perform(&command{ctx: ctx, do: do, urgent: urgent})
}

// perform gives a command to the writer and waits for its answer.
func (s *Store) perform(c *command) error {
	ctx := c.ctx
	answer := make(chan error, 1)
	c.done = func(err error) { answer <- err }
	if err := s.enqueue(c); err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closed:
	}
	select {
	case err := <-answer:
		return err
	default:
		return ErrClosed
	}
}

// Send is Do without waiting: done (which may be nil and must not block) is
// called from the writer's goroutine after the commit. Commands of one sender
// are run in the order they were sent. Send blocks while the queue is full.
func (s *Store) Send(do func(tx *Tx) error, done func(error)) error {
	if done == nil {
		done = func(error) {}
	}
	return s.enqueue(&command{ctx: context.Background(), do: do, done: done})
}

func (s *Store) enqueue(c *command) error {
	select {
	case <-s.closing:
		return ErrClosed
	default:
	}
	select {
	case s.commands <- c:
		return nil
	case <-s.closing:
		return ErrClosed
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

func (s *Store) run() {
	defer close(s.closed)
	for {
		select {
		case c := <-s.commands:
			s.group(c)
		case <-s.closing:
			for {
				select {
				case c := <-s.commands:
					s.group(c)
				default:
					return
				}
			}
		}
	}
}

// group runs first and what already waits in one transaction.
func (s *Store) group(first *command) {
	if s.full.Load() {
		s.ballast.fill()
		s.alone(first)
		return
	}
	if err := s.tx.exec("BEGIN IMMEDIATE"); err != nil {
		s.failed([]*command{first}, err)
		return
	}
	begun := time.Now()
	var ran []*command
	var answers []error
	for c := first; c != nil; {
		var err, broken error
		if len(ran) == 0 {
			err, broken = s.tx.first(c)
		} else {
			err = s.tx.nested(c)
		}
		ran, answers = append(ran, c), append(answers, err)
		if isFull(err) {
			s.tx.rollback()
			s.failed(ran, err)
			return
		}
		if broken != nil {
			s.failed(ran, broken)
			return
		}
		c = nil
		if len(ran) < groupCommands && time.Since(begun) < s.groupTime {
			select {
			case c = <-s.commands:
			default:
			}
		}
	}
	if err := s.tx.exec("COMMIT"); err != nil {
		s.tx.rollback()
		s.failed(ran, err)
		return
	}
	s.committed(ran...)
	for i, c := range ran {
		c.done(answers[i])
	}
}

// committed counts a transaction and wakes the indexer.
func (s *Store) committed(list ...*command) {
	s.commits.Add(1)
	for _, c := range list {
		if !c.quiet {
			select {
			case s.wrote <- struct{}{}:
			default:
			}
			return
		}
	}
}

// failed answers a transaction that could not be committed. On a full disk
// every command gets its own, smaller chance.
func (s *Store) failed(list []*command, err error) {
	if !isFull(err) {
		for _, c := range list {
			c.done(fmt.Errorf("storing failed: %w", err))
		}
		return
	}
	s.setFull(true)
	for _, c := range list {
		s.alone(c)
	}
}

// alone runs one command in a transaction of its own while the disk is full.
func (s *Store) alone(c *command) {
	if !c.urgent && s.full.Load() && s.ballast.gone() {
		c.done(ErrFull)
		return
	}
	err := s.single(c)
	if isFull(err) && c.urgent && s.ballast.drop() {
		err = s.single(c)
	}
	if isFull(err) {
		s.setFull(true)
		err = ErrFull
	} else if !s.ballast.gone() {
		s.setFull(false)
	}
	c.done(err)
}

func (s *Store) single(c *command) error {
	if err := s.tx.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := s.tx.nested(c)
	if isFull(err) {
		s.tx.rollback()
		return err
	}
	if cerr := s.tx.exec("COMMIT"); cerr != nil {
		s.tx.rollback()
		return cerr
	}
	s.committed(c)
	return err
}

func (s *Store) setFull(full bool) {
	if s.full.Swap(full) != full && s.opts.OnFull != nil {
		s.opts.OnFull(full)
	}
}

// first runs the first command of a transaction. There is nothing before it that
// its failure could undo, so the transaction is begun anew then, and no copies are
// kept for a savepoint. broken says that no transaction is open any more.
func (tx *Tx) first(c *command) (err, broken error) {
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx), nil
	}
	if err = c.do(tx); err == nil || isFull(err) {
		return err, nil
	}
	if broken = tx.exec("ROLLBACK"); broken == nil {
		broken = tx.exec("BEGIN IMMEDIATE")
	}
	return err, broken
}

// nested runs a command so that its failure undoes only itself.
func (tx *Tx) nested(c *command) error {
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	if err := tx.exec("SAVEPOINT command"); err != nil {
		return err
	}
	err := c.do(tx)
	if err != nil {
		if isFull(err) {
			return err
		}
		if rerr := tx.exec("ROLLBACK TO command"); rerr != nil {
			return errors.Join(err, rerr)
		}
	}
	if rerr := tx.exec("RELEASE command"); rerr != nil && err == nil {
		return rerr
	}
	return err
}

func (tx *Tx) rollback() { _ = tx.exec("ROLLBACK") }

// stmt prepares each text once; the texts are constants of this package.
func (tx *Tx) stmt(query string) (*sql.Stmt, error) {
	if st := tx.stmts[query]; st != nil {
		return st, nil
	}
	st, err := tx.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	tx.stmts[query] = st
	return st, nil
}

func (tx *Tx) exec(query string, args ...any) error {
	_, err := tx.changed(query, args...)
	return err
}

// changed is exec that tells how many rows it touched.
func (tx *Tx) changed(query string, args ...any) (int64, error) {
	st, err := tx.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (tx *Tx) query(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := tx.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(context.Background(), args...)
}

// querier is the writer's transaction or the pool of readers: every read exists
// once and works on both.
type querier interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type reader struct{ db *sql.DB }

func (r reader) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.db.QueryContext(ctx, query, args...)
}

func (s *Store) read() querier { return reader{s.readers} }

// each calls scan for every row and closes them promptly: an open reader keeps
// the WAL from being folded in.
func each(ctx context.Context, q querier, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// one scans a single row into dest; ErrNotFound when there is none.
func one(ctx context.Context, q querier, dest []any, query string, args ...any) error {
	found := false
	err := each(ctx, q, func(r *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return r.Scan(dest...)
	}, query, args...)
	if err == nil && !found {
		return ErrNotFound
	}
	return err
}
