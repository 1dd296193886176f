package export

import (
	"bytes"
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// formatVersion of the JSON document; members are added within it, never renamed
// or removed.
const formatVersion = 1

// jsonDocument writes {"export", "chat", "turns", "approvals", "queue", "items"},
// one item a line.
type jsonDocument struct{}

// about says what the document is.
type about struct {
	Format  int    `json:"format"`
	Program string `json:"program"`
	Version string `json:"version"`
	At      int64  `json:"at"`
}

// chatOut is the chat as the document shows it.
type chatOut struct {
	ID        string          `json:"id"`
	Title     string          `json:"title"`
	Harness   string          `json:"harness"`
	Kind      agent.Kind      `json:"kind"`
	Cwd       string          `json:"cwd"`
	Handle    *agent.Handle   `json:"handle,omitempty"`
	Aliases   []string        `json:"aliases,omitempty"`
	Model     string          `json:"model,omitempty"`
	Mode      string          `json:"mode,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	Agent     agent.AgentInfo `json:"agent"`
	Usage     *agent.Usage    `json:"usage,omitempty"`
	LastEnd   *agent.TurnEnd  `json:"lastEnd,omitempty"`
	Archived  bool            `json:"archived,omitempty"`
	CreatedAt int64           `json:"createdAt"`
	UpdatedAt int64           `json:"updatedAt"`
}

func (jsonDocument) head(d *document) (string, error) {
	r := d.rec
	var handle *agent.Handle
	if r.Handle != nil {
		// Without its environment, which may hold what is nobody else's.
		handle = &agent.Handle{Harness: r.Handle.Harness, NativeID: r.Handle.NativeID, Cwd: r.Handle.Cwd}
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	for _, m := range []struct {
		name  string
		value any
	}{
		{"export", about{formatVersion, "whippletree", d.e.Version, d.at.UnixMilli()}},
		{"chat", chatOut{r.ID, r.Title, r.Harness, r.Kind, r.Cwd, handle, r.Aliases, r.Model, r.Mode, r.Thinking, r.Agent, r.Usage,
			r.LastEnd, r.Archived, r.CreatedAt, r.UpdatedAt}},
		{"turns", orEmpty[store.Turn](d.list)},
		{"approvals", orEmpty[model.ApprovalCard](d.cards)},
		{"queue", orEmpty[model.QueueEntry](d.queue)},
	} {
		v, err := encode(m.value)
		if err != nil {
			return "", err
		}
		b.WriteString(" \"" + m.name + "\": " + v + ",\n")
	}
	b.WriteString(" \"items\": [")
	return b.String(), nil
}

func (jsonDocument) row(_ *document, row model.Row, first, _ bool) (string, error) {
	v, err := encode(row)
	if first {
		return "\n  " + v, err
	}
	return ",\n  " + v, err
}

func (jsonDocument) tail(*document) (string, error) { return "\n ]\n}\n", nil }

func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return string(bytes.TrimRight(b.Bytes(), "\n")), err
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
