package modelserver

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Scenario is the script of one turn: what the model answers to the prompt,
// then to the results of the tools it called, and so on. It is chosen by the
// marker "scenario:NAME" in the newest text of the user; words "key=value"
// after it fill {{key}} in texts and tool inputs.
type Scenario struct {
	Name string `json:"name"`
	// About says what it is for.
	About string `json:"about,omitempty"`
	Steps []Step `json:"steps"`
}

// Step is one answer of the model. The last step is repeated when there are
// more calls than steps.
type Step struct {
	Blocks []Block `json:"blocks,omitempty"`
	// Chunk is the size of a delta in bytes (default 12), DelayMs the pause
	// after each.
	Chunk   int `json:"chunk,omitempty"`
	DelayMs int `json:"delayMs,omitempty"`
	// Status answers with an HTTP error instead, the first Times calls (0: all).
	Status     int    `json:"status,omitempty"`
	Times      int    `json:"times,omitempty"`
	Message    string `json:"message,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"`
	// Stop is why the model stopped, where it is not the usual reason: max_tokens,
	// refusal. Headers are those of the answer, also of an error.
	Stop    string            `json:"stop,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Block is one of text, thinking and a tool call. A text may hold marks:
// <<hold:NAME>> stands until released, <<drop>> cuts the connection,
// <<drop:N>> only the first N times.
type Block struct {
	Text     string          `json:"text,omitempty"`
	Thinking string          `json:"thinking,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
}

//go:embed scenarios/*.json
var files embed.FS

// Builtin reads the embedded scenario files.
func Builtin() (map[string]*Scenario, error) {
	entries, err := files.ReadDir("scenarios")
	if err != nil {
		return nil, err
	}
	all := map[string]*Scenario{}
	for _, e := range entries {
		data, err := files.ReadFile(path.Join("scenarios", e.Name()))
		if err != nil {
			return nil, err
		}
		sc, err := Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if want := strings.TrimSuffix(e.Name(), ".json"); sc.Name != want {
			return nil, fmt.Errorf("%s: name is %q", e.Name(), sc.Name)
		}
		all[sc.Name] = sc
	}
	return all, nil
}

// Parse reads one scenario file; unknown keys are an error.
func Parse(data []byte) (*Scenario, error) {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	var sc Scenario
	if err := dec.Decode(&sc); err != nil {
		return nil, err
	}
	if sc.Name == "" || len(sc.Steps) == 0 {
		return nil, fmt.Errorf("a scenario needs a name and a step")
	}
	return &sc, nil
}

func (sc *Scenario) step(n int) *Step { return &sc.Steps[min(n, len(sc.Steps)-1)] }

const marker = "scenario:"

// pick finds the scenario a prompt asks for; without one the prompt is answered
// with a greeting.
func (s *Server) pick(prompt string) (*Scenario, map[string]string) {
	_, rest, ok := strings.Cut(prompt, marker)
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return s.scenarios["hello"], nil
	}
	sc := s.scenarios[fields[0]]
	if sc == nil {
		return &Scenario{Name: fields[0], Steps: []Step{{Status: 400, Message: "no scenario " + fields[0]}}}, nil
	}
	args := map[string]string{}
	for _, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, "="); ok {
			args[k] = v
		}
	}
	return sc, args
}

func fill(text string, args map[string]string) string {
	for k, v := range args {
		text = strings.ReplaceAll(text, "{{"+k+"}}", v)
	}
	return text
}

func fillJSON(input json.RawMessage, args map[string]string) json.RawMessage {
	text := string(input)
	for k, v := range args {
		quoted, err := json.Marshal(v)
		if err != nil {
			continue
		}
		text = strings.ReplaceAll(text, "{{"+k+"}}", string(quoted[1:len(quoted)-1]))
	}
	if text == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}
