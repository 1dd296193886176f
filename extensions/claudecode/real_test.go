package claudecode

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/e2e/agents"
	"github.com/whippletree-app/whippletree/e2e/modelserver"
)

// lab is the real program against the scripted model, in a home of its own.
type lab struct {
	t      testing.TB
	server *modelserver.Server
	host   *agentkit.Host
	h      agent.Harness
	home   string
	cwd    string
	bin    string
}

func newLab(t testing.TB) *lab {
	t.Helper()
	bin := agents.Binary(t, "claude-code", "claude")
	server, err := modelserver.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	home := agents.Home(t)
	l := &lab{t: t, server: server, home: home, cwd: filepath.Join(home, "proj"), bin: bin}
	for _, dir := range []string{l.cwd, filepath.Join(home, "run"), filepath.Join(home, "cache"), filepath.Join(home, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := agents.Environ(home, map[string]string{
		"ANTHROPIC_BASE_URL": server.URL(), "ANTHROPIC_API_KEY": "sk-test-dummy-key-0000",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
		"CLAUDE_CODE_MAX_RETRIES": "2", "TMPDIR": filepath.Join(home, "tmp"),
		"PATH": filepath.Dir(bin) + string(os.PathListSeparator) + os.Getenv("PATH"),
	})
	watcher := agentkit.NewWatcher(agentkit.WatcherOptions{})
	exits := processes.NewExitWatcher()
	t.Cleanup(func() { _ = watcher.Close(); exits.Close() })
	l.host = &agentkit.Host{
		Home: home, Env: func() []string { return env },
		DataDir: home, CacheDir: filepath.Join(home, "cache"), RunDir: filepath.Join(home, "run"),
		Watcher: watcher, Exits: exits,
	}
	l.h = New(l.host)
	return l
}

func (l *lab) ctx() context.Context {
	ctx, cancel := context.WithTimeout(l.t.Context(), 60*time.Second)
	l.t.Cleanup(cancel)
	return ctx
}

// open starts a chat that the test closes.
func (l *lab) open(rec *recorder, change func(*agent.OpenRequest)) agent.ChatSession {
	l.t.Helper()
	req := agent.OpenRequest{ChatID: "chat-1", Kind: agent.KindWorkspace, WorkingDirectory: l.cwd}
	if change != nil {
		change(&req)
	}
	chat, err := l.h.Provider.Open(l.ctx(), req, rec)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := chat.Close(context.Background()); err != nil {
			l.t.Error(err)
		}
	})
	return chat
}

func (l *lab) say(chat agent.ChatSession, text string) agent.TurnEnd {
	l.t.Helper()
	end, err := chat.Prompt(l.ctx(), agent.Prompt{Text: text, ClientID: "c-" + text})
	if err != nil {
		l.t.Fatal(err)
	}
	return end
}

func (l *lab) completed(chat agent.ChatSession, text string) {
	l.t.Helper()
	if end := l.say(chat, text); end.Outcome != agent.OutcomeCompleted {
		l.t.Fatalf("%s ended %+v", text, end)
	}
}

func TestRealSmokeStartAskStopResume(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	if rec.ready.Handle == nil || rec.ready.Mode != modeAsk {
		t.Fatalf("ready: %+v", rec.ready)
	}
	l.completed(chat, "scenario:bash-allow")
	bash := rec.row(t, named("Bash"))
	if bash.State != agent.StateCompleted || bash.Output != "hi" || bash.Detail.Execute.Command == "" {
		t.Errorf("bash row: %+v", bash)
	}
	if _, err := os.Stat(filepath.Join(l.cwd, "made-by-bash.txt")); err != nil {
		t.Error("the allowed command did not run")
	}
	if len(rec.approvals) != 1 || rec.approvals[0].Preview.Command == "" || rec.approvals[0].ItemID != bash.ID {
		t.Errorf("approvals: %+v", rec.approvals)
	}
	rec.wait(t, "the acknowledgement", func() bool { return len(rec.acked) == 1 })
	if rec.row(t, ofType(agent.ItemReasoning)).Text != "I will run a command." {
		t.Error("the reasoning is not visible")
	}
	if got := l.server.Turns()[0]; got.Thinking != "adaptive/summarized" || !strings.Contains(got.UserAgent, verifiedVersion) {
		t.Errorf("asked with thinking %q by %q", got.Thinking, got.UserAgent)
	}

	// Stop: the old turn cannot go on.
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:hold-reply") }()
	if err := l.server.WaitHeld(l.ctx(), "reply"); err != nil {
		t.Fatal(err)
	}
	if err := chat.Cancel(l.ctx()); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeCanceled {
		t.Errorf("stopped turn ended %+v", end)
	}
	l.completed(chat, "hello again")
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	rec.wait(t, "the exit", func() bool { return rec.exit != nil })

	// Resume in a new process.
	rec2 := newRecorder()
	chat2 := l.open(rec2, func(r *agent.OpenRequest) { r.Resume = rec.ready.Handle })
	if rec2.ready.Handle.NativeID != rec.ready.Handle.NativeID {
		t.Error("the id changed")
	}
	l.completed(chat2, "after resume")
	asked := l.server.Turns()
	if last := string(asked[len(asked)-1].Raw); !strings.Contains(last, "hello again") {
		t.Error("the resumed conversation does not know what was said before")
	}
}

func TestRealApprovalDeniedWithComment(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	rec.decide = func(agent.Approval) agent.ApprovalAnswer {
		return agent.ApprovalAnswer{OptionID: optionDeny, Comment: "please do not, use another way"}
	}
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:bash-allow")
	if it := rec.row(t, named("Bash")); it.State != agent.StateDeclined {
		t.Errorf("row: %+v", it)
	}
	asked := l.server.Turns()
	if !strings.Contains(string(asked[len(asked)-1].Raw), "use another way") {
		t.Error("the comment did not reach the model")
	}
	if _, err := os.Stat(filepath.Join(l.cwd, "made-by-bash.txt")); err == nil {
		t.Error("the refused command ran")
	}
}

func TestRealSuggestionGoesBackExactly(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	rec.decide = func(a agent.Approval) agent.ApprovalAnswer {
		for _, o := range a.Options {
			if o.Kind == agent.OptionAllowAlways && o.SavedAt != "" {
				return agent.ApprovalAnswer{OptionID: o.ID}
			}
		}
		return agent.ApprovalAnswer{OptionID: optionDeny}
	}
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:bash-allow")
	var o agent.Option
	for _, x := range rec.approvals[0].Options {
		if x.SavedAt != "" {
			o = x
		}
	}
	if o.Reach != "always" || !strings.Contains(o.Label, "touch made-by-bash.txt") {
		t.Errorf("option: %+v", o)
	}
	saved, err := os.ReadFile(o.SavedAt)
	if err != nil || !strings.Contains(string(saved), "made-by-bash") {
		t.Errorf("the rule is not where the option said: %s %v", saved, err)
	}
}

func TestRealEditHasADiff(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(l.cwd, "edit.txt")
	if err := os.WriteFile(file, []byte("alpha\nbeta\ngamma\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:edit path="+file)
	d := rec.row(t, named("Edit")).Detail.Edit
	if d.Added != 1 || d.Removed != 1 || !strings.Contains(d.Diff, "-beta\n+BETA\n") || d.Path != file {
		t.Errorf("diff: %+v", d)
	}
	if r := rec.row(t, named("Read")).Detail.Read; r.Path != file || r.From != 1 {
		t.Errorf("read: %+v", r)
	}
	if a := rec.approvals[0]; !strings.Contains(a.Preview.Diff, "+BETA") {
		t.Errorf("preview: %+v", a.Preview)
	}
}

func TestRealQuestion(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	rec.decide = func(a agent.Approval) agent.ApprovalAnswer {
		return agent.ApprovalAnswer{OptionID: optionAnswer, Answers: map[string]agent.QuestionAnswer{
			"q0": {OptionIDs: []string{"o1"}}, "q1": {OptionIDs: []string{"o0", "o1"}},
		}}
	}
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:ask")
	a := rec.approvals[0]
	if a.Kind != agent.ApprovalQuestion || len(a.Questions) != 2 || !a.Questions[1].Multi {
		t.Fatalf("card: %+v", a)
	}
	it := rec.row(t, named("AskUserQuestion"))
	if it.Detail.Question.Answers["Which color?"] != "Blue" || it.Detail.Question.Answers["Which sizes?"] != "S, L" {
		t.Errorf("answers: %+v", it.Detail.Question.Answers)
	}
}

func TestRealPlanIsACard(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, func(r *agent.OpenRequest) { r.Mode = "plan" })
	if rec.ready.Mode != "plan" {
		t.Fatalf("mode %q", rec.ready.Mode)
	}
	l.completed(chat, "scenario:plan")
	if a := rec.approvals[0]; a.Kind != agent.ApprovalPlan || a.Plan == nil || !strings.Contains(a.Plan.Text, "Leap") {
		t.Errorf("card: %+v", a)
	}
	rec.wait(t, "the mode to change", func() bool { return rec.settings.Mode == modeAsk })
}

func TestRealSubagent(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:task")
	sub := rec.row(t, ofType(agent.ItemSubagent))
	if sub.State != agent.StateCompleted || sub.Title != "Look around" || sub.Output != "Looked around." {
		t.Errorf("sub-agent: %+v", sub)
	}
	child := rec.row(t, func(it agent.Item) bool { return it.ParentID == sub.ID })
	if child.Text != "Looked around." {
		t.Errorf("child: %+v", child)
	}
}

func TestRealStopWhileAskedWithdrawsTheRequest(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:bash-allow") }()
	rec.wait(t, "the request", func() bool { return len(rec.approvals) == 1 })
	if err := chat.Cancel(l.ctx()); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeCanceled {
		t.Errorf("end: %+v", end)
	}
	rec.wait(t, "the withdrawal", func() bool { return len(rec.withdrawn) == 1 })
	if it := rec.row(t, named("Bash")); it.State != agent.StateCanceled {
		t.Errorf("row: %+v", it)
	}
}

func TestRealStopEndsTheCommand(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:bash-long") }()
	w := l.host.Watcher.Watch(l.cwd)
	defer w.Close()
	for {
		if _, err := os.Stat(filepath.Join(l.cwd, "long-started.txt")); err == nil {
			break
		}
		select {
		case <-w.Wake():
			w.Take()
		case <-l.ctx().Done():
			t.Fatal("the command did not start")
		}
	}
	if err := chat.Cancel(l.ctx()); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeCanceled {
		t.Errorf("end: %+v", end)
	}
	table, err := processes.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table.Descendants(rec.ready.Pid) {
		if argv, _ := processes.Argv(p.Pid); len(argv) > 1 && argv[0] == "sleep" {
			t.Errorf("the command still runs: %v", argv)
		}
	}
}

func TestRealErrorsDecideByFlagAndStatus(t *testing.T) {
	agents.Full(t)
	for _, c := range []struct{ scenario, reason string }{
		{"error-401", "not_signed_in"}, {"error-429", "rate_limit"}, {"error-500", "server_error"}, {"error-529", "overloaded"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			rec := newRecorder()
			chat := l.open(rec, nil)
			end := l.say(chat, "scenario:"+c.scenario)
			if end.Outcome != agent.OutcomeFailed || end.Reason != c.reason || end.Text == "" {
				t.Errorf("end: %+v", end)
			}
			rec.row(t, ofType(agent.ItemError))
			if n := rec.row(t, ofType(agent.ItemNotice)); !strings.Contains(n.Text, "trying again") {
				t.Errorf("notice: %+v", n)
			}
			l.completed(chat, "still alive")
		})
	}
}

func TestRealDroppedStreamShowsNoTextTwice(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:drop-once")
	n := 0
	for _, it := range rec.rows() {
		if strings.Contains(it.Text, "This will be cut") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("shown %d times: %s", n, show(rec.rows()))
	}
}

func TestRealHeldStreamShowsItsFirstHalf(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:hold") }()
	if err := l.server.WaitHeld(l.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	const first = "The first half of the answer, "
	rec.wait(t, "the first half", func() bool {
		for _, it := range rec.items {
			if it.Text == first && it.EndedAt == 0 {
				return true
			}
		}
		return false
	})
	l.server.Release("half")
	if end := <-done; end.Outcome != agent.OutcomeCompleted {
		t.Errorf("end: %+v", end)
	}
	if it := rec.row(t, ofType(agent.ItemText)); it.Text != first+"and the second half." {
		t.Errorf("text: %q", it.Text)
	}
}

func TestRealProcessDeathEndsTheTurn(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:hold") }()
	if err := l.server.WaitHeld(l.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(rec.ready.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeFailed || end.Reason != "crashed" {
		t.Errorf("end: %+v", end)
	}
	rec.wait(t, "the exit", func() bool { return rec.exit != nil })
	if rec.exit.Signal == "" {
		t.Errorf("exit: %+v", rec.exit)
	}
}

// The real process is killed while a card is open and between two turns; the
// conversation goes on in the next one each time.
func TestRealKilledWhileAskedAndBetweenTurns(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	kill := func(rec *recorder) {
		t.Helper()
		p, err := os.FindProcess(rec.ready.Pid)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
		rec.wait(t, "the exit", func() bool { return rec.exit != nil })
	}
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:bash-allow") }()
	rec.wait(t, "the request", func() bool { return len(rec.approvals) == 1 })
	// What the program has not written yet is lost with it: it writes a moment later.
	written := func(text string) {
		t.Helper()
		s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
		s.wait(l.ctx(), t, text+" in the transcript", func() bool { return strings.HasSuffix(s.texts(), text) })
		stop()
	}
	written("tool/running")
	kill(rec)
	if end := <-done; end.Outcome != agent.OutcomeFailed || end.Reason != "crashed" {
		t.Errorf("end: %+v", end)
	}
	rec.wait(t, "the withdrawal", func() bool { return len(rec.withdrawn) == 1 })
	for _, it := range rec.rows() {
		if it.Open() {
			t.Errorf("a row stayed open: %+v", it)
		}
	}
	rec2 := newRecorder()
	chat2 := l.open(rec2, func(r *agent.OpenRequest) { r.Resume = rec.ready.Handle })
	l.completed(chat2, "hello after the first")
	written("hello after the first | Hello from the scripted model.")
	kill(rec2)
	if len(rec2.turns) != 0 || len(rec2.failures) != 0 {
		t.Errorf("a death between turns made turns %v, faults %v", rec2.turns, rec2.failures)
	}
	chat3 := l.open(newRecorder(), func(r *agent.OpenRequest) { r.Resume = rec.ready.Handle })
	l.completed(chat3, "hello after the second")
	asked := l.server.Turns()
	for _, said := range []string{"scenario:bash-allow", "hello after the first"} {
		if !strings.Contains(string(asked[len(asked)-1].Raw), said) {
			t.Errorf("%q was lost with a process", said)
		}
	}
}

func TestRealAvailabilityAndCatalog(t *testing.T) {
	l := newLab(t)
	a, err := l.h.Provider.Availability(l.ctx())
	if err != nil || !a.Available || a.Version != verifiedVersion || a.Path != l.bin {
		t.Errorf("availability: %+v %v", a, err)
	}
	c, err := l.h.Provider.(agent.Cataloger).Catalog(l.ctx(), "")
	if err != nil || len(c.Models) == 0 || len(c.Modes) == 0 || len(c.Commands) == 0 || len(c.Models[0].Thinking) == 0 {
		t.Errorf("catalog: %+v %v", c, err)
	}
	if list, err := filepath.Glob(filepath.Join(l.home, ".claude", "projects", "*", "*.jsonl")); err != nil || len(list) != 0 {
		t.Errorf("the catalog left sessions behind: %v", list)
	}
}

func TestRealSteerReachesTheRunningTurn(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:bash-allow") }()
	rec.wait(t, "the request", func() bool { return len(rec.approvals) == 1 })
	if err := chat.(agent.Steerer).Steer(l.ctx(), agent.Prompt{Text: "also say hi", ClientID: "steer-1"}); err != nil {
		t.Fatal(err)
	}
	rec.wait(t, "the delivery", func() bool { return len(rec.deliverys) > 0 })
	if rec.deliverys[0] != "steer-1 accepted" {
		t.Errorf("deliveries: %v", rec.deliverys)
	}
	if err := chat.Cancel(l.ctx()); err != nil {
		t.Fatal(err)
	}
	<-done
}

func TestRealTurnThatTheAgentStartsItself(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:task-background")
	rec.wait(t, "the agent's own turn to end", func() bool {
		return len(rec.turns) == 2 && rec.turns[1].End != nil && rec.turns[1].End.Outcome == agent.OutcomeCompleted
	})
	rec.row(t, func(it agent.Item) bool { return it.Text == "The helper came back by itself." })
	for _, it := range rec.rows() {
		if it.Type == agent.ItemUser && it.ClientID == "" {
			t.Errorf("the program's own note became a user row: %+v", it)
		}
	}
	sub := rec.row(t, ofType(agent.ItemSubagent))
	if sub.State != agent.StateCompleted || sub.Output != "Looked around." || sub.EndedAt == 0 {
		t.Errorf("the background sub-agent: %+v", sub)
	}
	l.completed(chat, "hello after that")
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
	stop()
	sameRows(t, rec.rows(), s)
}
