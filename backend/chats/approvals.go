package chats

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// asker is one blocked Approval call of a provider.
type asker struct {
	request  agent.Approval
	answer   chan agent.ApprovalAnswer
	answered bool
}

func (w *asker) reply(a agent.ApprovalAnswer) {
	if !w.answered {
		w.answered = true
		w.answer <- a
	}
}

// ask is a card that is not settled: open, or answered and not acknowledged.
type ask struct {
	card   model.ApprovalCard
	askers []*asker
	ackBy  time.Time
	// foreign: the agent asks in a terminal; shown here, answered there.
	foreign bool
}

func (c *chat) findAsk(id string) *ask {
	for _, a := range c.asks {
		if a.card.ID == id {
			return a
		}
	}
	return nil
}

func (c *chat) openAsks() int {
	n := 0
	for _, a := range c.asks {
		if a.card.State == model.CardOpen {
			n++
		}
	}
	return n
}

// ownAsks counts the open requests of our own agent.
func (c *chat) ownAsks() int {
	n := 0
	for _, a := range c.asks {
		if a.card.State == model.CardOpen && !a.foreign {
			n++
		}
	}
	return n
}

// askedElsewhere shows, or takes away, the card of a mirrored session whose
// agent waits for an answer in its terminal.
func (c *chat) askedElsewhere(waits bool) {
	id := CardID(c.id, "terminal")
	a := c.findAsk(id)
	switch {
	case waits && a == nil:
		place := model.Place{Kind: "external", External: true}
		if c.rec.Hand.Place != nil {
			place = *c.rec.Hand.Place
		}
		a = &ask{foreign: true, card: model.ApprovalCard{ChatID: c.id, Turn: c.turn.n, At: c.wall(), Revision: 1, State: model.CardOpen, Elsewhere: &place,
			Approval: agent.Approval{ID: id, Kind: agent.ApprovalTool, Title: "The agent waits for an answer in its terminal.", Options: []agent.Option{}}}}
		c.asks = append(c.asks, a)
		c.publishCard(a)
	case !waits && a != nil:
		c.drop(a, model.CardAnsweredElsewhere)
	}
}

func (c *chat) cards() []model.ApprovalCard {
	list := make([]model.ApprovalCard, 0, len(c.asks))
	for _, a := range c.asks {
		list = append(list, shownCard(a.card))
	}
	return list
}

// ask makes a card of a request. A request is its own object: what its tool
// call does before or after changes nothing about it.
func (c *chat) ask(w *asker) {
	if !c.turn.open {
		end := c.rec.LastEnd
		if (c.phase != phIdle && c.phase != phProbing) || (end != nil && end.Outcome != agent.OutcomeCompleted) {
			c.tl.late++
			w.reply(agent.ApprovalAnswer{Canceled: true})
			return
		}
		c.turn.implicit = true
		c.step(hapAgentTurn)
	}
	c.evidence()
	// Agents number their requests each for itself; a card's id is unique in the
	// host, so that lists and commands need no more than it.
	w.request.ID = CardID(c.id, w.request.ID)
	a := c.findAsk(w.request.ID)
	if a != nil && a.card.State == model.CardOpen && reflect.DeepEqual(a.card.Approval, w.request) {
		a.askers = append(a.askers, w)
		return
	}
	if a != nil {
		c.drop(a, model.CardWithdrawn)
	}
	a = &ask{askers: []*asker{w}, card: model.ApprovalCard{
		Approval: w.request, ChatID: c.id, Turn: c.turn.n, At: c.wall(), Revision: 1, State: model.CardOpen,
	}}
	if old, err := c.m.o.Store.Approval(c.ctx, c.id, w.request.ID); err == nil {
		a.card.Revision = old.Revision + 1
	}
	if a.card.Remember = c.offer(w.request); !c.m.o.Policy().Rules {
		a.card.Remember = nil
	}
	card := a.card
	if err := c.m.o.Store.DoUrgent(c.ctx, func(tx *store.Tx) error { return tx.InsertApproval(card) }); err != nil {
		c.storeFault(err)
	}
	c.asks = append(c.asks, a)
	c.publishCard(a)
	c.refresh()
	c.answerAlone(a)
}

// answerAlone gives the answer of a rule of ours or of the visible automatic
// mode. It stands back whenever a person has a choice to make.
func (c *chat) answerAlone(a *ask) {
	id, rec := onlyOnce(a.card.Approval), model.RecordedAnswer{}
	if rule := c.m.ruleFor(c.rec.Harness, a.card.Remember); rule != "" {
		rec.By, rec.Rule = "rule", rule
	} else if c.rec.AutoMode != nil && c.rec.AutoMode.On && c.m.o.Policy().AutoMode {
		rec.By = "auto"
	}
	if id == "" || rec.By == "" {
		return
	}
	rec.OptionID = id
	by := rec.By
	_, won, err := c.take(a, rec, nil)
	if err == nil && won && by == "auto" {
		mode := *c.rec.AutoMode
		mode.Answers++
		c.rec.AutoMode = &mode
		c.saveRecord()
		c.publish(eventNotice, agent.Notice{Level: agent.LevelInfo, Text: "Automatic mode allowed: " + a.card.Title})
		c.publishDetail()
	}
}

// onlyOnce is the one option that allows a tool once; "" when there is none,
// several, or more to decide than a tool.
func onlyOnce(a agent.Approval) string {
	if a.Kind != agent.ApprovalTool || len(a.Questions) > 0 || a.Plan != nil || a.ModeChange != nil {
		return ""
	}
	id := ""
	for _, o := range a.Options {
		if o.Kind != agent.OptionAllowOnce {
			continue
		}
		if id != "" {
			return ""
		}
		id = o.ID
	}
	return id
}

// acked: the agent confirmed that it received the answer.
func (c *chat) acked(id string) {
	if a := c.findAsk(CardID(c.id, id)); a != nil && (a.card.State == model.CardSent || a.card.State == model.CardUnconfirmed) {
		c.drop(a, model.CardConfirmed)
		c.refresh()
	}
}

// unconfirm marks answers that the agent did not acknowledge in time: the card
// comes back and says so.
func (c *chat) unconfirm(now time.Time) {
	var next time.Time
	for _, a := range c.asks {
		if a.card.State != model.CardSent {
			continue
		}
		if a.ackBy.After(now) {
			if next.IsZero() || a.ackBy.Before(next) {
				next = a.ackBy
			}
			continue
		}
		a.card.State = model.CardUnconfirmed
		c.storeCard(a.card)
		c.publishCard(a)
	}
	c.due[dlAck] = next
}

// unask withdraws a request whose asker is gone, unless the answer has won: then
// it is returned to be delivered. One that was answered elsewhere is shown as
// such; where nobody knows by whom, the turn is stopped.
func (c *chat) unask(w *asker, elsewhere *agent.AnsweredElsewhere) agent.ApprovalAnswer {
	select {
	case ans := <-w.answer:
		return ans
	default:
	}
	w.answered = true
	for _, a := range c.asks {
		i := slices.Index(a.askers, w)
		if i < 0 {
			continue
		}
		a.askers = slices.Delete(a.askers, i, i+1)
		if len(a.askers) == 0 && a.card.State == model.CardOpen {
			state := model.CardWithdrawn
			if elsewhere != nil {
				state = model.CardAnsweredElsewhere
			}
			c.drop(a, state)
			c.refresh()
			if elsewhere != nil && !elsewhere.Terminal {
				c.answeredByNobody(a)
			}
		}
		break
	}
	return agent.ApprovalAnswer{Canceled: true}
}

// answeredByNobody stops a turn in which the agent's server took an answer that no
// person of ours and no attached terminal gave.
func (c *chat) answeredByNobody(a *ask) {
	c.putRows([]model.Row{c.addRow(agent.Item{
		ID: "elsewhere-" + a.card.ID + "-" + strconv.FormatInt(a.card.Revision, 10), Type: agent.ItemNotice, Level: agent.LevelWarning, At: c.wall(),
		Text: "“" + a.card.Title + "” was answered by somebody else, and it is not known by whom. The turn is stopped.",
	})})
	c.stop(true)
}

// withdrawAll ends every card with its turn.
func (c *chat) withdrawAll() {
	for _, a := range slices.Clone(c.asks) {
		state := a.card.State
		if state == model.CardOpen {
			state = model.CardWithdrawn
		}
		c.drop(a, state)
	}
	c.due[dlAck] = noTime
}

// withdrawLink is withdrawAll when the agent is let go of.
func (c *chat) withdrawLink(*link) { c.withdrawAll() }

// drop settles a card: it disappears from every surface at once.
func (c *chat) drop(a *ask, state model.CardState) {
	for _, w := range a.askers {
		w.reply(agent.ApprovalAnswer{Canceled: true})
	}
	if a.card.State != state {
		a.card.State = state
		if !a.foreign {
			c.storeCard(a.card)
		}
	}
	c.asks = slices.DeleteFunc(c.asks, func(x *ask) bool { return x == a })
	c.publish(eventApproval, shownCard(a.card))
	c.m.setCards(c.id, c.cards())
	c.m.o.Publisher.Publish(topicApprovals, eventRemove, Removed{IDs: []string{a.card.ID}})
}

// CardID is the id of the card of an agent's request.
func CardID(chatID, requestID string) string { return chatID[:min(8, len(chatID))] + "-" + requestID }

func (c *chat) storeCard(card model.ApprovalCard) {
	err := c.m.o.Store.UpdateApproval(c.ctx, card.ChatID, card.ID, card.Revision, func(x *model.ApprovalCard) { *x = card })
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		c.storeFault(err)
	}
}

func (c *chat) publishCard(a *ask) {
	card := shownCard(a.card)
	c.publish(eventApproval, card)
	c.m.setCards(c.id, c.cards())
	c.m.o.Publisher.Publish(topicApprovals, eventUpsert, card)
}
