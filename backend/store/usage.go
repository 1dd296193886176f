package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// usageStep is the step of the schema that keeps what turns used.
const usageStep = `
CREATE TABLE usage (
  chat INTEGER NOT NULL REFERENCES chats(k) ON DELETE CASCADE,
  key TEXT NOT NULL,
  turn INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE(chat, key)
) STRICT;
CREATE INDEX usage_turn ON usage(chat, turn);
`

// PutUsage keeps what a turn used. One answer of the model (by its message and
// request id) counts once in a chat, in the turn that reported it first; a usage
// without ids is the whole of its turn. The last record of each wins.
func (tx *Tx) PutUsage(chatID string, turn int64, u agent.Usage) error {
	k, err := tx.key(chatID)
	if err != nil {
		return err
	}
	key := "turn:" + strconv.FormatInt(turn, 10)
	if u.MessageID != "" || u.RequestID != "" {
		key = "answer:" + u.MessageID + "/" + u.RequestID
	}
	body, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return tx.exec("INSERT INTO usage(chat, key, turn, body) VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET body = excluded.body", k, key, turn, string(body))
}

// Usage returns what the turns of a chat used, the last turn first.
func (s *Store) Usage(ctx context.Context, chatID string) ([]model.TurnUsage, error) {
	list := []model.TurnUsage{}
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var t model.TurnUsage
		var body string
		if err := r.Scan(&t.Turn, &t.StartedAt, &t.EndedAt, &body); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(body), &t.Usage); err != nil {
			return err
		}
		if n := len(list); n > 0 && list[n-1].Turn == t.Turn {
			AddUsage(&list[n-1].Usage, t.Usage)
			return nil
		}
		t.Usage.MessageID, t.Usage.RequestID = "", ""
		list = append(list, t)
		return nil
	}, `SELECT u.turn, COALESCE(t.started_at, 0), COALESCE(t.ended_at, 0), u.body FROM usage u
LEFT JOIN turns t ON t.chat = u.chat AND t.turn = u.turn
WHERE u.chat = (SELECT k FROM chats WHERE id = ?) ORDER BY u.turn DESC, u.key`, chatID)
	return list, err
}

// AddUsage adds the counts of u to sum.
func AddUsage(sum *agent.Usage, u agent.Usage) {
	sum.Input += u.Input
	sum.Output += u.Output
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	sum.Reasoning += u.Reasoning
	sum.CostUSD += u.CostUSD
}

// Prompts returns the texts a person sent in a chat, the last first, at most
// limit. What is too long to be kept in its row is left out.
func (s *Store) Prompts(ctx context.Context, chatID string, limit int) ([]string, error) {
	return texts(ctx, s.read(), `SELECT json_extract(item, '$.text') FROM rows
WHERE chat = (SELECT k FROM chats WHERE id = ?) AND item_id >= 'user-' AND item_id < 'user.' AND big = '' AND json_extract(item, '$.text') <> ''
ORDER BY seq DESC LIMIT ?`, chatID, limit)
}
