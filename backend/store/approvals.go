package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/whippletree-app/whippletree/backend/model"
)

// InsertApproval stores a new card; the same chat, id and revision again is
// ErrConflict.
func (s *Store) InsertApproval(ctx context.Context, card model.ApprovalCard) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.InsertApproval(card) })
}

// AnswerApproval records the answer if the card of this revision is still open:
// the first answer wins. won says whether it was this one; card is how the card
// stands now, with the answer that won. It works on a full disk.
func (s *Store) AnswerApproval(ctx context.Context, chatID, id string, revision int64, answer model.RecordedAnswer) (card model.ApprovalCard, won bool, err error) {
	err = s.DoUrgent(ctx, func(tx *Tx) error {
		card, won, err = tx.AnswerApproval(chatID, id, revision, answer)
		return err
	})
	return card, won, err
}

// UpdateApproval changes a card (state, refused attempts ...); ErrNotFound.
func (s *Store) UpdateApproval(ctx context.Context, chatID, id string, revision int64, change func(*model.ApprovalCard)) error {
	return s.DoUrgent(ctx, func(tx *Tx) error { return tx.UpdateApproval(chatID, id, revision, change) })
}

// Approval returns the newest revision of a card. chatID may be empty when the
// id is unique; ErrConflict when it is not, ErrNotFound.
func (s *Store) Approval(ctx context.Context, chatID, id string) (model.ApprovalCard, error) {
	list, err := cards(ctx, s.read(), "a.id = ? AND (? = '' OR c.id = ?)", id, chatID, chatID)
	if err != nil {
		return model.ApprovalCard{}, err
	}
	if len(list) == 0 {
		return model.ApprovalCard{}, fmt.Errorf("approval %s: %w", id, ErrNotFound)
	}
	newest := list[0]
	for _, c := range list {
		if c.ChatID != newest.ChatID {
			return model.ApprovalCard{}, fmt.Errorf("several chats have an approval %s, name the chat: %w", id, ErrConflict)
		}
		if c.Revision > newest.Revision {
			newest = c
		}
	}
	return newest, nil
}

// OpenApprovals lists the open cards of one chat, or of all ("").
func (s *Store) OpenApprovals(ctx context.Context, chatID string) ([]model.ApprovalCard, error) {
	return cards(ctx, s.read(), "a.state = 'open' AND (? = '' OR c.id = ?) ORDER BY a.at, a.chat, a.id", chatID, chatID)
}

// AuditApprovals lists cards with how they ended, newest first, at most limit of
// those after cursor ("" is the beginning); next is "" at the end.
func (s *Store) AuditApprovals(ctx context.Context, cursor string, limit int) (list []model.ApprovalCard, next string, err error) {
	from := auditPlace{At: math.MaxInt64}
	if cursor != "" {
		if from, err = parseAuditPlace(cursor); err != nil {
			return nil, "", err
		}
	}
	var last auditPlace
	err = each(ctx, s.read(), func(r *sql.Rows) error {
		var body string
		var at auditPlace
		if err := r.Scan(&at.At, &at.Chat, &at.ID, &at.Revision, &body); err != nil {
			return err
		}
		if len(list) == limit {
			next = last.String()
			return nil
		}
		last = at
		var c model.ApprovalCard
		err := json.Unmarshal([]byte(body), &c)
		list = append(list, c)
		return err
	}, `SELECT a.at, a.chat, a.id, a.revision, a.body FROM approvals a WHERE (a.at, a.chat, a.id, a.revision) < (?,?,?,?)
ORDER BY a.at DESC, a.chat DESC, a.id DESC, a.revision DESC LIMIT ?`, from.At, from.Chat, from.ID, from.Revision, limit+1)
	return list, next, err
}

// auditPlace is a card's place in the audit, by what never changes of it: a row
// number may be given anew when the database is tidied up.
type auditPlace struct {
	At, Chat int64
	ID       string
	Revision int64
}

func (p auditPlace) String() string {
	b, _ := json.Marshal([]any{p.At, p.Chat, p.ID, p.Revision})
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseAuditPlace(cursor string) (p auditPlace, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, &[]any{&p.At, &p.Chat, &p.ID, &p.Revision})
	}
	if err != nil {
		return p, fmt.Errorf("the cursor %q: %w", cursor, ErrNotFound)
	}
	return p, nil
}

func (tx *Tx) InsertApproval(card model.ApprovalCard) error {
	k, err := tx.key(card.ChatID)
	if err != nil {
		return err
	}
	body, err := json.Marshal(card)
	if err != nil {
		return err
	}
	n, err := tx.changed("INSERT INTO approvals(chat, id, revision, at, state, body) VALUES(?,?,?,?,?,?) ON CONFLICT DO NOTHING",
		k, card.ID, card.Revision, card.At, string(card.State), string(body))
	if err == nil && n == 0 {
		return fmt.Errorf("approval %s: %w", card.ID, ErrConflict)
	}
	return err
}

func (tx *Tx) AnswerApproval(chatID, id string, revision int64, answer model.RecordedAnswer) (model.ApprovalCard, bool, error) {
	card, err := tx.approval(chatID, id, revision)
	if err != nil || card.State != model.CardOpen {
		return card, false, err
	}
	card.State, card.Answer = model.CardSent, &answer
	if err := tx.putApproval(card); err != nil {
		return model.ApprovalCard{}, false, err
	}
	return card, true, nil
}

func (tx *Tx) UpdateApproval(chatID, id string, revision int64, change func(*model.ApprovalCard)) error {
	card, err := tx.approval(chatID, id, revision)
	if err != nil {
		return err
	}
	change(&card)
	card.ChatID, card.ID, card.Revision = chatID, id, revision
	return tx.putApproval(card)
}

func (tx *Tx) approval(chatID, id string, revision int64) (model.ApprovalCard, error) {
	list, err := cards(context.Background(), tx, "c.id = ? AND a.id = ? AND a.revision = ?", chatID, id, revision)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("approval %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return model.ApprovalCard{}, err
	}
	return list[0], nil
}

func (tx *Tx) putApproval(card model.ApprovalCard) error {
	body, err := json.Marshal(card)
	if err != nil {
		return err
	}
	n, err := tx.changed("UPDATE approvals SET state = ?, body = ? WHERE chat = (SELECT k FROM chats WHERE id = ?) AND id = ? AND revision = ?",
		string(card.State), string(body), card.ChatID, card.ID, card.Revision)
	if err == nil && n == 0 {
		return errors.New("the approval vanished")
	}
	return err
}

func cards(ctx context.Context, q querier, where string, args ...any) ([]model.ApprovalCard, error) {
	var list []model.ApprovalCard
	err := each(ctx, q, func(r *sql.Rows) error {
		var body string
		if err := r.Scan(&body); err != nil {
			return err
		}
		var c model.ApprovalCard
		err := json.Unmarshal([]byte(body), &c)
		list = append(list, c)
		return err
	}, "SELECT a.body FROM approvals a JOIN chats c ON c.k = a.chat WHERE "+where, args...)
	return list, err
}
