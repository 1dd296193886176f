//go:build linux

package display

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Inspector speaks WebKit's inspector protocol with one page, to read the DOM
// that the shipped engine really has. The program under test is started with
// WEBKIT_INSPECTOR_HTTP_SERVER=address and must be a devtools build.
type Inspector struct {
	ws     *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	next    int
	target  string
	ready   chan struct{}
	waiting map[int]chan json.RawMessage
}

// FreeAddress is a loopback address that nobody listens on at the moment.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

var socketLink = regexp.MustCompile(`/socket/\d+/\d+/[A-Za-z]+`)

// Inspect connects to the first page of the inspector server at address, which
// may still be starting.
func Inspect(address string, within time.Duration) (*Inspector, error) {
	deadline := time.Now().Add(within)
	last := errors.New("it does not answer")
	for time.Now().Before(deadline) {
		i, err := inspect(address, deadline)
		if err == nil {
			return i, nil
		}
		last = err
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("the inspector at %s: %w", address, last)
}

func inspect(address string, deadline time.Time) (*Inspector, error) {
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get("http://" + address + "/")
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	path := socketLink.Find(body)
	if path == nil {
		return nil, errors.New("it lists no page")
	}
	dial, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	ws, _, err := websocket.Dial(dial, "ws://"+address+string(path), nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(64 << 20)
	i := &Inspector{ws: ws, done: make(chan struct{}), ready: make(chan struct{}), waiting: map[int]chan json.RawMessage{}}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	go i.read()
	select {
	case <-i.ready:
		return i, nil
	case <-i.done:
		i.Close()
		return nil, errors.New("the inspector closed the connection")
	case <-time.After(3 * time.Second):
		i.Close()
		return nil, errors.New("the page did not show itself")
	}
}

func (i *Inspector) read() {
	defer close(i.done)
	for {
		_, data, err := i.ws.Read(i.ctx)
		if err != nil {
			return
		}
		var m struct {
			Method string
			Params struct {
				TargetInfo struct{ TargetID, Type string } `json:"targetInfo"`
				NewID      string                          `json:"newTargetId"`
				Message    string
			}
		}
		if json.Unmarshal(data, &m) != nil {
			continue
		}
		switch m.Method {
		case "Target.targetCreated":
			i.mu.Lock()
			if m.Params.TargetInfo.Type == "page" {
				if i.target == "" {
					close(i.ready)
				}
				i.target = m.Params.TargetInfo.TargetID
			}
			i.mu.Unlock()
		case "Target.didCommitProvisionalTarget":
			i.mu.Lock()
			i.target = m.Params.NewID
			i.mu.Unlock()
		case "Target.dispatchMessageFromTarget":
			var answer struct{ ID int }
			if json.Unmarshal([]byte(m.Params.Message), &answer) != nil {
				continue
			}
			i.mu.Lock()
			ch := i.waiting[answer.ID]
			delete(i.waiting, answer.ID)
			i.mu.Unlock()
			if ch != nil {
				ch <- json.RawMessage(m.Params.Message)
			}
		}
	}
}

// Eval evaluates an expression on the page and decodes its value into v, unless
// v is nil. Promises are not awaited.
func (i *Inspector) Eval(expression string, v any) error {
	i.mu.Lock()
	i.next++
	inner, outer := i.next, i.next+1
	i.next++
	ch := make(chan json.RawMessage, 1)
	i.waiting[inner] = ch
	target := i.target
	i.mu.Unlock()
	message, err := json.Marshal(map[string]any{
		"id": inner, "method": "Runtime.evaluate",
		"params": map[string]any{"expression": expression, "returnByValue": true},
	})
	if err != nil {
		return err
	}
	request, err := json.Marshal(map[string]any{
		"id": outer, "method": "Target.sendMessageToTarget",
		"params": map[string]any{"targetId": target, "message": string(message)},
	})
	if err != nil {
		return err
	}
	if err := i.ws.Write(i.ctx, websocket.MessageText, request); err != nil {
		return err
	}
	select {
	case raw := <-ch:
		var answer struct {
			Result struct {
				Result struct {
					Type, Description string
					Value             json.RawMessage
				}
				WasThrown bool `json:"wasThrown"`
			}
			Error struct{ Message string }
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return err
		}
		switch {
		case answer.Error.Message != "":
			return errors.New(answer.Error.Message)
		case answer.Result.WasThrown:
			return fmt.Errorf("the page threw %s", answer.Result.Result.Description)
		case v == nil || len(answer.Result.Result.Value) == 0:
			return nil
		}
		return json.Unmarshal(answer.Result.Result.Value, v)
	case <-i.done:
		return errors.New("the page is gone")
	case <-time.After(10 * time.Second):
		return errors.New("the page did not answer within 10 s")
	}
}

// Close ends the connection; the page goes on.
func (i *Inspector) Close() {
	i.cancel()
	_ = i.ws.CloseNow()
	<-i.done
}
