package agentkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Schema checks what a person wrote for a harness. Names are case-sensitive, a
// name that stands twice is refused, and every broken rule is told with its
// whole path.
type Schema struct {
	text     []byte
	compiled func() (*jsonschema.Schema, error)
}

// NewSchema takes a JSON Schema (draft 2020-12) by its text. url names it and is
// never fetched. It is compiled at its first use.
func NewSchema(url string, text []byte) *Schema {
	return &Schema{text: text, compiled: sync.OnceValues(func() (*jsonschema.Schema, error) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(url, doc); err != nil {
			return nil, err
		}
		return c.Compile(url)
	})}
}

// JSON is the schema's own text.
func (s *Schema) JSON() json.RawMessage { return slices.Clone(s.text) }

// Check returns every broken rule of raw, ordered by path; root is the path of
// raw itself ("$.options"). An empty raw breaks none.
func (s *Schema) Check(root string, raw json.RawMessage) []agent.Issue {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if err := repeats(root, raw); err != nil {
		return []agent.Issue{*err}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return []agent.Issue{{Path: root, Code: "invalid_object", Message: "is not JSON: " + err.Error()}}
	}
	compiled, err := s.compiled()
	if err != nil {
		return []agent.Issue{{Path: root, Code: "invalid_object", Message: "cannot be checked: " + err.Error()}}
	}
	var v *jsonschema.ValidationError
	if !errors.As(compiled.Validate(doc), &v) {
		return nil
	}
	var list []agent.Issue
	printer := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
			for _, name := range k.Properties {
				at := append(slices.Clone(e.InstanceLocation), name)
				list = append(list, agent.Issue{Path: path(root, at), Code: "unknown_field", Message: "is not a known name"})
			}
			return
		}
		if len(e.Causes) == 0 {
			list = append(list, agent.Issue{Path: path(root, e.InstanceLocation), Code: issueCode(e.ErrorKind), Message: e.ErrorKind.LocalizedString(printer)})
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(v)
	slices.SortStableFunc(list, func(a, b agent.Issue) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Explain writes issues as one sentence for a person.
func Explain(issues []agent.Issue) string {
	var parts []string
	for _, is := range issues {
		parts = append(parts, is.Path+" "+is.Message)
	}
	return strings.Join(parts, "; ")
}

func issueCode(k jsonschema.ErrorKind) string {
	switch k.(type) {
	case *kind.Type:
		return "invalid_type"
	case *kind.Enum, *kind.Const:
		return "invalid_enum"
	case *kind.Minimum, *kind.Maximum, *kind.MultipleOf:
		return "invalid_integer"
	case *kind.MinItems, *kind.MaxItems, *kind.UniqueItems:
		return "invalid_array"
	case *kind.MaxLength, *kind.MinLength, *kind.Pattern:
		return "invalid_string"
	}
	return "invalid_object"
}

// path writes a place as $.options.sandbox.network.allowedDomains[1].
func path(root string, at []string) string {
	var b strings.Builder
	b.WriteString(root)
	for _, p := range at {
		if _, err := strconv.Atoi(p); err == nil {
			b.WriteString("[" + p + "]")
		} else {
			b.WriteString("." + p)
		}
	}
	return b.String()
}

// repeats finds a name that stands twice in one object: which of the two counts
// would depend on the reader.
func repeats(root string, raw []byte) *agent.Issue {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var value func(at []string) error
	var found *agent.Issue
	value = func(at []string) error {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		switch tok {
		case json.Delim('{'):
			seen := map[string]bool{}
			for dec.More() {
				key, err := dec.Token()
				if err != nil {
					return err
				}
				name, _ := key.(string)
				place := append(slices.Clone(at), name)
				if seen[name] && found == nil {
					found = &agent.Issue{Path: path(root, place), Code: "invalid_object", Message: "stands twice"}
				}
				seen[name] = true
				if err := value(place); err != nil {
					return err
				}
			}
		case json.Delim('['):
			for i := 0; dec.More(); i++ {
				if err := value(append(slices.Clone(at), strconv.Itoa(i))); err != nil {
					return err
				}
			}
		default:
			return nil
		}
		_, err = dec.Token() // the closing one
		return err
	}
	err := value(nil)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the first value")
		}
	}
	if err != nil {
		return &agent.Issue{Path: root, Code: "invalid_object", Message: fmt.Sprintf("is not JSON: %v", err)}
	}
	return found
}
