package api_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/coder/websocket"

	"github.com/whippletree-app/whippletree/backend/api"
)

// Case X05: the page of `whippletree web` opens once, in one browser.
func TestCaseX05_WebTokenOpensOnce(t *testing.T) {
	h := newHost(t, "e", nil)
	p, err := api.StartProxy(api.ProxyOptions{
		Dial: api.DialSocket(h.socket), Browser: true,
		Files: fstest.MapFS{"index.html": {Data: []byte("<p>window")}, "assets/a.js": {Data: []byte("1")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	first, second := browser(t), browser(t)
	base := strings.TrimSuffix(p.PageURL(), "?token="+p.Token())
	get := func(b *http.Client, path string) *http.Response {
		t.Helper()
		resp, err := b.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	if r := get(second, "assets/a.js"); r.StatusCode != http.StatusForbidden {
		t.Errorf("a file before the page was opened: %s", r.Status)
	}
	if r := get(first, "?token="+p.Token()); r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Content-Security-Policy"), "script-src 'self';") {
		t.Errorf("the page: %s %v", r.Status, r.Header)
	}
	if r := get(first, ""); r.StatusCode != http.StatusOK {
		t.Errorf("reload: %s", r.Status)
	}
	if r := get(first, "assets/a.js"); r.StatusCode != http.StatusOK {
		t.Errorf("a file: %s", r.Status)
	}
	for _, path := range []string{"assets", "assets/", "nothing", "../../etc/passwd"} {
		if r := get(first, path); r.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	if r := get(second, "?token="+p.Token()); r.StatusCode != http.StatusForbidden {
		t.Errorf("a second browser: %s", r.Status)
	}
	for name, try := range map[string]struct {
		client *http.Client
		token  string
		ok     bool
	}{
		"the browser with the token":          {first, p.Token(), true},
		"the browser without the token":       {first, "", false},
		"another browser with the token":      {second, p.Token(), false},
		"the browser with a token of its own": {first, api.NewToken(), false},
	} {
		ws, _, err := websocket.Dial(t.Context(), p.WebSocketURL()+"?token="+try.token, &websocket.DialOptions{
			HTTPClient: try.client, HTTPHeader: http.Header{"Origin": {strings.TrimSuffix(base, "/")}},
		})
		if (err == nil) != try.ok {
			t.Errorf("%s: %v", name, err)
		}
		if ws != nil && err == nil {
			_ = ws.CloseNow()
		}
	}
}

func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Jar: wsJar{jar}, Transport: tr}
}

// wsJar gives ws: addresses the cookies of http: ones, as browsers do.
type wsJar struct{ http.CookieJar }

func (j wsJar) Cookies(u *url.URL) []*http.Cookie {
	c := *u
	c.Scheme = "http"
	return j.CookieJar.Cookies(&c)
}

// Closing the proxy ends what goes through it.
func TestProxyCloseEndsItsConnections(t *testing.T) {
	h := newHost(t, "e", nil)
	p, err := api.StartProxy(api.ProxyOptions{Dial: api.DialSocket(h.socket)})
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	ws, _, err := websocket.Dial(t.Context(), p.WebSocketURL()+"?token="+p.Token(), &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"wails://wails"}}, HTTPClient: &http.Client{Transport: tr},
	})
	if err != nil {
		t.Fatal(err)
	}
	hello(t, ws)
	ended := make(chan error, 1)
	go func() {
		_, _, err := ws.Read(context.Background())
		ended <- err
	}()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := within(t, ended); err == nil {
		t.Error("the connection lives on")
	}
	_ = ws.CloseNow()
}
