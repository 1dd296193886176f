package chats

import (
	"errors"
	"slices"
	"strconv"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// answerCard takes a person's answer: the first wins, later ones learn it.
func (c *chat) answerCard(who Caller, r Answer) (bool, model.ApprovalCard, error) {
	a := c.findAsk(r.ApprovalID)
	if a == nil {
		card, err := c.m.o.Store.Approval(c.ctx, c.id, r.ApprovalID)
		if err != nil {
			return false, model.ApprovalCard{}, typed(err)
		}
		return false, card, nil
	}
	if r.Revision != 0 && r.Revision != a.card.Revision {
		return false, a.card, Fail(CodeConflict, "The request changed since it was shown. Read it again.")
	}
	if a.card.State == model.CardUnconfirmed {
		return c.answerAgain(a, who, r)
	}
	if a.card.State != model.CardOpen {
		return false, a.card, nil
	}
	if a.foreign {
		return false, a.card, Fail(CodeConflict, "The agent asks in its terminal. Answer it there.")
	}
	if err := fits(a.card.Approval, r.Answer); err != nil {
		return false, a.card, err
	}
	rule, err := c.rule(a.card, r)
	if err != nil {
		return false, a.card, err
	}
	rec := model.RecordedAnswer{ApprovalAnswer: r.Answer, By: who.By, Where: who.Where}
	if rule != nil {
		rec.Rule = rule.ID
	}
	card, won, err := c.take(a, rec, rule)
	if won && rule != nil {
		c.m.ruled(*rule)
	}
	return won, card, err
}

// take records the answer, with the rule it makes, and hands it to the agent, in
// this order.
func (c *chat) take(a *ask, rec model.RecordedAnswer, rule *model.ApprovalRule) (model.ApprovalCard, bool, error) {
	ans := rec.ApprovalAnswer
	rec.At = c.wall()
	for _, o := range a.card.Options {
		if o.ID == ans.OptionID {
			rec.Label = o.Label
		}
	}
	var card model.ApprovalCard
	var won bool
	err := c.m.o.Store.DoUrgent(c.ctx, func(tx *store.Tx) (err error) {
		card, won, err = tx.AnswerApproval(c.id, a.card.ID, a.card.Revision, rec)
		if err == nil && won && rule != nil {
			err = tx.PutRule(*rule)
		}
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return a.card, false, typed(err)
	}
	if err == nil && !won {
		a.card = card
		return card, false, nil
	}
	a.card.State, a.card.Answer = model.CardSent, &rec
	for _, w := range a.askers {
		w.reply(ans)
	}
	if a.card.Acknowledges {
		a.ackBy = c.now().Add(c.m.o.AckBound)
		if c.due[dlAck].IsZero() {
			c.deadline(dlAck, a.ackBy)
		}
		c.publishCard(a)
	} else {
		c.drop(a, model.CardSent)
	}
	c.refresh()
	return a.card, true, nil
}

// fits holds an answer against exactly what was offered.
func fits(q agent.Approval, a agent.ApprovalAnswer) error {
	if a.Canceled {
		return nil
	}
	if a.OptionID != "" && !slices.ContainsFunc(q.Options, func(o agent.Option) bool { return o.ID == a.OptionID }) {
		return Fail(CodeInvalid, "The agent did not offer the answer %q.", a.OptionID)
	}
	if a.OptionID == "" && len(q.Questions) == 0 {
		return Fail(CodeInvalid, "An answer names one of the agent's options.")
	}
	if len(q.Questions) > 0 && len(a.Answers) == 0 && a.OptionID == "" {
		return Fail(CodeInvalid, "The questions are not answered.")
	}
	for id := range a.Answers {
		if !slices.ContainsFunc(q.Questions, func(x agent.Question) bool { return x.ID == id }) {
			return Fail(CodeInvalid, "The agent did not ask the question %q.", id)
		}
	}
	for _, x := range q.Questions {
		qa, ok := a.Answers[x.ID]
		if !ok {
			if len(a.Answers) > 0 && !x.Skippable {
				return Fail(CodeInvalid, "The question %q is not answered.", x.Text)
			}
			continue
		}
		if err := fitsQuestion(x, qa); err != nil {
			return err
		}
	}
	return nil
}

func fitsQuestion(x agent.Question, qa agent.QuestionAnswer) error {
	switch {
	case qa.Skipped && !x.Skippable:
		return Fail(CodeInvalid, "The question %q cannot be skipped.", x.Text)
	case qa.Skipped:
		return nil
	case qa.Other != "" && !x.AllowOther:
		return Fail(CodeInvalid, "The question %q takes only its own answers.", x.Text)
	case len(qa.OptionIDs) > 1 && !x.Multi:
		return Fail(CodeInvalid, "The question %q takes one answer.", x.Text)
	case len(qa.OptionIDs) == 0 && qa.Other == "":
		return Fail(CodeInvalid, "The question %q is not answered.", x.Text)
	}
	for _, id := range qa.OptionIDs {
		if !slices.ContainsFunc(x.Options, func(o agent.QuestionOption) bool { return o.ID == id }) {
			return Fail(CodeInvalid, "The question %q has no answer %q.", x.Text, id)
		}
	}
	return nil
}

// refused records an attempt that was not taken.
func (c *chat) refused(id string, who Caller) {
	a := c.findAsk(id)
	if a == nil {
		return
	}
	try := model.RefusedAttempt{Who: who.By, Where: who.Where, At: c.wall()}
	if len(a.card.Refused) < limitRefused { // a model may try for ever
		a.card.Refused = append(slices.Clone(a.card.Refused), try)
	}
	if !a.foreign {
		c.storeCard(a.card)
	}
	c.publishCard(a)
	if len(a.card.Refused) > 1 || a.foreign {
		return // said once a card; the card has the others
	}
	c.putRows([]model.Row{c.addRow(agent.Item{
		ID: "refused-" + a.card.ID + "-" + strconv.FormatInt(a.card.Revision, 10), Type: agent.ItemNotice, Level: agent.LevelWarning, At: try.At,
		Text: "An answer to “" + a.card.Title + "” was refused, because only a person may give it: " + who.Where + ".",
	})})
}

// limitRefused bounds the refused attempts that a card keeps.
const limitRefused = 50
