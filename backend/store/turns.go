package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Turn is one turn of a chat. EndedAt 0: open.
type Turn struct {
	Turn      int64            `json:"turn"`
	Origin    agent.TurnOrigin `json:"origin"`
	ClientID  string           `json:"clientId,omitempty"` // of the prompt
	StartedAt int64            `json:"startedAt"`
	EndedAt   int64            `json:"endedAt,omitempty"`
	End       *agent.TurnEnd   `json:"end,omitempty"`
}

// OpenTurn stores the beginning of a turn; ErrConflict when one is open or the
// number is taken.
func (s *Store) OpenTurn(ctx context.Context, chatID string, t Turn) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.OpenTurn(chatID, t) })
}

// EndTurn stores the one end of a turn, on a full disk too; ErrConflict when it
// is not open.
func (s *Store) EndTurn(ctx context.Context, chatID string, turn int64, end agent.TurnEnd, at int64) error {
	return s.DoUrgent(ctx, func(tx *Tx) error { return tx.EndTurn(chatID, turn, end, at) })
}

func (tx *Tx) OpenTurn(chatID string, t Turn) error {
	k, err := tx.key(chatID)
	if err != nil {
		return err
	}
	n, err := tx.changed(`INSERT INTO turns(chat, turn, origin, client_id, started_at, ended_at, outcome, end_body)
SELECT ?,?,?,?,?,0,'','' WHERE NOT EXISTS (SELECT 1 FROM turns WHERE chat = ? AND (ended_at = 0 OR turn = ?))`,
		k, t.Turn, string(t.Origin), t.ClientID, t.StartedAt, k, t.Turn)
	if err == nil && n == 0 {
		return fmt.Errorf("turn %d: %w", t.Turn, ErrConflict)
	}
	return err
}

func (tx *Tx) EndTurn(chatID string, turn int64, end agent.TurnEnd, at int64) error {
	k, err := tx.key(chatID)
	if err != nil {
		return err
	}
	body, err := json.Marshal(end)
	if err != nil {
		return err
	}
	n, err := tx.changed("UPDATE turns SET ended_at = MAX(?, 1), outcome = ?, end_body = ? WHERE chat = ? AND turn = ? AND ended_at = 0",
		at, string(end.Outcome), string(body), k, turn)
	if err == nil && n == 0 {
		return fmt.Errorf("turn %d is not open: %w", turn, ErrConflict)
	}
	return err
}

const selectTurn = "SELECT t.turn, t.origin, t.client_id, t.started_at, t.ended_at, t.end_body FROM turns t JOIN chats c ON c.k = t.chat WHERE c.id = ? "

// LastTurn returns the newest turn; ErrNotFound when there was none.
func (s *Store) LastTurn(ctx context.Context, chatID string) (Turn, error) {
	list, err := turns(ctx, s.read(), selectTurn+"ORDER BY t.turn DESC LIMIT 1", chatID)
	if err == nil && len(list) == 0 {
		return Turn{}, ErrNotFound
	}
	if err != nil {
		return Turn{}, err
	}
	return list[0], nil
}

// Turns returns all turns of a chat in order.
func (s *Store) Turns(ctx context.Context, chatID string) ([]Turn, error) {
	return turns(ctx, s.read(), selectTurn+"ORDER BY t.turn", chatID)
}

func turns(ctx context.Context, q querier, query string, args ...any) ([]Turn, error) {
	var list []Turn
	err := each(ctx, q, func(r *sql.Rows) error {
		var t Turn
		var end string
		if err := r.Scan(&t.Turn, &t.Origin, &t.ClientID, &t.StartedAt, &t.EndedAt, &end); err != nil {
			return err
		}
		if end != "" {
			t.End = new(agent.TurnEnd)
			if err := json.Unmarshal([]byte(end), t.End); err != nil {
				return err
			}
		}
		list = append(list, t)
		return nil
	}, query, args...)
	return list, err
}

// Interrupted is a turn that was open when a host died.
type Interrupted struct {
	ChatID string
	Turn   Turn
	// Rows are the whole rows that were closed with it.
	Rows []model.Row
}

// Recover puts in order what a killed host left: open turns end as interrupted
// and their open rows are closed, provisional rows are settled, prompts that
// were being sent become unknown (to be looked up in the agent's transcript),
// open approval cards are withdrawn. It is called once, by the host that holds
// the home's lock, before any chat is opened.
func (s *Store) Recover(ctx context.Context) ([]Interrupted, error) {
	var list []Interrupted
	err := s.DoUrgent(ctx, func(tx *Tx) error {
		var err error
		list, err = tx.recover()
		return err
	})
	return list, err
}

func (tx *Tx) recover() ([]Interrupted, error) {
	ctx, now := context.Background(), tx.now()
	ids, err := texts(ctx, tx, `SELECT id FROM chats WHERE k IN (SELECT chat FROM turns WHERE ended_at = 0
UNION SELECT chat FROM rows WHERE open = 1 OR settled = 0 UNION SELECT chat FROM queue WHERE state = 'sending'
UNION SELECT chat FROM approvals WHERE state = 'open')`)
	if err != nil {
		return nil, err
	}
	var list []Interrupted
	for _, id := range ids {
		open, err := turns(ctx, tx, selectTurn+"AND t.ended_at = 0", id)
		if err != nil {
			return nil, err
		}
		rows, err := rowsOf(ctx, tx, true, selectRow+"AND (r.open = 1 OR r.settled = 0) ORDER BY r.seq", id)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].CloseAt(openItemClosed, now)
			rows[i].Provisional = false
		}
		if err := tx.PutRows(id, rows...); err != nil {
			return nil, err
		}
		end := agent.TurnEnd{Outcome: agent.OutcomeInterrupted, Text: "Whippletree ended while the agent was working."}
		for _, t := range open {
			if err := tx.EndTurn(id, t.Turn, end, now.UnixMilli()); err != nil {
				return nil, err
			}
			t.EndedAt, t.End = now.UnixMilli(), &end
			list = append(list, Interrupted{ChatID: id, Turn: t, Rows: rows})
		}
		if len(open) > 0 {
			if err := tx.UpdateChat(id, func(c *ChatRecord) { c.LastEnd, c.UpdatedAt = &end, now.UnixMilli() }); err != nil {
				return nil, err
			}
		}
		if err := tx.recoverAsked(id, now); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (tx *Tx) recoverAsked(chatID string, now time.Time) error {
	queue, err := queueOf(context.Background(), tx, chatID)
	if err != nil {
		return err
	}
	for _, e := range queue {
		if e.State == model.QueueSending {
			if err := tx.SetQueueState(chatID, e.ClientID, model.QueueUnknown, ""); err != nil {
				return err
			}
		}
	}
	cards, err := cards(context.Background(), tx, "a.state = 'open' AND c.id = ?", chatID)
	if err != nil {
		return err
	}
	for _, c := range cards {
		if err := tx.UpdateApproval(chatID, c.ID, c.Revision, func(c *model.ApprovalCard) { c.State = model.CardWithdrawn }); err != nil {
			return err
		}
	}
	return nil
}

func texts(ctx context.Context, q querier, query string, args ...any) ([]string, error) {
	var list []string
	err := each(ctx, q, func(r *sql.Rows) error {
		var v string
		err := r.Scan(&v)
		list = append(list, v)
		return err
	}, query, args...)
	return list, err
}
