// Package tsgen writes the TypeScript types of the API from the Go ones.
package tsgen

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Enums lists the closed string sets with their values, so that a misspelt
// state does not compile in the front end.
var Enums = map[reflect.Type][]string{
	typ[agent.ItemType]():     {"user", "text", "reasoning", "tool", "plan", "subagent", "compaction", "notice", "error"},
	typ[agent.ItemState]():    {"running", "completed", "failed", "canceled", "declined"},
	typ[agent.ToolKind]():     {"read", "edit", "write", "execute", "search", "fetch", "think", "mcp", "task", "question", "other"},
	typ[agent.ApprovalKind](): {"tool", "plan", "question", "mode"},
	typ[agent.OptionKind]():   {"allow_once", "allow_always", "reject_once", "reject_always", "other"},
	typ[agent.Tier]():         {"safe", "moderate", "dangerous", "planning"},
	typ[agent.Kind]():         {"confined", "workspace"},
	typ[agent.Level]():        {"info", "warning"},
	typ[agent.Outcome]():      {"completed", "canceled", "failed", "interrupted"},
	typ[agent.Owner]():        {"app", "terminal", "nobody", "shared", "joined", "unclear"},
	typ[agent.Link]():         {"proved", "inferred", "ambiguous"},
	typ[agent.WaitingKind]():  {"approval", "question", "plan", "mode", "signin", "limit", "trust", "unknown"},
	typ[agent.TurnOrigin]():   {"prompt", "agent"},
	typ[agent.Reason]():       {"not_installed", "not_signed_in", "unsupported_platform", "too_old", "switched_off"},
	typ[model.SessionState](): {"starting", "running", "waiting", "blocked", "idle", "done", "failed", "canceled"},
	typ[model.TurnState]():    {"idle", "opening", "running", "stopping"},
	typ[model.HandState]():    {"app", "releasing", "mirror", "reattaching", "unclear"},
	typ[model.QueueState]():   {"queued", "sending", "accepted", "failed", "unknown"},
	typ[model.StopStep]():     {"asked", "owed", "ending", "stuck", "shared"},
	typ[model.CardState]():    {"open", "sent", "confirmed", "unconfirmed", "withdrawn", "answeredElsewhere", "refused"},
	typ[agent.Ability]():      abilities(),
}

func typ[T any]() reflect.Type { return reflect.TypeFor[T]() }

func abilities() []string {
	var out []string
	for _, a := range agent.AllAbilities {
		out = append(out, string(a))
	}
	return out
}

// events are the shapes that only travel in events.
var events = []any{
	api.Event{}, api.Removed{}, api.Appended{}, api.RemovedRows{}, api.TurnChanged{}, api.Attention{}, api.Error{},
	model.Chat{}, model.Row{}, model.QueueEntry{}, model.ApprovalCard{}, agent.Usage{}, agent.Catalog{},
	agent.Notice{},
}

// Generate returns the file.
func Generate() []byte {
	g := &generator{done: map[reflect.Type]string{}, names: map[string]reflect.Type{}}
	for _, e := range events {
		g.ref(reflect.TypeOf(e))
	}
	var methods strings.Builder
	for _, m := range api.Methods {
		fmt.Fprintf(&methods, "  '%s': { params: %s; result: %s };\n", m.Name, g.ref(reflect.TypeOf(m.Params)), g.ref(reflect.TypeOf(m.Result)))
	}
	sort.Slice(g.out, func(i, j int) bool { return g.out[i].name < g.out[j].name })
	var b strings.Builder
	b.WriteString("// Generated from the Go types by `make generate`; do not edit.\n\n")
	fmt.Fprintf(&b, "export const PROTOCOL = %d;\n\n", api.Protocol)
	for _, o := range g.out {
		b.WriteString(o.text + "\n")
	}
	b.WriteString("/** Every call of the API: its parameters and its answer. */\nexport interface Methods {\n" + methods.String() + "}\n")
	return []byte(b.String())
}

type decl struct{ name, text string }

type generator struct {
	done  map[reflect.Type]string
	names map[string]reflect.Type
	out   []decl
}

func (g *generator) ref(t reflect.Type) string {
	if t == typ[json.RawMessage]() {
		return "unknown"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.ref(t.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string"
		}
		e := g.ref(t.Elem())
		if strings.Contains(e, "|") {
			e = "(" + e + ")"
		}
		return e + "[]"
	case reflect.Map:
		return "Record<string, " + g.ref(t.Elem()) + ">"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		if values, ok := Enums[t]; ok {
			return g.enum(t, values)
		}
		return "string"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float64, reflect.Uint8:
		return "number"
	case reflect.Interface:
		return "unknown"
	case reflect.Struct:
		return g.structure(t)
	}
	panic("tsgen: no TypeScript for " + t.String())
}

func (g *generator) name(t reflect.Type) string {
	n := t.Name()
	if other, taken := g.names[n]; taken && other != t {
		n = strings.ToUpper(t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:][:1]) + t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+2:] + n
	}
	g.names[n] = t
	g.done[t] = n
	return n
}

func (g *generator) enum(t reflect.Type, values []string) string {
	if n, ok := g.done[t]; ok {
		return n
	}
	n := g.name(t)
	g.out = append(g.out, decl{n, fmt.Sprintf("export type %s = '%s';\n", n, strings.Join(values, "' | '"))})
	return n
}

func (g *generator) structure(t reflect.Type) string {
	if n, ok := g.done[t]; ok {
		return n
	}
	n := g.name(t)
	var b strings.Builder
	g.fields(&b, t)
	text := "export interface " + n + " {\n" + b.String() + "}\n"
	if b.Len() == 0 {
		text = "export type " + n + " = Record<string, never>;\n"
	}
	g.out = append(g.out, decl{n, text})
	return n
}

func (g *generator) fields(b *strings.Builder, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			g.fields(b, f.Type)
			continue
		}
		tag, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || !f.IsExported() {
			continue
		}
		if tag == "" {
			panic("tsgen: " + t.String() + "." + f.Name + " has no json name")
		}
		mark := ""
		if strings.Contains(opts, "omitempty") {
			mark = "?"
		}
		ref := g.ref(f.Type)
		if (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map) && mark == "" {
			ref += " | null" // Go encodes a nil one so
		}
		fmt.Fprintf(b, "  %s%s: %s;\n", tag, mark, ref)
	}
}
