package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/whippletree-app/whippletree/backend/api"
)

func TestCaseX05_SocketUnderUmask000(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Chmod(w.home, 0o777); err != nil {
		t.Fatal(err)
	}
	b := w.start("/bin/sh", "-c", "umask 000; exec "+binary+" serve --keep")
	w.client(api.ClientOptions{}).Close()
	defer func() { _ = b.Process.Signal(syscall.SIGTERM); <-b.done }()
	err := filepath.WalkDir(w.home, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(path)
		if err != nil {
			return nil // a file of the database that was just removed
		}
		if bad := st.Mode().Perm() & 0o077; bad != 0 {
			t.Errorf("%s is %v", path, st.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCaseX05_ProxyHandshake(t *testing.T) {
	w := newWorld(t, "")
	w.serve("--keep")
	p, err := api.StartProxy(api.ProxyOptions{Dial: (&program{home: w.home}).dialer()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	own := strings.Replace(strings.TrimSuffix(p.WebSocketURL(), "/ws"), "ws://", "http://", 1)
	try := func(url, origin, hostName string) error {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		tr := &http.Transport{DisableKeepAlives: true}
		ws, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: header, Host: hostName, HTTPClient: &http.Client{Transport: tr}})
		if err == nil {
			defer ws.CloseNow()
			hello := `{"jsonrpc":"2.0","id":1,"method":"host.hello","params":{"protocol":1,"client":"test","version":""}}`
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(hello)); err != nil {
				t.Error(err)
			}
			if _, data, err := ws.Read(t.Context()); err != nil || !strings.Contains(string(data), `"epoch"`) {
				t.Errorf("%s %v", data, err)
			}
		}
		return err
	}
	good := p.WebSocketURL() + "?token=" + p.Token()
	for _, tc := range []struct {
		name, url, origin, host string
		ok                      bool
	}{
		{"our window", good, "wails://wails", "", true},
		{"our window on macOS", good, "wails://wails.localhost", "", true},
		{"our own page", good, own, "", true},
		{"a web page", good, "https://evil.example", "", false},
		{"another port", good, "http://127.0.0.1:1", "", false},
		{"no origin", good, "", "", false},
		{"null origin", good, "null", "", false},
		{"no token", p.WebSocketURL(), "wails://wails", "", false},
		{"wrong token", p.WebSocketURL() + "?token=" + api.NewToken(), "wails://wails", "", false},
		{"rebound name", good, own, "evil.example", false},
		{"localhost name", good, own, "localhost", false},
	} {
		if err := try(tc.url, tc.origin, tc.host); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
