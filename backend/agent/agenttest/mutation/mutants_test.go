package mutation

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
)

// mutant breaks one rule; fails names what must notice it: rules, or folders of
// rules.
type mutant struct {
	fault  string
	fails  []string
	config func(*agenttest.ProviderConfig)
	may    []string // what may notice it too
}

var places = map[agenttest.Place]string{
	agenttest.BeforeFirstEvent: "silent", agenttest.MidText: "mid text", agenttest.MidReasoning: "mid thought",
	agenttest.ToolOpen: "tool", agenttest.PermissionOpen: "permission", agenttest.QuestionOpen: "questions",
	agenttest.PlanOpen: "approve plan", agenttest.SubagentOpen: "errand", agenttest.BetweenTurns: "between",
}

func providerMutants() []mutant {
	list := []mutant{
		{"is available and not", []string{"Availability"}, nil, nil},
		{"is ready before it fails", []string{"OpenFailureLeavesNothing"}, nil, nil},
		{"says nothing twice", []string{"Turns"}, nil, nil},
		{"keeps a stop for the next turn", []string{"CancelWhileIdle", "StopAt/BetweenTurns", "CancelRacesTheEnd"}, nil, nil},
		{"takes prompts after Close", []string{"CloseIsTheEnd"}, nil, nil},
		{"completes a closed turn", []string{"CloseDuringATurn", "ContextEnds"}, nil, nil},
		{"is stopped once only", []string{"Cancel"}, nil, nil},
		{"fails when it is stopped at its end", []string{"CancelRacesTheEnd"}, nil, nil},
		{"waits for the agent for ever", []string{"ContextEnds"}, nil, nil},
		{"a place without a point", []string{"PlacesAreAllThere"}, func(c *agenttest.ProviderConfig) { c.Unreachable = nil }, nil},
		{"takes prompts after its death", []string{"DeathAt", "Wire/ChildHoldsOutput"}, nil, nil},
		{"tells no exit after between", []string{"CloseAt/BetweenTurns"}, nil, nil},
		{"acts on a no", []string{"OptionsKeepTheirMeaning"}, nil, nil},
		{"asks for no row", []string{"RequestsStandByThemselves"}, nil, nil},
		{"takes silence for a no", []string{"NobodyDecided"}, nil, nil},
		{"asks questions as permissions", []string{"Questions"}, nil, nil},
		{"shows no plan", []string{"Plans"}, nil, nil},
		{"forgets whose rows they are", []string{"Subagents"}, nil, nil},
		{"does not come back", []string{"TurnsOfTheAgentsOwn"}, nil, nil},
		{"completes a failure", []string{"FailedTurn"}, nil, nil},
		{"steers nothing", []string{"SteerIsTaken"}, nil, nil},
		{"calls a failed steer unavailable", []string{"SteerFails"}, nil, nil},
		{"takes any mode", []string{"Settings"}, nil, nil},
		{"reports nothing used", []string{"UsageIsCounted"}, nil, nil},
		{"has another hash each time", []string{"CatalogIsStable"}, nil, nil},
		{"leaves a session of its probe", []string{"ProbesLeaveNothing"}, nil, nil},
		{"declares what it has not", []string{"AbilitiesAreShown"}, nil, nil},
		{"an absence without a reason", []string{"AbilitiesAreShown"}, func(c *agenttest.ProviderConfig) { delete(c.Absent, agent.AbilityRewind) }, nil},
		{"a marked ability without a capture", []string{"AbilitiesAreShown"}, func(c *agenttest.ProviderConfig) { c.Marked = []agent.Ability{agent.AbilityQueue} }, nil},
		{"mirrors another text", []string{"MirrorIsLive", "MirrorFollows", "MirrorGoesOn", "ImportIsLive", "ResumeKeepsRows"}, nil, nil},
		{"does not follow", []string{"MirrorFollows"}, nil, nil},
		{"mirrors from the beginning always", []string{"MirrorGoesOn"}, nil, nil},
		{"lists without a title", []string{"ImportIsLive"}, nil, nil},
		{"counts twice in the file", []string{"UsageIsInTheFile"}, nil, nil},
		{"resumes under another id", []string{"ResumeKeepsRows"}, nil, nil},
		{"begins a lost session anew", []string{"ResumeOfNothingFails"}, nil, nil},
		{"keeps a confined chat", []string{"Confined"}, nil, nil},
		{"takes a read for a line", []string{"Wire/Splits", "Wire/Characters", "Wire/PrettyFirstReply"}, nil, []string{agenttest.RuleAppends}},
		{"mends each read by itself", []string{"Wire/Splits", "Wire/Characters", "Wire/PrettyFirstReply"}, nil, []string{agenttest.RuleAppends}},
		{"gives up at a log", []string{"Wire/Noise"}, nil, nil},
		{"reads line by line only", []string{"Wire/PrettyFirstReply"}, nil, nil},
		{"gives up at error output", []string{"Wire/StderrFlood"}, nil, nil},
		{"has a limit for a line", []string{"Wire/GiantLine", "Wire/PrettyFirstReply"}, nil, nil},
		{"waits for who holds its output", []string{"Wire/ChildHoldsOutput"}, nil, nil},
		{"asks twice", []string{"Disorder"}, nil, nil},
		{"opens anything", []string{"Faults"}, nil, nil},
		{"calls from two sides", []string{agenttest.RuleSerialised}, nil, nil},
		{"is ready twice", []string{agenttest.RuleReady}, nil, nil},
		{"has a title after its exit", []string{agenttest.RuleAfterExit}, nil, nil},
		{"publishes what is invalid", []string{agenttest.RuleItems}, nil, nil},
		{"fails without a reason", []string{agenttest.RuleOneEnd}, nil, nil},
		{"leaves a row open", []string{agenttest.RuleClosed}, nil, nil},
		{"touches what has ended", []string{agenttest.RuleAfterEnd}, nil, nil},
		{"changes the type of a row", []string{agenttest.RuleRows}, nil, nil},
		{"takes back what it said", []string{agenttest.RuleAppends}, nil, nil},
		{"asks without options", []string{agenttest.RuleApprovals}, nil, nil},
		{"acknowledges what nobody asked", []string{agenttest.RuleAcks}, nil, nil},
		{"has an empty title", []string{agenttest.RuleEvents}, nil, nil},
		{"leaves its process", []string{agenttest.RuleProcesses}, nil, nil},
		{"leaves a goroutine", []string{"NoGoroutineIsLeft"}, nil, nil},
		{"leaves a descriptor", []string{"NoDescriptorIsLeft"}, nil, nil},
		{"leaves a child", []string{"NoProcessIsLeft", "NoDescriptorIsLeft"}, nil, nil},
	}
	for _, at := range agenttest.AllPlaces {
		prompt := places[at]
		if at == agenttest.BackgroundOpen || at == agenttest.BetweenTurns {
			continue // no turn is open there
		}
		list = append(list,
			mutant{"completes what was stopped at " + prompt, []string{"StopAt/" + string(at)}, nil, nil},
			mutant{"calls a death at " + prompt + " a stop", []string{"DeathAt/" + string(at)}, nil, nil},
			mutant{"fails a turn that is closed at " + prompt, []string{"CloseAt/" + string(at)}, nil, nil},
		)
	}
	return list
}

// config runs a puppet.
func config(t *testing.T, fault string) agenttest.ProviderConfig {
	p := newPuppet(fault, t.TempDir())
	c := agenttest.ProviderConfig{
		New: func(*testing.T) agent.ChatProvider { return p },
		Open: func(t *testing.T) agent.OpenRequest {
			return agent.OpenRequest{Kind: agent.KindWorkspace, WorkingDirectory: t.TempDir()}
		},
		Confined: func(t *testing.T) agent.OpenRequest {
			return agent.OpenRequest{Kind: agent.KindConfined, WorkingDirectory: t.TempDir()}
		},
		Handover: func(*testing.T) agent.Handover { return handover{p} },
		Binary:   "/bin/cat", Shim: os.Getenv(shimEnv),
		Prompts: agenttest.Prompts{
			Text: "hello", Reasoning: "think", Approval: "ask", Question: "question", Running: "run on", Plan: "plan", Subagents: "agents",
			AgentTurn: "later", Fail: "fail", Command: "/sing", Characters: "say",
		},
		Unreachable: map[agenttest.Place]string{agenttest.BackgroundOpen: "it has no background"},
		Absent: map[agent.Ability]agenttest.Absence{
			agent.AbilityDocuments: {Why: "it takes images"}, agent.AbilityQueue: {Why: "it has none"}, agent.AbilityFeatures: {Why: "it has none"},
			agent.AbilityRewind: {Why: "it cannot"}, agent.AbilityFork: {Why: "it cannot"},
		},
		Unstored: func(t *testing.T, h agent.Handle) {
			if err := os.Remove((&file{p, h.NativeID}).path()); err != nil {
				t.Fatal(err)
			}
		},
		Faults: []agenttest.Fault{{Name: "Refuses", Apply: func(r *agent.OpenRequest) { r.Args = []string{"refuse"} }, OpenFails: true}},
		Disorder: []agenttest.Disorder{{
			Name: "RequestTwice", Prompt: "ask", Inserts: []agenttest.LineInsert{{After: `^(.*"kind":"ask".*)`, Text: "$1"}},
		}},
		Deadline: 2 * time.Second, Races: 6, Splits: 2, Flood: 100_000,
	}
	if os.Getenv(exactEnv) != "" {
		c.Deadline = 20 * time.Second // every rule runs, and a slow machine is no fault
	}
	for at, prompt := range places {
		c.Points = append(c.Points, agenttest.Point{At: at, Prompt: prompt})
	}
	return c
}

// The mutants run in processes of their own, since they must fail. exactEnv makes
// each run every rule.
const (
	mutantsEnv = "AGENTTEST_MUTANTS"
	shimEnv    = "AGENTTEST_BUILT_SHIM"
	exactEnv   = "AGENTTEST_EXACT"
	logEnv     = "AGENTTEST_MUTANTS_LOG" // a file for all that the mutants printed
)

// shards are run beside each other: most of a mutant's time is waiting.
const shards = 4

func TestMutants(t *testing.T) {
	shard, err := strconv.Atoi(os.Getenv(mutantsEnv))
	if err != nil {
		return
	}
	if shard == 0 {
		t.Run("none", func(t *testing.T) {
			c := config(t, "")
			c.Deadline = 20 * time.Second // nothing of it must wait in vain
			agenttest.Provider(t, c)
		})
	}
	for i, m := range providerMutants() {
		if i%shards != shard {
			continue
		}
		t.Run(m.fault, func(t *testing.T) {
			defer sweep()
			c := config(t, m.fault)
			if m.config != nil {
				m.config(&c)
			}
			if os.Getenv(exactEnv) == "" {
				c.Rules = slices.Clone(m.fails)
				if !driven(m.fails[0]) {
					// A command of the agent and a failed turn are where they show.
					c.Rules = append(c.Rules, "AbilitiesAreShown", "FailedTurn")
				}
			}
			agenttest.Provider(t, c)
		})
	}
}

// TestOtherMutants are those of the source and the handover; they run all their
// rules always.
func TestOtherMutants(t *testing.T) {
	shard, err := strconv.Atoi(os.Getenv(mutantsEnv))
	if err != nil {
		return
	}
	for i, m := range append([]mutant{{"none", nil, nil, nil}}, sourceMutants()...) {
		if i%shards != shard {
			continue
		}
		t.Run("Source/"+m.fault, func(t *testing.T) {
			defer sweep()
			agenttest.Source(t, sourceConfig(t, m.fault))
		})
	}
	for i, m := range append([]mutant{{"none", nil, nil, nil}}, handoverMutants()...) {
		if i%shards != shard {
			continue
		}
		t.Run("Handover/"+m.fault, func(t *testing.T) { agenttest.Handover(t, handoverConfig(t, m.fault)) })
	}
}

var result = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL): TestMutants/([^/\s]+)/(\S+) `)

var otherResult = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL): TestOtherMutants/(Source|Handover)/([^/\s]+)/(\S+) `)

// TestEveryOtherRuleCanFail is the same for the source and the handover.
func TestEveryOtherRuleCanFail(t *testing.T) {
	t.Parallel()
	raw := mutants(t, t.Context(), "^TestOtherMutants$", logEnv+".other")
	for suite, mutants := range map[string][]mutant{"Source": sourceMutants(), "Handover": handoverMutants()} {
		failed, ran := map[string][]string{}, map[string]bool{}
		for _, m := range otherResult.FindAllStringSubmatch(raw, -1) {
			if m[2] == suite {
				ran[m[3]] = true
				if m[1] == "FAIL" {
					failed[m[3]] = append(failed[m[3]], m[4])
				}
			}
		}
		checkMutants(t, suite, append(mutants, mutant{"none", nil, nil, nil}), ran, failed)
	}
}

// checkMutants compares what failed with what must.
func checkMutants(t *testing.T, suite string, mutants []mutant, ran map[string]bool, failed map[string][]string) {
	t.Helper()
	caught := map[string]bool{}
	for _, m := range mutants {
		name := strings.ReplaceAll(m.fault, " ", "_")
		if !ran[name] {
			t.Errorf("%s: %q did not run", suite, m.fault)
		}
		got := failed[name]
		below := func(rule string) func(string) bool {
			return func(r string) bool { return r == rule || strings.HasPrefix(r, rule+"/") }
		}
		for _, want := range m.fails {
			if !slices.ContainsFunc(got, below(want)) {
				t.Errorf("%s: %q was not noticed by %s (but by %v)", suite, m.fault, want, got)
			}
		}
		for _, r := range got {
			caught[r] = true
			if !slices.ContainsFunc(slices.Concat(m.fails, m.may), func(want string) bool { return below(want)(r) }) {
				t.Errorf("%s: %q fails %s too", suite, m.fault, r)
			}
		}
	}
	for _, r := range agenttest.Rules() {
		if r.Suite == suite && !caught[r.Name] && !strings.HasSuffix(r.Name, "/"+string(agenttest.BackgroundOpen)) {
			t.Errorf("%s: no mutant fails the rule %s", suite, r.Name)
		}
	}
}

// TestEveryRuleCanFail: each mutant fails the rules that are there for it and no
// other, the puppet without a fault fails none, and every rule has its mutant.
func TestEveryRuleCanFail(t *testing.T) {
	t.Parallel()
	exact := os.Getenv("WHIPPLETREE_AGENTS") == "full"
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	shim := t.TempDir() + "/shim"
	if out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", shim, "../shim").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var more []string
	if exact {
		more = append(more, exactEnv+"=1")
	}
	out := mutants(t, ctx, "^TestMutants$", logEnv, append(more, shimEnv+"="+shim)...)
	failed := map[string][]string{}
	ran := map[string]bool{}
	for _, m := range result.FindAllStringSubmatch(out, -1) {
		ran[m[2]] = true
		rule := m[3]
		if !isRule(rule) {
			continue // a part of a rule
		}
		if m[1] == "FAIL" {
			failed[m[2]] = append(failed[m[2]], rule)
		}
	}
	checkMutants(t, "Provider", append(providerMutants(), mutant{"none", nil, nil, nil}), ran, failed)
}

// mutants runs a test of mutants in all its shards and returns what they printed.
func mutants(t *testing.T, ctx context.Context, test, log string, env ...string) string {
	t.Helper()
	outs := make([]string, shards)
	var all sync.WaitGroup
	for i := range shards {
		all.Go(func() {
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", test, "-test.v", "-test.timeout", "25m")
			cmd.Env = append(os.Environ(), mutantsEnv+"="+strconv.Itoa(i))
			cmd.Env = append(cmd.Env, env...)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Errorf("the mutants of shard %d passed", i)
			}
			outs[i] = string(out)
		})
	}
	all.Wait()
	out := strings.Join(outs, "\n")
	name, suffix, _ := strings.Cut(log, ".")
	if path := os.Getenv(name); path != "" {
		if err := os.WriteFile(path+suffix, []byte(out), 0o600); err != nil {
			t.Error(err)
		}
	}
	return out
}

// driven reports whether a rule has a part of its own; standing rules and what is
// looked at in the end show in the parts of others.
func driven(name string) bool {
	return !slices.Contains([]string{
		agenttest.RuleSerialised, agenttest.RuleReady, agenttest.RuleAfterExit, agenttest.RuleItems, agenttest.RuleOneEnd,
		agenttest.RuleClosed, agenttest.RuleAfterEnd, agenttest.RuleRows, agenttest.RuleAppends, agenttest.RuleApprovals,
		agenttest.RuleAcks, agenttest.RuleEvents, agenttest.RuleProcesses, "NoGoroutineIsLeft", "NoDescriptorIsLeft", "NoProcessIsLeft",
	}, name)
}

func isRule(name string) bool {
	return slices.ContainsFunc(agenttest.Rules(), func(r agenttest.Rule) bool { return r.Suite == "Provider" && r.Name == name })
}
