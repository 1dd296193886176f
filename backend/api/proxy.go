package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ContentSecurityPolicy of every page we serve. xterm's DOM renderer needs
// inline styles; scripts come from files only.
const ContentSecurityPolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"connect-src 'self' ws://127.0.0.1:*; img-src 'self' data: blob:; font-src 'self'; object-src 'none'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// windowOrigins are the pages of our own windows (Wails, Linux and macOS).
var windowOrigins = []string{"wails://wails", "wails://wails.localhost"}

// ProxyOptions configure a Proxy.
type ProxyOptions struct {
	// Dial reaches the host's socket.
	Dial func(ctx context.Context) (net.Conn, error)
	// Files is the front end, served below /; nil serves the WebSocket only.
	Files fs.FS
	// Browser is for `whippletree web`: the token opens the page once, in the
	// browser that uses it first; only its own origin may connect. Otherwise
	// the token is the window's and may be used again after a reload.
	Browser bool
	Log     *slog.Logger
}

// Proxy is a loopback listener that passes a page's WebSocket on to the host's
// socket without touching its frames. It refuses whoever does not know the
// token, a page of another origin, and a name that is not the loopback address
// (a rebound DNS name). Case X05.
type Proxy struct {
	opts     ProxyOptions
	listener net.Listener
	host     string // 127.0.0.1:port
	token    string
	http     *http.Server
	upstream *httputil.ReverseProxy
	done     chan struct{}
	cancel   context.CancelFunc

	mu     sync.Mutex
	cookie string // of the browser that spent the token
}

// NewToken returns 128 random bits in hexadecimal.
func NewToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// StartProxy listens on 127.0.0.1 with a random port and serves until Close.
func StartProxy(opts ProxyOptions) (*Proxy, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		opts: opts, listener: l, token: NewToken(), done: make(chan struct{}),
		host: "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port),
	}
	quiet := slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug)
	p.upstream = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", upgradeHost
			r.Out.URL.Path, r.Out.URL.RawPath, r.Out.URL.RawQuery = upgradePath, "", ""
			r.Out.Host = upgradeHost
			r.Out.Header.Del("Origin")
			r.Out.Header.Del("Cookie")
		},
		Transport: &http.Transport{
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return opts.Dial(ctx) },
			DisableKeepAlives: true,
		},
		ErrorLog: quiet,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "the host does not answer", http.StatusBadGateway)
		},
	}
	var base context.Context
	base, p.cancel = context.WithCancel(context.Background())
	p.http = &http.Server{
		Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet,
		// An upgraded connection ends with this context, not with the server.
		BaseContext: func(net.Listener) context.Context { return base },
	}
	go func() {
		defer close(p.done)
		_ = p.http.Serve(l)
	}()
	return p, nil
}

// Token of this launch.
func (p *Proxy) Token() string { return p.token }

// WebSocketURL is what a window connects to, without the token.
func (p *Proxy) WebSocketURL() string { return "ws://" + p.host + "/ws" }

// PageURL opens the front end in a browser, once.
func (p *Proxy) PageURL() string { return "http://" + p.host + "/?token=" + p.token }

// Close ends the listener and every connection through it.
func (p *Proxy) Close() error {
	err := p.http.Close()
	p.cancel()
	<-p.done
	return err
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host != p.host {
		p.refuse(w, r, "this listener has no such name")
		return
	}
	if r.URL.Path == "/ws" {
		if why := p.refuses(r); why != "" {
			p.refuse(w, r, why)
			return
		}
		p.upstream.ServeHTTP(w, r)
		return
	}
	p.page(w, r)
}

// refuses tells why a WebSocket is not taken; "" when it is.
func (p *Proxy) refuses(r *http.Request) string {
	if !p.origin(r.Header.Get("Origin")) {
		return "pages of this origin may not connect"
	}
	if !equal(r.URL.Query().Get("token"), p.token) {
		return "the token is missing or wrong"
	}
	if p.opts.Browser && !p.known(r) {
		return "the token was used by another browser"
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return "only WebSocket connections are taken here"
	}
	return ""
}

func (p *Proxy) origin(o string) bool {
	if o == "http://"+p.host {
		return true
	}
	for _, w := range windowOrigins {
		if o == w && !p.opts.Browser {
			return true
		}
	}
	return false
}

func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, why string) {
	p.opts.Log.Warn("refused on loopback", "why", why, "path", r.URL.Path)
	http.Error(w, why, http.StatusForbidden)
}

// page serves the front end.
func (p *Proxy) page(w http.ResponseWriter, r *http.Request) {
	if p.opts.Files == nil || (r.Method != http.MethodGet && r.Method != http.MethodHead) {
		http.NotFound(w, r)
		return
	}
	if p.opts.Browser && !p.known(r) && !p.spend(w, r) {
		p.refuse(w, r, "open the address that `whippletree web` printed; each opens once")
		return
	}
	Headers(w.Header())
	name := file(r.URL.Path)
	if st, err := fs.Stat(p.opts.Files, name); err != nil || st.IsDir() {
		http.NotFound(w, r)
		return
	}
	http.ServeFileFS(w, r, p.opts.Files, name)
}

func file(path string) string {
	if name := strings.TrimPrefix(path, "/"); name != "" {
		return name
	}
	return "index.html"
}

// Headers sets what every page of ours is served with.
func Headers(h http.Header) {
	h.Set("Content-Security-Policy", ContentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
}

func (p *Proxy) cookieName() string {
	_, port, _ := strings.Cut(p.host, ":")
	return "whippletree-" + port
}

// known tells whether the request comes from the browser that spent the token.
func (p *Proxy) known(r *http.Request) bool {
	p.mu.Lock()
	want := p.cookie
	p.mu.Unlock()
	c, err := r.Cookie(p.cookieName())
	return want != "" && err == nil && equal(c.Value, want)
}

// spend takes the token for this browser, once. Cookies are shared by every
// port of a host, so a connection needs the token as well, which only our page
// has in its address.
func (p *Proxy) spend(w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cookie != "" || !equal(r.URL.Query().Get("token"), p.token) {
		return false
	}
	p.cookie = NewToken()
	http.SetCookie(w, &http.Cookie{
		Name: p.cookieName(), Value: p.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	return true
}

// equal compares in a time that tells nothing, not even the length.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
