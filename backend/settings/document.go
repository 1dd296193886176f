package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// document is the text of a settings file with its syntax tree: edits change
// only what they name; comments, order, spacing and unknown keys stay.
type document struct{ tree hujson.Value }

// parse reads JSON with comments and trailing commas. A file without a value
// (0 bytes, only comments) is an error: nobody writes it on purpose.
func parse(text []byte) (*document, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the file is empty")
	}
	tree, err := hujson.Parse(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := tree.Value.(*hujson.Object); !ok {
		return nil, errors.New("the file holds no object")
	}
	return &document{tree}, nil
}

func (d *document) bytes() []byte { return d.tree.Pack() }

// plain is the document as generic values, the last of equal keys winning.
func (d *document) plain() (map[string]any, error) {
	std := d.tree.Clone()
	std.Standardize()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(std.Pack()))
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

// duplicates reports keys that appear twice in one object.
func (d *document) duplicates() []agent.Issue {
	var list []agent.Issue
	var walk func(v hujson.ValueTrimmed, at []string)
	walk = func(v hujson.ValueTrimmed, at []string) {
		switch c := v.(type) {
		case *hujson.Object:
			seen := map[string]bool{}
			for _, m := range c.Members {
				name := m.Name.Value.(hujson.Literal).String()
				place := append(slices.Clone(at), name)
				if seen[name] {
					list = append(list, agent.Issue{Path: pathText(place), Code: "duplicate", Message: "appears twice; the last one counts"})
				}
				seen[name] = true
				walk(m.Value.Value, place)
			}
		case *hujson.Array:
			for i, e := range c.Elements {
				walk(e.Value, append(slices.Clone(at), fmt.Sprint(i)))
			}
		}
	}
	walk(d.tree.Value, nil)
	return list
}

// set puts a value at a place, making the objects on the way; a nil value
// removes it (and leaves emptied objects alone: they may carry comments).
func (d *document) set(at []string, value json.RawMessage) error {
	parent := d.tree.Value.(*hujson.Object)
	depth := 1
	unit := indentOf(parent)
	for ; depth < len(at); depth++ {
		m := member(parent, at[depth-1])
		if m == nil {
			break
		}
		obj, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("%s is not an object in the file", pathText(at[:depth]))
		}
		parent = obj
	}
	name := at[depth-1]
	m := member(parent, name)
	if value == nil {
		if m == nil || depth < len(at) {
			return nil
		}
		tail := lastLine(parent.AfterExtra)
		if err := d.patch("remove", at[:depth], nil); err != nil {
			return err
		}
		// The closing brace stays where it was, also when the last member went.
		if len(parent.Members) > 0 && tail != "" {
			parent.AfterExtra = hujson.Extra(strings.TrimRight(string(parent.AfterExtra), " \t\r\n") + tail)
		}
		return nil
	}
	for i := len(at) - 1; i >= depth; i-- {
		key, err := json.Marshal(at[i])
		if err != nil {
			return err
		}
		value = slices.Concat([]byte("{"), key, []byte(":"), value, []byte("}"))
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, value, strings.Repeat(unit, depth), unit); err != nil {
		return err
	}
	if m != nil {
		return d.patch("replace", at[:depth], pretty.Bytes())
	}
	if err := d.patch("add", at[:depth], pretty.Bytes()); err != nil {
		return err
	}
	added := &parent.Members[len(parent.Members)-1]
	lead := bytes.TrimRight(added.Name.BeforeExtra, " \t\r\n")
	added.Name.BeforeExtra = hujson.Extra(string(lead) + "\n" + strings.Repeat(unit, depth))
	added.Value.BeforeExtra = hujson.Extra(" ")
	if !bytes.HasPrefix(bytes.TrimLeft(parent.AfterExtra, " \t\r"), []byte("\n")) {
		parent.AfterExtra = hujson.Extra("\n" + strings.Repeat(unit, depth-1) + strings.TrimLeft(string(parent.AfterExtra), " \t\r"))
	}
	return nil
}

func (d *document) patch(op string, at []string, value []byte) error {
	var pointer strings.Builder
	for _, p := range at {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	path, err := json.Marshal(pointer.String())
	if err != nil {
		return err
	}
	text := `[{"op":"` + op + `","path":` + string(path)
	if value != nil {
		text += `,"value":` + string(value)
	}
	return d.tree.Patch([]byte(text + "}]"))
}

// lastLine is the white space from the last newline on, "" when something else
// stands there.
func lastLine(extra hujson.Extra) string {
	if i := bytes.LastIndexByte(extra, '\n'); i >= 0 && len(bytes.TrimSpace(extra[i:])) == 0 {
		return string(extra[i:])
	}
	return ""
}

func member(obj *hujson.Object, name string) *hujson.ObjectMember {
	for i := range obj.Members {
		if obj.Members[i].Name.Value.(hujson.Literal).String() == name {
			return &obj.Members[i]
		}
	}
	return nil
}

// indentOf is the indentation the file uses, two spaces when it cannot be seen.
func indentOf(root *hujson.Object) string {
	if len(root.Members) > 0 {
		extra := string(root.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(extra, '\n'); i >= 0 && strings.Trim(extra[i+1:], " \t") == "" && len(extra[i+1:]) > 0 {
			return extra[i+1:]
		}
	}
	return "  "
}

// splitPath reads "harnesses.codex.enabled" or, for names with dots, the JSON
// pointer "/harnesses/a.b/enabled".
func splitPath(path string) ([]string, error) {
	var parts []string
	if rest, ok := strings.CutPrefix(path, "/"); ok {
		for p := range strings.SplitSeq(rest, "/") {
			parts = append(parts, strings.NewReplacer("~1", "/", "~0", "~").Replace(p))
		}
	} else {
		parts = strings.Split(path, ".")
	}
	if slices.Contains(parts, "") || len(parts) > 16 || len(path) > 1024 {
		return nil, &InvalidError{Issues: []agent.Issue{{Path: "$", Code: "invalid_path", Message: fmt.Sprintf("has no place named %q", path)}}}
	}
	return parts, nil
}
