package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// anthropic is the Messages format with server-sent events.
type anthropic struct{}

func (anthropic) name() string { return "anthropic-messages" }

type anthropicRequest struct {
	Model    string             `json:"model"`
	Stream   bool               `json:"stream"`
	System   json.RawMessage    `json:"system"`
	Messages []anthropicMessage `json:"messages"`
	Tools    []struct {
		Name string `json:"name"`
	} `json:"tools"`
	Thinking struct {
		Type    string `json:"type"`
		Display string `json:"display"`
	} `json:"thinking"`
}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (anthropic) decode(body []byte) (Request, error) {
	var in anthropicRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Model: in.Model, System: contentText(in.System), Thinking: in.Thinking.Type}
	if in.Thinking.Display != "" {
		req.Thinking += "/" + in.Thinking.Display
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	for _, m := range in.Messages {
		switch m.Role {
		case "assistant":
			req.Step++
		case "user":
			if text := promptText(m.Content); text != "" {
				req.Prompt, req.Step = text, 0
			}
		}
	}
	req.Side = len(in.Tools) == 0
	if !in.Stream {
		req.Thinking += " (not streamed)"
	}
	return req, nil
}

// promptText is the newest text that a person wrote in a message: not tool
// results, not what the agent injects.
func promptText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return worth(text)
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		if b.Type != "text" {
			continue
		}
		if t := worth(b.Text); t != "" {
			text = t
		}
	}
	return text
}

func worth(text string) string {
	text = strings.TrimSpace(text)
	if strings.Contains(text, marker) && !strings.HasPrefix(text, "<system-reminder>") {
		return text
	}
	if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "[Request interrupted") {
		return ""
	}
	return text
}

func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var b strings.Builder
	for _, x := range blocks {
		b.WriteString(x.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

func (anthropic) fail(w http.ResponseWriter, status int, message string) {
	kind := map[int]string{401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 529: "overloaded_error", 400: "invalid_request_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	if message == "" {
		message = "scripted " + kind
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

func (anthropic) open(w http.ResponseWriter, id string, req Request) stream {
	if strings.HasSuffix(req.Thinking, "(not streamed)") {
		return &anthropicWhole{w: w, id: id, model: req.Model}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	s := &anthropicStream{w: w}
	s.err = s.event("message_start", map[string]any{"message": map[string]any{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": req.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage(1),
	}})
	return s
}

func usage(output int) map[string]int {
	return map[string]int{"input_tokens": 100, "output_tokens": output, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7}
}

type anthropicStream struct {
	w     http.ResponseWriter
	index int
	err   error
}

func (s *anthropicStream) event(kind string, fields map[string]any) error {
	fields["type"] = kind
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, data); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

func (s *anthropicStream) block(start map[string]any, deltas func(send func(map[string]any) bool)) error {
	if s.err != nil {
		return s.err
	}
	if s.err = s.event("content_block_start", map[string]any{"index": s.index, "content_block": start}); s.err != nil {
		return s.err
	}
	deltas(func(d map[string]any) bool {
		s.err = s.event("content_block_delta", map[string]any{"index": s.index, "delta": d})
		return s.err == nil
	})
	if s.err == nil {
		s.err = s.event("content_block_stop", map[string]any{"index": s.index})
	}
	s.index++
	return s.err
}

func (s *anthropicStream) think(pieces func(func(string) bool), signature string) error {
	return s.block(map[string]any{"type": "thinking", "thinking": "", "signature": ""}, func(send func(map[string]any) bool) {
		for p := range pieces {
			if !send(map[string]any{"type": "thinking_delta", "thinking": p}) {
				return
			}
		}
		send(map[string]any{"type": "signature_delta", "signature": signature})
	})
}

func (s *anthropicStream) text(pieces func(func(string) bool)) error {
	return s.block(map[string]any{"type": "text", "text": ""}, func(send func(map[string]any) bool) {
		for p := range pieces {
			if !send(map[string]any{"type": "text_delta", "text": p}) {
				return
			}
		}
	})
}

func (s *anthropicStream) tool(id, name string, input json.RawMessage) error {
	return s.block(map[string]any{"type": "tool_use", "id": id, "name": name, "input": map[string]any{}}, func(send func(map[string]any) bool) {
		for i := 0; i < len(input); i += 30 {
			if !send(map[string]any{"type": "input_json_delta", "partial_json": string(input[i:min(len(input), i+30)])}) {
				return
			}
		}
	})
}

func (s *anthropicStream) end(stop string) error {
	if s.err != nil {
		return s.err
	}
	if err := s.event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage(20)}); err != nil {
		return err
	}
	return s.event("message_stop", map[string]any{})
}

// anthropicWhole is the answer to a call that did not ask for a stream.
type anthropicWhole struct {
	w         http.ResponseWriter
	id, model string
	content   []any
}

func joined(pieces func(func(string) bool)) string {
	var b strings.Builder
	for p := range pieces {
		b.WriteString(p)
	}
	return b.String()
}

func (s *anthropicWhole) think(pieces func(func(string) bool), signature string) error {
	s.content = append(s.content, map[string]any{"type": "thinking", "thinking": joined(pieces), "signature": signature})
	return nil
}

func (s *anthropicWhole) text(pieces func(func(string) bool)) error {
	s.content = append(s.content, map[string]any{"type": "text", "text": joined(pieces)})
	return nil
}

func (s *anthropicWhole) tool(id, name string, input json.RawMessage) error {
	s.content = append(s.content, map[string]any{"type": "tool_use", "id": id, "name": name, "input": input})
	return nil
}

func (s *anthropicWhole) end(stop string) error {
	s.w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(s.w).Encode(map[string]any{
		"id": "msg_" + s.id, "type": "message", "role": "assistant", "model": s.model, "content": s.content,
		"stop_reason": stop, "stop_sequence": nil, "usage": usage(20),
	})
}
