package store

import (
	"context"
	"fmt"
)

// migrations[i] brings a database of format i to i+1. A published one is never
// changed.
var migrations = []string{`
CREATE TABLE chats (
  k INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  client_id TEXT UNIQUE,
  harness TEXT NOT NULL,
  native_id TEXT NOT NULL,
  archived INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX chats_native ON chats(harness, native_id) WHERE native_id <> '';
CREATE INDEX chats_updated ON chats(updated_at DESC);

CREATE TABLE rows (
  chat INTEGER NOT NULL REFERENCES chats(k) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  item_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  settled INTEGER NOT NULL,
  open INTEGER NOT NULL,
  via TEXT NOT NULL,
  big TEXT NOT NULL,
  item TEXT NOT NULL,
  UNIQUE(chat, seq),
  UNIQUE(chat, item_id)
) STRICT;
CREATE INDEX rows_open ON rows(chat, seq) WHERE open = 1 OR settled = 0;

CREATE TABLE content (
  chat INTEGER NOT NULL REFERENCES chats(k) ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  field TEXT NOT NULL,
  part INTEGER NOT NULL,
  data BLOB NOT NULL,
  UNIQUE(chat, item_id, field, part)
) STRICT;

CREATE TABLE turns (
  chat INTEGER NOT NULL REFERENCES chats(k) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  origin TEXT NOT NULL,
  client_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  end_body TEXT NOT NULL,
  UNIQUE(chat, turn)
) STRICT;
CREATE INDEX turns_open ON turns(chat) WHERE ended_at = 0;

CREATE TABLE queue (
  chat INTEGER NOT NULL REFERENCES chats(k) ON DELETE CASCADE,
  client_id TEXT NOT NULL,
  pos INTEGER NOT NULL,
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE(chat, client_id)
) STRICT;
CREATE INDEX queue_waiting ON queue(chat, pos) WHERE state <> 'accepted';

CREATE TABLE approvals (
  chat INTEGER NOT NULL REFERENCES chats(k) ON DELETE CASCADE,
  id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE(chat, id, revision)
) STRICT;
CREATE INDEX approvals_open ON approvals(at) WHERE state = 'open';
CREATE INDEX approvals_id ON approvals(id);
CREATE INDEX approvals_at ON approvals(at DESC);

CREATE TABLE rules (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  harness TEXT NOT NULL,
  tool TEXT NOT NULL,
  pattern TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE trust (
  folder TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE helpers (
  pid INTEGER NOT NULL,
  start INTEGER NOT NULL,
  boot TEXT NOT NULL,
  id TEXT NOT NULL,
  sid INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  owner TEXT NOT NULL,
  argv0 TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (pid, start, boot)
) STRICT;

CREATE TABLE lineage (
  harness TEXT NOT NULL,
  old_id TEXT NOT NULL,
  new_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (harness, old_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lineage_new ON lineage(harness, new_id);

CREATE TABLE leases (
  harness TEXT NOT NULL,
  native_id TEXT NOT NULL,
  holder TEXT NOT NULL,
  pid INTEGER NOT NULL,
  start INTEGER NOT NULL,
  boot TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (harness, native_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE uistate (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE acknowledged (
  harness TEXT NOT NULL,
  native_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (harness, native_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ended (
  harness TEXT NOT NULL,
  native_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (harness, native_id)
) STRICT;

CREATE TABLE folders (
  cwd TEXT PRIMARY KEY,
  root TEXT NOT NULL,
  name TEXT NOT NULL,
  worktree TEXT NOT NULL
) STRICT;

CREATE TABLE stored (
  harness TEXT NOT NULL,
  path TEXT NOT NULL,
  native_id TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  cwd TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (harness, path)
) STRICT;
CREATE INDEX stored_updated ON stored(updated_at DESC, harness DESC, path DESC);
CREATE INDEX stored_cwd ON stored(cwd, updated_at DESC);
CREATE INDEX stored_native ON stored(harness, native_id);
`}

// Format is the newest database format this program knows.
func Format() int { return len(migrations) }

func migrate(tx *Tx, path string) error {
	ctx := context.Background()
	var have int
	if err := tx.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > len(migrations) {
		return &NewerError{Path: path, Have: have, Know: len(migrations)}
	}
	if have == len(migrations) {
		return nil
	}
	if _, err := tx.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	// Another process may have been faster.
	err := tx.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have)
	for ; err == nil && have < len(migrations); have++ {
		_, err = tx.conn.ExecContext(ctx, migrations[have])
	}
	if err == nil {
		_, err = tx.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
	}
	if err == nil {
		_, err = tx.conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, _ = tx.conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
}
