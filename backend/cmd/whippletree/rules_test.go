package main

import (
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/api"
)

func TestAnAnswerForTheWholeProject(t *testing.T) {
	w := newWorld(t, "")
	w.serve("--keep")
	c := w.client(api.ClientOptions{})
	run := w.start(binary, "run", "--provider", "rehearsal", "run date")
	card := within(t, cards(t, c))
	if card.Remember == nil {
		t.Fatalf("nothing can be remembered of %+v", card)
	}
	if r := w.cli("approve", card.ID, "yes", "--always-in-project"); r.code != exitNotAllowed {
		t.Errorf("a command below no terminal: %+v", r)
	}
	if r := w.person("approve", card.ID, "yes", "--always-in-project"); r.code != 0 || !strings.Contains(r.err, card.Remember.Pattern) {
		t.Fatalf("a person: %+v", r)
	}
	if code := run.exit(t); code != 0 {
		t.Fatalf("run: %d\n%s\n%s", code, run.out.String(), run.err.String())
	}
	rules, err := api.Call[api.Rules](t.Context(), c, "approvals.rules", api.None{})
	if err != nil || len(rules.Rules) != 1 {
		t.Fatal(rules, err)
	}
	id := rules.Rules[0].ID
	if r := w.cli("rules"); r.code != 0 || !strings.Contains(r.out, id) || !strings.Contains(r.out, card.Remember.Pattern) {
		t.Errorf("%+v", r)
	}
	// The same again needs nobody.
	if r := w.cli("run", "--provider", "rehearsal", "run date"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	r := w.cli("audit")
	if r.code != 0 || strings.Count(r.out, card.Title) != 2 || !strings.Contains(r.out, "rule "+id) || !strings.Contains(r.out, "refused:") {
		t.Errorf("%+v", r)
	}
	if r := w.cli("audit", "--limit", "1", "--json"); r.code != 0 || strings.Count(r.out, `"chatId"`) != 1 {
		t.Errorf("%+v", r)
	}
	if r := w.cli("rules", "revoke", id); r.code != exitNotAllowed {
		t.Errorf("taken back below no terminal: %+v", r)
	}
	if r := w.person("rules", "revoke", id); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if r := w.person("rules", "revoke", id); r.code == 0 {
		t.Errorf("taken back twice: %+v", r)
	}
	if r := w.cli("rules"); !strings.Contains(r.out, "Nothing is allowed") {
		t.Errorf("%+v", r)
	}
}
