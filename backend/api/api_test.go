package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a server on a real socket with a few methods.
type host struct {
	t      *testing.T
	server *api.Server
	hub    *api.Hub
	socket string
}

func newHost(t *testing.T, epoch string, prepare func(*host)) *host {
	t.Helper()
	return newHostAt(t, filepath.Join(t.TempDir(), "s"), epoch, prepare)
}

func newHostAt(t *testing.T, socket, epoch string, prepare func(*host)) *host {
	t.Helper()
	h := &host{t: t, socket: socket, hub: api.NewHub(epoch, slog.New(slog.DiscardHandler))}
	h.server = api.NewServer(os.Getuid(), api.ServerOptions{Hub: h.hub})
	api.Handle(h.server, "host.hello", func(context.Context, *api.Caller, api.Hello) (api.HelloResult, error) {
		return api.HelloResult{Host: model.HostInfo{Epoch: epoch, Pid: os.Getpid()}}, nil
	})
	if prepare != nil {
		prepare(h)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(l) }()
	t.Cleanup(func() { h.stop(); <-served })
	return h
}

func (h *host) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := h.server.Close(ctx, "test ends"); err != nil && ctx.Err() != nil {
		h.t.Error("close:", err)
	}
}

func (h *host) client(opts api.ClientOptions) *api.Client {
	h.t.Helper()
	opts.Dial = api.DialSocket(h.socket)
	opts.Hello.Client = "test"
	c, err := api.NewClient(h.t.Context(), opts)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

// within fails the test when ch gives nothing for thirty seconds.
func within[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came within thirty seconds")
		panic("unreachable")
	}
}

func code(err error) string {
	if e, ok := err.(*api.Error); ok {
		return e.Code
	}
	return ""
}

func TestCallsAndErrors(t *testing.T) {
	h := newHost(t, "e", func(h *host) {
		api.Handle(h.server, "chats.stop", func(_ context.Context, c *api.Caller, p api.ChatRef) (api.StopResult, error) {
			if c.Pid != os.Getpid() || c.UID != os.Getuid() || c.Client() != "test" {
				t.Errorf("caller %+v", c)
			}
			if p.ChatID == "gone" {
				return api.StopResult{}, &api.Error{Code: api.CodeNotFound, Message: "There is no such chat.", Fix: "whippletree chats"}
			}
			if p.ChatID == "panic" {
				panic("inside")
			}
			return api.StopResult{Turn: model.TurnIdle}, nil
		})
	})
	c := h.client(api.ClientOptions{})
	got, err := api.Call[api.StopResult](t.Context(), c, "chats.stop", api.ChatRef{ChatID: "a"})
	if err != nil || got.Turn != model.TurnIdle {
		t.Fatal(got, err)
	}
	for _, tc := range []struct {
		method string
		params any
		code   string
	}{
		{"chats.stop", api.ChatRef{ChatID: "gone"}, api.CodeNotFound},
		{"chats.stop", api.ChatRef{ChatID: "panic"}, api.CodeInternal},
		{"chats.stop", map[string]any{"chatid": "a"}, api.CodeInvalid},
		{"chats.stop", map[string]any{"chatId": "a", "more": 1}, api.CodeInvalid},
		{"chats.stop", json.RawMessage(`{"chatId":"a","chatId":"b"}`), api.CodeInvalid},
		{"chats.stop", map[string]any{"chatId": string(make([]byte, 300<<10))}, api.CodeInvalid},
		{"no.such", nil, api.CodeNotFound},
		{"events.subscribe", api.Subscribe{Topic: "nothing"}, api.CodeNotFound},
		{"host.hello", api.Hello{Protocol: api.Protocol}, api.CodeInvalid},
	} {
		_, err := api.Call[json.RawMessage](t.Context(), c, tc.method, tc.params)
		if code(err) != tc.code {
			t.Errorf("%s %.60v: %v, want %s", tc.method, tc.params, err, tc.code)
		}
	}
}

func TestHelloOfAnotherVersion(t *testing.T) {
	h := newHost(t, "e", nil)
	ws := dialRaw(t, h.socket, nil)
	send(t, ws, `{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"topic":"x"}}`)
	if got := receive(t, ws); got.Error == nil || got.Error.Data.Code != api.CodeInvalid {
		t.Errorf("before hello: %+v", got)
	}
	send(t, ws, `{"jsonrpc":"2.0","id":2,"method":"host.hello","params":{"protocol":99,"client":"test","version":""}}`)
	if got := receive(t, ws); got.Error == nil || got.Error.Data.Code != api.CodeVersion || got.Error.Data.Fix == "" {
		t.Errorf("version: %+v", got)
	}
	send(t, ws, `[1`)
	if got := receive(t, ws); got.Error == nil || got.Error.Code != -32700 {
		t.Errorf("broken JSON: %+v", got)
	}
	send(t, ws, `[{"jsonrpc":"2.0","id":3,"method":"host.info"}]`)
	if got := receive(t, ws); got.Error == nil || got.Error.Code != -32600 {
		t.Errorf("batch: %+v", got)
	}
}

func TestCaseX05_OriginOnTheSocket(t *testing.T) {
	h := newHost(t, "e", nil)
	_, resp, err := dial(t, h.socket, http.Header{"Origin": {"https://evil.example"}})
	if err == nil || resp == nil || resp.StatusCode != http.StatusForbidden {
		t.Fatalf("a request with an Origin was answered %v, %v", resp, err)
	}
}

// Case X05: a second local user, even where the socket were open to all.
func TestCaseX05_AnotherUser(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	s := api.NewServer(os.Getuid()+1, api.ServerOptions{Hub: api.NewHub("e", slog.New(slog.DiscardHandler))})
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	_, resp, err := dial(t, socket, nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("another user was answered %v, %v", resp, err)
	}
	_ = s.Close(t.Context(), "test ends")
	<-served
}

func TestChecksHandlersAgainstTheTable(t *testing.T) {
	h := newHost(t, "e", func(h *host) {
		api.Handle(h.server, "chats.stop", func(context.Context, *api.Caller, api.ChatRef) (api.None, error) { return api.None{}, nil })
		api.Handle(h.server, "made.up", func(context.Context, *api.Caller, api.None) (api.None, error) { return api.None{}, nil })
	})
	err := h.server.Check()
	if err == nil {
		t.Fatal("nothing found")
	}
	for _, want := range []string{"chats.stop is bound with", "made.up is not in the table", "chats.send has no handler"} {
		if !contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}
