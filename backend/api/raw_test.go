package api_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/whippletree-app/whippletree/backend/api"
)

func contains(s, sub string) bool { return strings.Contains(s, sub) }

// dial opens a bare WebSocket, as a program that is not our client would.
func dial(t *testing.T, socket string, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return websocket.Dial(ctx, "ws://whippletree/ws", &websocket.DialOptions{
		HTTPHeader: header,
		HTTPClient: &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return api.DialSocket(socket)(ctx)
			},
		}},
	})
}

func dialRaw(t *testing.T, socket string, header http.Header) *websocket.Conn {
	t.Helper()
	ws, _, err := dial(t, socket, header)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(32 << 20)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func send(t *testing.T, ws *websocket.Conn, text string) {
	t.Helper()
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

type received struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params api.Event       `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int       `json:"code"`
		Data api.Error `json:"data"`
	} `json:"error"`
}

func receive(t *testing.T, ws *websocket.Conn) received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, data, err := ws.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var r received
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return r
}

func hello(t *testing.T, ws *websocket.Conn) {
	t.Helper()
	send(t, ws, `{"jsonrpc":"2.0","id":0,"method":"host.hello","params":{"protocol":1,"client":"test","version":""}}`)
	if r := receive(t, ws); r.Error != nil {
		t.Fatal(r.Error)
	}
}
