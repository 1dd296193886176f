package store

import (
	"context"
	"database/sql"
)

// Helper is a process we started: enough to prove later that it is ours (the
// members of processes.Helper). Start and Boot are the kernel's; Owner names the
// chat, terminal or extension it works for.
type Helper struct {
	Pid     int    `json:"pid"`
	Start   uint64 `json:"start"`
	Boot    string `json:"boot"`
	ID      string `json:"id"`  // value of the marker in its environment
	Sid     int    `json:"sid"` // kernel session
	Purpose string `json:"purpose"`
	Owner   string `json:"owner"`
	Argv0   string `json:"argv0"`
	At      int64  `json:"at"`
}

// HelperStarted notes a process right after its start, on a full disk too.
func (s *Store) HelperStarted(ctx context.Context, h Helper) error {
	return s.DoUrgent(ctx, func(tx *Tx) error {
		return tx.exec("INSERT OR REPLACE INTO helpers(pid, start, boot, id, sid, purpose, owner, argv0, at) VALUES(?,?,?,?,?,?,?,?,?)",
			h.Pid, int64(h.Start), h.Boot, h.ID, h.Sid, h.Purpose, h.Owner, h.Argv0, h.At)
	})
}

// HelperEnded forgets a process.
func (s *Store) HelperEnded(ctx context.Context, pid int, start uint64, boot string) error {
	return s.Do(ctx, func(tx *Tx) error {
		return tx.exec("DELETE FROM helpers WHERE pid = ? AND start = ? AND boot = ?", pid, int64(start), boot)
	})
}

// Helpers lists what was started and not known to have ended.
func (s *Store) Helpers(ctx context.Context) ([]Helper, error) {
	var list []Helper
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var h Helper
		var start int64
		err := r.Scan(&h.Pid, &start, &h.Boot, &h.ID, &h.Sid, &h.Purpose, &h.Owner, &h.Argv0, &h.At)
		h.Start = uint64(start)
		list = append(list, h)
		return err
	}, "SELECT pid, start, boot, id, sid, purpose, owner, argv0, at FROM helpers ORDER BY at, rowid")
	return list, err
}
