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
`, `
-- What can be searched: an entry of the index for every row that has a text and
-- changes no more. unindexed is the work that is left; both go with their row.
CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  chat INTEGER NOT NULL REFERENCES chats(k) ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  UNIQUE(chat, item_id)
) STRICT;

CREATE TABLE unindexed (
  id INTEGER PRIMARY KEY,
  chat INTEGER NOT NULL REFERENCES chats(k) ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  UNIQUE(chat, item_id)
) STRICT;

CREATE VIRTUAL TABLE search USING fts5(text, content='', contentless_delete=1, tokenize='trigram', detail='none');

CREATE TRIGGER rows_added AFTER INSERT ON rows WHEN NEW.settled = 1 AND NEW.open = 0 BEGIN
  INSERT INTO unindexed(chat, item_id) VALUES(NEW.chat, NEW.item_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER rows_changed AFTER UPDATE OF settled, open, item, big ON rows WHEN NEW.settled = 1 AND NEW.open = 0 BEGIN
  INSERT INTO unindexed(chat, item_id) VALUES(NEW.chat, NEW.item_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER rows_removed AFTER DELETE ON rows BEGIN
  DELETE FROM documents WHERE chat = OLD.chat AND item_id = OLD.item_id;
  DELETE FROM unindexed WHERE chat = OLD.chat AND item_id = OLD.item_id;
END;
CREATE TRIGGER documents_removed AFTER DELETE ON documents BEGIN
  DELETE FROM search WHERE rowid = OLD.id;
END;
INSERT INTO unindexed(chat, item_id)
  SELECT r.chat, r.item_id FROM rows r JOIN chats c ON c.k = r.chat
  WHERE r.settled = 1 AND r.open = 0 ORDER BY c.updated_at, r.chat, r.seq;

-- The text of sessions that are no chats, where the settings allow to read it.
CREATE TABLE transcripts (
  k INTEGER PRIMARY KEY,
  harness TEXT NOT NULL,
  native_id TEXT NOT NULL,
  title TEXT NOT NULL,
  cwd TEXT NOT NULL,
  size INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE(harness, native_id)
) STRICT;

CREATE TABLE said (
  id INTEGER PRIMARY KEY,
  transcript INTEGER NOT NULL REFERENCES transcripts(k) ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  type TEXT NOT NULL,
  tool TEXT NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX said_transcript ON said(transcript);
CREATE VIRTUAL TABLE said_search USING fts5(text, content='', contentless_delete=1, tokenize='trigram', detail='none');
CREATE TRIGGER said_removed AFTER DELETE ON said BEGIN
  DELETE FROM said_search WHERE rowid = OLD.id;
END;

-- What retention removed, so that a person can see it.
CREATE TABLE removed (
  id INTEGER PRIMARY KEY,
  chat_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
`, indexStep, usageStep, keepStep}

// Format is the newest database format this program knows.
func Format() int { return len(migrations) }

func migrate(tx *Tx, path string) error {
	ctx := context.Background()
	var have int
	if err := tx.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > len(migrations) {
		newer := &NewerError{Path: path, Have: have, Know: len(migrations)}
		for _, b := range Backups(path) {
			if b.Format <= len(migrations) {
				newer.Backup = b.Path
				break
			}
		}
		return newer
	}
	if have == len(migrations) {
		return nil
	}
	if have > 0 {
		if err := backup(tx, path, have); err != nil {
			return err
		}
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
