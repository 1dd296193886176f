package modelserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client closes its connections, so that the leak check sees the server only.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

func start(t *testing.T) *Server {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func ask(t *testing.T, s *Server, messages string) (int, string, error) {
	t.Helper()
	body := `{"model":"m","stream":true,"thinking":{"type":"adaptive","display":"summarized"},"tools":[{"name":"Bash"}],"messages":[` + messages + `]}`
	res, err := client(t).Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// text joins the deltas of a streamed answer.
func text(stream string) string {
	var b strings.Builder
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var ev struct {
			Delta struct {
				Text string `json:"text"`
			} `json:"delta"`
		}
		if json.Unmarshal([]byte(data), &ev) == nil {
			b.WriteString(ev.Delta.Text)
		}
	}
	return b.String()
}

func user(text string) string {
	data, err := json.Marshal(map[string]any{"role": "user", "content": text})
	if err != nil {
		return ""
	}
	return string(data)
}

func TestStepsFollowTheAnswers(t *testing.T) {
	s := start(t)
	_, first, err := ask(t, s, user("scenario:bash-allow"))
	if err != nil || !strings.Contains(first, `"name":"Bash"`) || !strings.Contains(first, "tool_use") {
		t.Errorf("first: %s %v", first, err)
	}
	rest := `,{"role":"assistant","content":[]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"hi"}]}`
	_, second, err := ask(t, s, user("scenario:bash-allow")+rest)
	if err != nil || text(second) != "Done with bash." {
		t.Errorf("second: %s %v", second, err)
	}
	got := s.Turns()
	if len(got) != 2 || got[1].Step != 1 || got[0].Scenario != "bash-allow" || got[0].Thinking != "adaptive/summarized" || got[0].Tools[0] != "Bash" {
		t.Errorf("asked: %+v", got)
	}
}

func TestArgumentsAndCharactersStayWhole(t *testing.T) {
	s := start(t)
	if _, got, err := ask(t, s, user("scenario:unicode")); err != nil || text(got) != "привет 👩‍👩‍👧 ─│ ok" {
		t.Errorf("%q %v", text(got), err)
	}
	_, got, err := ask(t, s, user(`scenario:write path=/tmp/a"b`))
	if err != nil || !strings.Contains(got, `/tmp/a\\\"b`) {
		t.Errorf("%s %v", got, err)
	}
}

func TestErrorsAndDrops(t *testing.T) {
	s := start(t)
	for scenario, status := range map[string]int{"error-401": 401, "error-429": 429, "error-500": 500, "error-529": 529, "no-such": 400} {
		if code, _, err := ask(t, s, user("scenario:"+scenario)); err != nil || code != status {
			t.Errorf("%s: %d %v", scenario, code, err)
		}
	}
	if code, _, _ := ask(t, s, user("scenario:error-529-once")); code != 529 {
		t.Errorf("first time: %d", code)
	}
	if code, got, err := ask(t, s, user("scenario:error-529-once")); code != 200 || err != nil || text(got) == "" {
		t.Errorf("second time: %d %v", code, err)
	}
	if _, got, err := ask(t, s, user("scenario:drop-once")); err == nil || text(got) != "This will be cut " {
		t.Errorf("not dropped: %q %v", text(got), err)
	}
	if _, got, err := ask(t, s, user("scenario:drop-once")); err != nil || text(got) != "This will be cut in the middle, once." {
		t.Errorf("dropped twice: %q %v", text(got), err)
	}
}

func TestHoldStandsUntilReleased(t *testing.T) {
	s := start(t)
	done := make(chan string, 1)
	go func() {
		_, got, _ := ask(t, s, user("scenario:hold"))
		done <- text(got)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.WaitHeld(ctx, "half"); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-done:
		t.Fatalf("not held: %q", got)
	default:
	}
	res, err := client(t).PostForm(s.URL()+"/_control/release", map[string][]string{"hold": {"half"}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := <-done; got != "The first half of the answer, and the second half." {
		t.Errorf("%q", got)
	}
}

func TestOnlyLoopback(t *testing.T) {
	if s, err := NewAt("0.0.0.0:0"); err == nil {
		_ = s.Close()
		t.Error("it listens for everybody")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"scenario:x a=b"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := anthropic{}.decode(data)
		if err == nil && req.Step < 0 {
			t.Error("a negative step")
		}
		s := &Server{scenarios: map[string]*Scenario{"hello": {Name: "hello", Steps: []Step{{}}}}}
		sc, args := s.pick(req.Prompt)
		sc.step(req.Step)
		fillJSON(json.RawMessage(`{"a":"{{a}}"}`), args)
	})
}
