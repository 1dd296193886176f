package settings

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
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

//go:embed schema.json
var schemaJSON []byte

// Schema is the JSON Schema (draft 2020-12) of settings.json.
func Schema() json.RawMessage { return slices.Clone(schemaJSON) }

// schemaURL names the schema; nothing is ever fetched.
const schemaURL = "https://whippletree.app/settings.schema.json"

type schema struct {
	doc      map[string]any
	compiled func() *jsonschema.Schema
}

// loadSchema reads the embedded schema once; it is compiled only when there is
// something to check.
var loadSchema = sync.OnceValue(func() *schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaJSON))
	if err != nil {
		panic("settings: the embedded schema: " + err.Error())
	}
	return &schema{doc: doc.(map[string]any), compiled: sync.OnceValue(func() *jsonschema.Schema {
		c := jsonschema.NewCompiler()
		if err := c.AddResource(schemaURL, doc); err != nil {
			panic("settings: the embedded schema: " + err.Error())
		}
		compiled, err := c.Compile(schemaURL)
		if err != nil {
			panic("settings: the embedded schema: " + err.Error())
		}
		return compiled
	})}
})

// fault is a broken rule with where it is.
type fault struct {
	at    []string
	issue agent.Issue
}

// check returns every broken rule of a document, with full paths.
func (s *schema) check(doc map[string]any) []fault {
	if len(doc) == 0 {
		return nil
	}
	err := s.compiled().Validate(doc)
	var v *jsonschema.ValidationError
	if err == nil || !errors.As(err, &v) {
		return nil
	}
	var list []fault
	printer := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		// Names are ruled by patternProperties: the validator gives a wrong place
		// for propertyNames.
		if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
			for _, name := range k.Properties {
				at := append(slices.Clone(e.InstanceLocation), name)
				list = append(list, fault{at: at, issue: agent.Issue{Path: pathText(at), Code: "invalid_string", Message: "is not a name that can stand here"}})
			}
			return
		}
		if len(e.Causes) > 0 {
			for _, c := range e.Causes {
				walk(c)
			}
			return
		}
		list = append(list, fault{at: e.InstanceLocation, issue: agent.Issue{
			Path: pathText(e.InstanceLocation), Code: codeOf(e.ErrorKind), Message: e.ErrorKind.LocalizedString(printer)}})
	}
	walk(v)
	slices.SortStableFunc(list, func(a, b fault) int { return strings.Compare(a.issue.Path, b.issue.Path) })
	return list
}

func codeOf(k jsonschema.ErrorKind) string {
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

// pathText writes a place as $.harnesses.codex.args[1].
func pathText(at []string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, p := range at {
		if _, err := strconv.Atoi(p); err == nil {
			b.WriteString("[" + p + "]")
		} else {
			b.WriteString("." + p)
		}
	}
	return b.String()
}

// unknown reports keys the schema does not name; they are kept and have no
// effect.
func (s *schema) unknown(doc any) []agent.Issue {
	var list []agent.Issue
	var walk func(sub map[string]any, v any, at []string)
	walk = func(sub map[string]any, v any, at []string) {
		obj, ok := v.(map[string]any)
		props, _ := sub["properties"].(map[string]any)
		var extra map[string]any
		for _, p := range patterns(sub) {
			extra = p
		}
		if !ok || (props == nil && extra == nil) {
			return
		}
		for name, member := range obj {
			place := append(slices.Clone(at), name)
			if p, ok := props[name].(map[string]any); ok {
				walk(p, member, place)
			} else if extra != nil {
				walk(extra, member, place)
			} else {
				list = append(list, agent.Issue{Path: pathText(place), Code: "unknown_field", Message: "is not a setting of this version; it is kept and has no effect"})
			}
		}
	}
	walk(s.doc, doc, nil)
	slices.SortFunc(list, func(a, b agent.Issue) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// patterns are the rules for members of any name; there is at most one here.
func patterns(sub map[string]any) []map[string]any {
	var list []map[string]any
	all, _ := sub["patternProperties"].(map[string]any)
	for _, p := range all {
		if m, ok := p.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// defaults builds the document of all default values.
func (s *schema) defaults() map[string]any {
	out := map[string]any{}
	sections, _ := s.doc["properties"].(map[string]any)
	for name, sub := range sections {
		obj, _ := sub.(map[string]any)
		if obj["type"] != "object" {
			continue
		}
		section := map[string]any{}
		props, _ := obj["properties"].(map[string]any)
		for key, p := range props {
			if d, ok := p.(map[string]any)["default"]; ok {
				section[key] = d
			}
		}
		out[name] = section
	}
	return out
}

// InvalidError says which rules a value breaks.
type InvalidError struct{ Issues []agent.Issue }

func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("the setting was not changed: ")
	for i, is := range e.Issues {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s %s", is.Path, is.Message)
	}
	return b.String()
}
