package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Launch is how a harness is started: its own settings over those of the one
// that it extends. home stands for "~/" in the path of an environment file.
func (v Values) Launch(id, home string) (agent.Launch, error) {
	own := v.Harness(id)
	var l agent.Launch
	if own.Extends != "" {
		var err error
		if l, err = v.Harness(own.Extends).launch(home); err != nil {
			return l, err
		}
	}
	over, err := own.launch(home)
	if err != nil {
		return l, err
	}
	if over.Binary != "" {
		l.Binary = over.Binary
	}
	if len(over.Args) > 0 {
		l.Args = over.Args
	}
	if l.Env == nil {
		l.Env = map[string]string{}
	}
	maps.Copy(l.Env, over.Env)
	return l, nil
}

func (h Harness) launch(home string) (agent.Launch, error) {
	env, err := h.Environment(home)
	return agent.Launch{Binary: h.Binary, Args: slices.Clone(h.Args), Env: env}, err
}

// faults are the rules that the schema cannot say: what an agent may extend.
// builtin holds the ids of the agents that come with the program.
func (v Values) faults(builtin []string) []fault {
	var list []fault
	add := func(id, field, code, text string) {
		at := []string{"harnesses", id, field}
		list = append(list, fault{at: at, issue: agent.Issue{Path: pathText(at), Code: code, Message: text}})
	}
	for _, id := range slices.Sorted(maps.Keys(v.Harnesses)) {
		h := v.Harnesses[id]
		own := slices.Contains(builtin, id)
		switch {
		case h.Extends != "" && own:
			add(id, "extends", "invalid_object", fmt.Sprintf("%s is built in and extends nothing; choose another name", id))
		case h.Extends != "" && !slices.Contains(builtin, h.Extends):
			add(id, "extends", "invalid_enum", fmt.Sprintf("is not a built-in agent (%v)", builtin))
		case h.Extends == "" && h.Label != "":
			add(id, "label", "invalid_object", "has no effect without extends")
		}
	}
	return list
}
