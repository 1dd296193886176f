package agenttest

import (
	"context"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func testCatalog(t *testing.T, s *suite) {
	c := open(t, s, s.Open(t))
	var seen []agent.Catalog
	if cats := c.rec.Catalogs(); len(cats) > 0 {
		seen = append(seen, cats[len(cats)-1])
	}
	if cr, ok := c.provider.(agent.Cataloger); ok {
		ctx, cancel := c.ctx()
		defer cancel()
		for _, cwd := range []string{c.req.WorkingDirectory, c.req.WorkingDirectory, ""} {
			cat, err := cr.Catalog(ctx, cwd)
			if err != nil {
				t.Fatalf("Catalog: %v", err)
			}
			if cat.Hash == "" || cat.FetchedAt <= 0 {
				t.Errorf("the catalogue has the hash %q and was fetched at %d", cat.Hash, cat.FetchedAt)
			}
			seen = append(seen, cat)
		}
		if n := len(seen); seen[n-3].Hash != seen[n-2].Hash {
			t.Errorf("asked twice, the catalogue of a folder has two hashes: %s and %s", seen[n-3].Hash, seen[n-2].Hash)
		}
	}
	if len(seen) == 0 {
		return
	}
	for _, cat := range seen {
		noneTwice(t, cat)
		if first, other := idsOf(seen[0]), idsOf(cat); !same(first, other) {
			t.Errorf("the ids are %v here and %v there", first, other)
		}
	}
	if r := c.rec.ReadyEvents()[0]; r.Mode != "" && len(seen[0].Modes) > 0 && !hasMode(seen[0], r.Mode) {
		t.Errorf("the chat is in mode %q, which the catalogue does not have", r.Mode)
	}
}

func hasMode(cat agent.Catalog, id string) bool {
	for _, m := range cat.Modes {
		if m.ID == id {
			return true
		}
	}
	return false
}

// idsOf are the models and modes, which a chat is stored with. Commands differ
// from folder to folder.
func idsOf(cat agent.Catalog) (ids []string) {
	for _, m := range cat.Models {
		ids = append(ids, "model "+m.ID)
	}
	for _, m := range cat.Modes {
		ids = append(ids, "mode "+m.ID)
	}
	return ids
}

func same(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func noneTwice(t *testing.T, cat agent.Catalog) {
	t.Helper()
	seen := map[string]bool{}
	defaults := map[string]int{}
	add := func(kind, id, label string, isDefault bool) {
		if id == "" || label == "" {
			t.Errorf("a %s has the id %q and the label %q", kind, id, label)
		}
		if key := kind + " " + id; seen[key] {
			t.Errorf("the %s %q is there twice", kind, id)
		} else {
			seen[key] = true
		}
		if isDefault {
			if defaults[kind]++; defaults[kind] > 1 {
				t.Errorf("more than one %s is the default", kind)
			}
		}
	}
	for _, m := range cat.Models {
		add("model", m.ID, m.Label, m.Default)
		for _, th := range m.Thinking {
			add("thinking level of "+m.ID, th.ID, th.Label, th.Default)
		}
	}
	for _, m := range cat.Modes {
		add("mode", m.ID, m.Label, m.Default)
	}
	for _, f := range cat.Features {
		add("feature", f.ID, f.Label, false)
	}
	for _, m := range cat.Commands {
		add("command", m.Name, m.Name, false)
	}
}

// testProbes: what is asked before anybody opened a chat.
func testProbes(t *testing.T, s *suite) {
	p := s.New(t)
	var stored []agent.StoredSession
	var handover agent.Handover
	if s.Handover != nil {
		handover = s.Handover(t)
		stored = storedSessions(t, s, handover)
	}
	open, running := descriptors(), children()
	ctx, cancel := context.WithTimeout(t.Context(), s.deadline())
	defer cancel()
	if _, err := p.Availability(ctx); err != nil {
		t.Fatalf("Availability: %v", err)
	}
	dir := s.Open(t).WorkingDirectory
	if cr, ok := p.(agent.Cataloger); ok {
		for _, cwd := range []string{"", dir} {
			if _, err := cr.Catalog(ctx, cwd); err != nil {
				t.Fatalf("Catalog: %v", err)
			}
		}
	}
	if ps, ok := p.(agent.ProjectStarter); ok {
		if _, err := ps.ProjectStarts(ctx, dir); err != nil {
			t.Fatalf("ProjectStarts: %v", err)
		}
	}
	settle(t, s.deadline(), "descriptors of the probes", func() []string { return more(open, descriptors()) })
	settle(t, s.deadline(), "processes of the probes", newChildren(running))
	if handover != nil {
		if now := storedSessions(t, s, handover); len(now) != len(stored) {
			t.Errorf("the probes left %d sessions behind", len(now)-len(stored))
		}
	}
}
