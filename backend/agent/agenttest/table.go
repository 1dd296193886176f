package agenttest

import (
	"slices"
	"strings"
	"testing"
)

// rule is one named demand of the contract, and the subtest that looks at it.
type rule[C any] struct {
	name string
	says string // one sentence, for docs/contract.md
	// on reports whether the config has what the rule needs; nil: always.
	on  func(C) bool
	run func(*testing.T, C)
}

// choice limits a run to some rules.
type choice struct{ only, without []string }

// names reports whether one of the list is the rule or a folder above it.
func names(list []string, rule string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return n == rule || strings.HasPrefix(rule, n+"/") })
}

func (c choice) takes(rule string) bool {
	return (len(c.only) == 0 || names(c.only, rule)) && !names(c.without, rule)
}

// runRules runs a table and says what was left out by choice.
func runRules[C any](t *testing.T, config C, ch choice, rules []rule[C]) {
	t.Helper()
	left := 0
	for _, r := range rules {
		switch {
		case r.on != nil && !r.on(config):
		case !ch.takes(r.name):
			left++
		default:
			t.Run(r.name, func(t *testing.T) { r.run(t, config) })
		}
	}
	if left > 0 && len(ch.only) > 0 {
		t.Logf("not run here: %d rules", left)
	}
}

// Rule is one line of the contract's table, for documents and for whoever tests
// the suites.
type Rule struct {
	Suite string // Provider, Source or Handover
	Name  string
	Says  string
}

// Rules lists all of them, in the order in which they run.
func Rules() (list []Rule) {
	for _, r := range providerRules() {
		list = append(list, Rule{"Provider", r.name, r.says})
	}
	for _, r := range standing {
		list = append(list, Rule{"Provider", r.name, r.says})
	}
	for _, r := range providerEnds {
		list = append(list, Rule{"Provider", r.name, r.says})
	}
	for _, r := range sourceRules {
		list = append(list, Rule{"Source", r.name, r.says})
	}
	for _, r := range sourceEnds {
		list = append(list, Rule{"Source", r.name, r.says})
	}
	for _, r := range handoverRules {
		list = append(list, Rule{"Handover", r.name, r.says})
	}
	return list
}

// Contract is everything that one harness is held to; what is nil is not run.
type Contract struct {
	Provider *ProviderConfig
	Source   *SourceConfig
	Handover *HandoverConfig
}

// Choice limits a run to rules by name; "StopAt" stands for all below it.
type Choice struct{ Provider, Source, Handover []string }

// Only is the contract with the chosen rules.
func (c Contract) Only(ch Choice) Contract {
	if c.Provider != nil {
		p := *c.Provider
		p.Rules, c.Provider = ch.Provider, &p
	}
	if c.Source != nil {
		s := *c.Source
		s.Rules, c.Source = ch.Source, &s
	}
	if c.Handover != nil {
		h := *c.Handover
		h.Rules, c.Handover = ch.Handover, &h
	}
	return c
}

// Hold runs the whole contract for one harness.
func Hold(t *testing.T, c Contract) {
	t.Helper()
	if c.Provider != nil {
		t.Run("Provider", func(t *testing.T) { Provider(t, *c.Provider) })
	}
	if c.Source != nil {
		t.Run("Source", func(t *testing.T) { Source(t, *c.Source) })
	}
	if c.Handover != nil {
		t.Run("Handover", func(t *testing.T) { Handover(t, *c.Handover) })
	}
}
