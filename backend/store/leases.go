package store

import (
	"context"
	"errors"
	"fmt"
)

// Lease says which host writes to a session. Pid, Start and Boot identify the
// holding host's process.
type Lease struct {
	Harness  string `json:"harness"`
	NativeID string `json:"nativeId"`
	Holder   string `json:"holder"` // the host's epoch
	Pid      int    `json:"pid"`
	Start    uint64 `json:"start"`
	Boot     string `json:"boot"`
	At       int64  `json:"at"`
}

// TakeLease takes a session by compare-and-swap: it succeeds when nobody holds
// it, when the same Holder does, or when alive (asked about the lease in the
// way; quick, without effects) says that the holder is gone. current is who
// holds it afterwards.
func (s *Store) TakeLease(ctx context.Context, l Lease, alive func(Lease) bool) (current Lease, taken bool, err error) {
	err = s.Do(ctx, func(tx *Tx) error {
		current, taken, err = tx.TakeLease(l, alive)
		return err
	})
	return current, taken, err
}

func (tx *Tx) TakeLease(l Lease, alive func(Lease) bool) (Lease, bool, error) {
	if l.Harness == "" || l.NativeID == "" || l.Holder == "" {
		return Lease{}, false, fmt.Errorf("a lease needs harness, session and holder: %w", ErrConflict)
	}
	old, err := leaseOf(context.Background(), tx, l.Harness, l.NativeID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Lease{}, false, err
	}
	if err == nil && old.Holder != l.Holder && (alive == nil || alive(old)) {
		return old, false, nil
	}
	err = tx.exec("INSERT OR REPLACE INTO leases(harness, native_id, holder, pid, start, boot, at) VALUES(?,?,?,?,?,?,?)",
		l.Harness, l.NativeID, l.Holder, l.Pid, int64(l.Start), l.Boot, l.At)
	return l, err == nil, err
}

// MoveLease follows a session to its new native id; ErrConflict when the lease
// is not the holder's or the new id is held by another.
func (s *Store) MoveLease(ctx context.Context, harness, oldID, newID, holder string) error {
	return s.Do(ctx, func(tx *Tx) error {
		n, err := tx.changed("UPDATE OR IGNORE leases SET native_id = ? WHERE harness = ? AND native_id = ? AND holder = ?", newID, harness, oldID, holder)
		if err != nil || n == 1 {
			return err
		}
		if l, err := leaseOf(context.Background(), tx, harness, newID); err == nil && l.Holder == holder {
			return nil
		}
		return fmt.Errorf("the lease of %s: %w", oldID, ErrConflict)
	})
}

// ReleaseLease gives a session up; a lease of another holder stays.
func (s *Store) ReleaseLease(ctx context.Context, harness, nativeID, holder string) error {
	return s.Do(ctx, func(tx *Tx) error {
		return tx.exec("DELETE FROM leases WHERE harness = ? AND native_id = ? AND holder = ?", harness, nativeID, holder)
	})
}

// Lease returns who holds a session; ErrNotFound.
func (s *Store) Lease(ctx context.Context, harness, nativeID string) (Lease, error) {
	return leaseOf(ctx, s.read(), harness, nativeID)
}

func leaseOf(ctx context.Context, q querier, harness, nativeID string) (Lease, error) {
	l := Lease{Harness: harness, NativeID: nativeID}
	var start int64
	err := one(ctx, q, []any{&l.Holder, &l.Pid, &start, &l.Boot, &l.At},
		"SELECT holder, pid, start, boot, at FROM leases WHERE harness = ? AND native_id = ?", harness, nativeID)
	l.Start = uint64(start)
	return l, err
}
