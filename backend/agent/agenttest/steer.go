package agenttest

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func testSteer(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	st, ok := c.session.(agent.Steerer)
	if said := agent.AbilitySteer.In(c.rec.ReadyEvents()[0].Abilities); said != ok {
		t.Fatalf("the ability steer is %v and the method is there: %v", said, ok)
	}
	if !ok {
		return
	}
	ctx, cancel := c.ctx()
	defer cancel()
	if err := st.Steer(ctx, agent.Prompt{Text: "hello", ClientID: clientID()}); !errors.Is(err, agent.ErrSteerUnavailable) {
		t.Errorf("Steer while idle: %v, not ErrSteerUnavailable", err)
	}
	p := c.running(cfg.Prompts.Steered)
	id := clientID()
	const said = "Please mention the word kingfisher."
	if err := st.Steer(ctx, agent.Prompt{Text: said, ClientID: id}); err != nil {
		t.Fatalf("Steer: %v", err)
	}
	c.rec.MustWait(t, cfg.deadline(), "a sign that the steer was taken", func() bool {
		for _, it := range c.rec.Items() {
			if it.Type == agent.ItemUser && strings.Contains(it.Text, said) {
				return true
			}
		}
		return len(c.rec.Deliveries(id)) > 0
	})
	c.cancel()
	c.wait(p)
}

// steerBytes is more than the pipes between us and an agent take.
const steerBytes = 4 << 20

// testSteerFails: the agent does not read any more (case A03).
func testSteerFails(t *testing.T, s *suite) {
	req := s.Open(t)
	s.shim.before(t, &req, disturbance{Deaf: regexp.QuoteMeta(s.Prompts.Steered)})
	c := open(t, s, req)
	st, ok := c.session.(agent.Steerer)
	if !ok {
		return
	}
	p := c.running(s.Prompts.Steered)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := st.Steer(ctx, agent.Prompt{Text: strings.Repeat("x", steerBytes), ClientID: clientID()})
	if err == nil || errors.Is(err, agent.ErrSteerUnavailable) {
		t.Errorf("the agent does not read, and Steer returned %v", err)
	}
	c.close()
	c.wait(p) // it hears nothing of a stop, and may have come to its end
}
