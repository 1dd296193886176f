package rehearsal

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// CheckOptions implements [agent.OptionsChecker].
func (p *provider) CheckOptions(raw json.RawMessage) []agent.Issue {
	var given map[string]json.RawMessage
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return []agent.Issue{{Path: "$.options", Code: "invalid_type", Message: "is not an object"}}
	}
	known := map[string]reflect.Type{}
	for f := range reflect.TypeFor[Options]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = f.Type
	}
	var issues []agent.Issue
	for name, v := range given {
		t, ok := known[name]
		switch {
		case !ok:
			issues = append(issues, agent.Issue{Path: "$.options." + name, Code: "unknown_key", Message: "is not an option of the rehearsal"})
		case json.Unmarshal(v, reflect.New(t).Interface()) != nil:
			issues = append(issues, agent.Issue{Path: "$.options." + name, Code: "invalid_type", Message: "is not a " + t.Kind().String()})
		}
	}
	slices.SortFunc(issues, func(a, b agent.Issue) int { return strings.Compare(a.Path, b.Path) })
	return issues
}
