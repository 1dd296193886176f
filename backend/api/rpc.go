package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/coder/websocket"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// request is a JSON-RPC request or notification as it came.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    *Error `json:"data,omitempty"`
}

// JSON-RPC's own codes; every error of ours has rpcFailed and its Code in data.
const (
	rpcParse   = -32700
	rpcInvalid = -32600
	rpcUnknown = -32601
	rpcFailed  = -32000
)

func (c *conn) reply(id json.RawMessage, result any) {
	data, err := json.Marshal(response{JSONRPC: "2.0", ID: id, Result: result})
	if err == nil && len(data) > agent.LimitPayloadBytes+1024 {
		err = errors.New("the answer is larger than 256 KiB")
	}
	if err != nil {
		c.fail(id, rpcFailed, err)
		return
	}
	c.out.put(websocket.MessageText, data)
}

func (c *conn) fail(id json.RawMessage, code int, err error) {
	var e *Error
	if !errors.As(err, &e) && c.server.opts.Explain != nil {
		e = c.server.opts.Explain(err)
	}
	if e == nil {
		e = &Error{Code: CodeInternal, Message: err.Error()}
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			e.Code = CodeBusy
		}
	}
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	data, _ := json.Marshal(response{JSONRPC: "2.0", ID: id, Error: &rpcError{Code: code, Message: e.Message, Data: e}})
	c.out.put(websocket.MessageText, data)
}
