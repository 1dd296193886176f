package claudecode

import (
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// BenchmarkDelta is one delta of text from its line to the host.
func BenchmarkDelta(b *testing.B) {
	s := &session{
		host: &agentkit.Host{}, events: &listener{catalog: make(chan agent.Catalog, 1)}, launch: &launch{},
		streams: map[string]*streamed{}, prompt: newTurn("x"), clients: map[string]string{},
	}
	s.rows = newRows(s.publish)
	feed := func(line string) {
		var m wire
		if err := lenient([]byte(line), &m); err != nil {
			b.Fatal(err)
		}
		s.handle(&m, []byte(line))
	}
	feed(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_1"}},"parent_tool_use_id":null}`)
	feed(`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"parent_tool_use_id":null}`)
	line := `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"abc"}},"session_id":"` +
		strings.Repeat("a", 36) + `","parent_tool_use_id":null,"uuid":"` + strings.Repeat("b", 36) + `","api_message_id":"msg_000000001"}`
	b.ReportAllocs()
	for b.Loop() {
		feed(line)
	}
}
