package agentkit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

const exampleSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,
	"properties":{"name":{"type":"string","minLength":1},"list":{"type":"array","items":{"type":"object","additionalProperties":false,
	"properties":{"n":{"type":"integer","minimum":0},"mode":{"enum":["a","b"]}}}}}}`

func TestSchemaTellsWholePaths(t *testing.T) {
	s := NewSchema("https://whippletree.app/example.schema.json", []byte(exampleSchema))
	for text, want := range map[string][]string{
		"":                       nil,
		" \n":                    nil,
		`{}`:                     nil,
		`{"name":"x","list":[]}`: nil,
		`{"Name":"x"}`:           {"$.o.Name unknown_field"},
		`{"name":""}`:            {"$.o.name invalid_string"},
		`{"list":[{"n":1},{"n":-1,"mode":"c","x":1}]}`: {"$.o.list[1].mode invalid_enum", "$.o.list[1].n invalid_integer", "$.o.list[1].x unknown_field"},
		`{"list":[{"n":1,"n":2}]}`:                     {"$.o.list[0].n invalid_object"},
		`{"list":[{},{"mode":"a","mode":"a"}]}`:        {"$.o.list[1].mode invalid_object"},
		`null`:                                         {"$.o invalid_type"},
		`{"name":"x"`:                                  {"$.o invalid_object"},
		`{"name":"x"}{}`:                               {"$.o invalid_object"},
	} {
		var got []string
		for _, is := range s.Check("$.o", json.RawMessage(text)) {
			if is.Message == "" {
				t.Errorf("%s: no words for %s", text, is.Path)
			}
			got = append(got, is.Path+" "+is.Code)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := Explain([]agent.Issue{{Path: "$.a", Message: "is odd"}, {Path: "$.b", Message: "is not"}}); got != "$.a is odd; $.b is not" {
		t.Error(got)
	}
}

func TestSchemaThatCannotBeUsedLetsNothingThrough(t *testing.T) {
	s := NewSchema("https://whippletree.app/broken.schema.json", []byte(`{"type":"nonsense"}`))
	if got := s.Check("$", json.RawMessage(`{}`)); len(got) != 1 || !strings.Contains(got[0].Message, "cannot be checked") {
		t.Errorf("%+v", got)
	}
}

// FuzzSchema: whatever is given, a check ends, and what passes is one JSON object
// that a second reading sees in the same way.
func FuzzSchema(f *testing.F) {
	for _, text := range []string{`{}`, `{"name":"x","name":"y"}`, `{"list":[{"n":1e400}]}`, `[[[[`, "{\"a\\u0000\":1}", `{"list":[{"n":1.0}]}`} {
		f.Add([]byte(text))
	}
	s := NewSchema("https://whippletree.app/example.schema.json", []byte(exampleSchema))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(s.Check("$", data)) > 0 || len(strings.TrimSpace(string(data))) == 0 {
			return
		}
		var v map[string]any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Errorf("%q passed and is not an object: %v", data, err)
		}
	})
}
