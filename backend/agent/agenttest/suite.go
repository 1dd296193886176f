package agenttest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// suite is one run of the provider's rules.
type suite struct {
	*ProviderConfig
	shim      *shim // nil: the wire is not disturbed
	calmOnce  sync.Once
	calmStory []string
	fresh     freshRun // made by the first rule that needs it

	mu     sync.Mutex
	broken map[string][]string // standing rules, by name
}

// note keeps a broken standing rule for the report at the end.
func (s *suite) note(part, rule, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[rule] = append(s.broken[rule], part+": "+text)
}

// Provider runs the rules of a chat provider: first the ones that drive it, then
// the standing ones with what they saw meanwhile.
func Provider(t *testing.T, cfg ProviderConfig) {
	t.Helper()
	if cfg.Prompts.Steered == "" {
		cfg.Prompts.Steered = cfg.Prompts.Running
	}
	if cfg.Prompts.Reasoning == "" {
		cfg.Prompts.Reasoning = cfg.Prompts.Text
	}
	s := &suite{ProviderConfig: &cfg, broken: map[string][]string{}}
	ch := choice{cfg.Rules, cfg.Without}
	if cfg.Binary != "" {
		s.shim = newShim(t, cfg.Binary, cfg.Shim)
	}
	before := leaks{goleak.IgnoreCurrent(), descriptors(), children(), cfg.deadline()}
	runRules(t, s, ch, providerRules())
	for _, r := range standing {
		if !ch.takes(r.name) && len(s.broken[r.name]) == 0 {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			list := slices.Compact(s.broken[r.name])
			for i, text := range list {
				if i == 20 {
					t.Errorf("... and %d more", len(list)-i)
					break
				}
				t.Errorf("%s\n%s", text, r.says)
			}
		})
	}
	runRules(t, before, choice{without: cfg.Without}, providerEnds)
}

// leaks is what there was before a run.
type leaks struct {
	goroutines  goleak.Option
	descriptors map[string]int
	children    []int
	deadline    time.Duration
}

// providerEnds are looked at when everything was closed.
var providerEnds = []rule[leaks]{
	{name: "NoGoroutineIsLeft", says: "When every chat is closed no goroutine of the provider runs.", run: func(t *testing.T, l leaks) {
		goleak.VerifyNone(t, l.goroutines)
	}},
	{name: "NoDescriptorIsLeft", says: "When every chat is closed no pipe, file or socket is open that was not before.", run: func(t *testing.T, l leaks) {
		settle(t, l.deadline, "descriptors", func() []string { return more(l.descriptors, descriptors()) })
	}},
	{name: "NoProcessIsLeft", says: "When every chat is closed no process runs or waits to be buried that was not there before.", run: func(t *testing.T, l leaks) {
		settle(t, l.deadline, "processes", newChildren(l.children))
	}},
}

// providerRules is the table of what a provider is driven through.
func providerRules() []rule[*suite] {
	has := func(prompt func(Prompts) string) func(*suite) bool {
		return func(s *suite) bool { return prompt(s.Prompts) != "" }
	}
	text := has(func(p Prompts) string { return p.Text })
	running := has(func(p Prompts) string { return p.Running })
	list := []rule[*suite]{
		{"Availability", "Availability tells whether a chat could be opened now, and by which command that is mended.", nil, testAvailability},
		{"OpenFailureLeavesNothing", "After a failed Open nothing was reported and nothing runs.", nil, testOpenFailure},
		{"Turns", "Turn after turn is taken, each with rows of its own.", text, testTurns},
		{"CancelWhileIdle", "Cancel while nothing runs does nothing.", text, testIdle},
		{"CloseIsTheEnd", "After Close no prompt is taken, Cancel is content and Exit was told.", nil, testClose},
		{"CloseDuringATurn", "Close ends a running turn, also when it is called twice at once.", running, testCloseDuringTurn},
		{"Cancel", "Cancel ends the running turn as canceled, also when it is called twice at once, and the next prompt is taken.", running, testCancel},
		{"CancelRacesTheEnd", "Whoever wins, the turn has one end and the next works.", text, testCancelRacesEnd},
		{"ContextEnds", "A Prompt whose context ends does not wait for the agent, and nothing of it goes on.", running, testContextEnds},
		{"PlacesAreAllThere", "The agent is stopped, killed and closed at every place, or a reason stands beside the place.", func(s *suite) bool { return len(s.Points) > 0 }, testPlaces},
	}
	for _, at := range AllPlaces {
		on := func(s *suite) bool { return s.point(at) != nil }
		list = append(list,
			rule[*suite]{"StopAt/" + string(at), "A stop there ends the turn as canceled, leaves nothing open and no request standing, and the next prompt is taken.", on, func(t *testing.T, s *suite) { testStopAt(t, s, s.point(at)) }},
			rule[*suite]{"DeathAt/" + string(at), "A kill there ends the turn as failed with a reason, leaves nothing open and no request standing; a dead agent takes nothing and a new process goes on.", on, func(t *testing.T, s *suite) { testDeathAt(t, s, s.point(at)) }},
			rule[*suite]{"CloseAt/" + string(at), "Close there ends the turn, as canceled, and leaves nothing open and no request standing.", on, func(t *testing.T, s *suite) { testCloseAt(t, s, s.point(at)) }},
		)
	}
	list = append(list, []rule[*suite]{
		{"OptionsKeepTheirMeaning", "Each option goes back as the one it is: allowed ones act, refused ones do not and the turn goes on, and none is a cancel (case A04).", has(func(p Prompts) string { return p.Approval }), testApprovalOptions},
		{"RequestsStandByThemselves", "While a request stands its tool is not closed, and nothing is acknowledged (case A01).", has(func(p Prompts) string { return p.Approval }), testApprovalStands},
		{"NobodyDecided", "An answer that says that nobody decided is not a no: the tool does not act and is not declined.", has(func(p Prompts) string { return p.Approval }), testApprovalUndecided},
		{"Questions", "A question card is answered with the chosen options or own words.", has(func(p Prompts) string { return p.Question }), testQuestion},
		{"Plans", "A plan is a row that changes.", has(func(p Prompts) string { return p.Plan }), testPlan},
		{"Subagents", "What a sub-agent does are rows below its own.", has(func(p Prompts) string { return p.Subagents }), testSubagents},
		{"TurnsOfTheAgentsOwn", "What happens without a prompt is a turn of the agent's own, with an end (case S09).", has(func(p Prompts) string { return p.AgentTurn }), testAgentTurn},
		{"FailedTurn", "A turn that fails says why, and the next prompt is taken.", has(func(p Prompts) string { return p.Fail }), testFail},
		{"SteerIsTaken", "A steer during a turn is accepted and a sign of it comes; while idle it is unavailable.", has(func(p Prompts) string { return p.Steered }), testSteer},
		{"SteerFails", "A steer that cannot be delivered is a failure, not unavailable, and the agent can still be closed.", func(s *suite) bool { return s.shim != nil && s.Prompts.Steered != "" }, testSteerFails},
		{"Settings", "What can be set is reported as in force; what is not offered is refused.", nil, testSetters},
		{"UsageIsCounted", "After a turn its usage is known.", text, testUsage},
		{"CatalogIsStable", "The catalogue has the same ids and hash each time it is asked, no id twice, and the ones the chat has.", nil, testCatalog},
		{"ProbesLeaveNothing", "Looking for the agent and its catalogue leaves no session, process or descriptor behind.", nil, testProbes},
		{"AbilitiesAreShown", "Every declared ability is shown by a run, every one that is shown is declared, and an absent one has its reason.", text, testAbilities},
		{"MirrorIsLive", "The mirror of a fresh run has the rows that it had live: ids, states, order and content.", handedOver, testMirrorIsLive},
		{"MirrorFollows", "A mirror that runs beside the chat ends with the same rows.", handedOver, testMirrorFollows},
		{"MirrorGoesOn", "A mirror that continues from a position gives what came after it, and nothing twice.", handedOver, testMirrorGoesOn},
		{"ImportIsLive", "The list of stored sessions has a fresh run once, with its title and folder, and leads to the same rows.", handedOver, testImportIsLive},
		{"UsageIsInTheFile", "What the last turn used, read from the agent's file, is what it used live.", handedOver, testUsageInFile},
		{"ResumeKeepsRows", "A second process goes on under the same id, and the rows of both are in the mirror.", text, testResume},
		{"ResumeOfNothingFails", "A session that does not exist is not begun anew in silence.", text, testResumeUnknown},
		{"Confined", "A confined chat has no native session and takes turns.", func(s *suite) bool { return s.Confined != nil }, testConfined},
	}...)
	return append(list, wireRules()...)
}

func handedOver(s *suite) bool { return s.Handover != nil && s.Prompts.Text != "" }

func partOf(t *testing.T) string { return fmt.Sprintf("in %s", t.Name()) }
