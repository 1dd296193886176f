package processes

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// stderrBytes is how much of a helper's last error output is kept.
const stderrBytes = 16 << 10

// ring keeps the last bytes written to it. Writes never fail and never block
// on a reader, so that what fills it is always drained.
type ring struct {
	mu      sync.Mutex
	buf     []byte
	dropped bool
}

func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if len(p) >= stderrBytes {
		r.buf = append(r.buf[:0], p[len(p)-stderrBytes:]...)
		r.dropped = r.dropped || len(p) > stderrBytes
		return n, nil
	}
	if over := len(r.buf) + len(p) - stderrBytes; over > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[over:])]
		r.dropped = true
	}
	r.buf = append(r.buf, p...)
	return n, nil
}

// text is what is kept, in whole lines where the start was dropped (half of a
// secret would pass the redaction), without the secrets.
func (r *ring) text(secrets []string) string {
	r.mu.Lock()
	b := bytes.Clone(r.buf)
	dropped := r.dropped
	r.mu.Unlock()
	if dropped {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		} else {
			return ""
		}
	}
	return Redact(strings.ToValidUTF8(string(b), ""), secrets)
}

// secretShapes are values that are secrets by their look, whoever printed them.
var secretShapes = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{8,}` +
	`|(\b[a-z0-9_-]*(?:api[_-]?key|token|secret|password|passwd)["']?\s*[=:]\s*["']?)[^\s"',;]{6,}` +
	`|\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abp]|AKIA|AIza)[-_]?[a-z0-9_-]{12,}`)

// Redact replaces the given secrets and what looks like one. Secrets shorter
// than four bytes are left: replacing them would only destroy the text.
func Redact(s string, secrets []string) string {
	for _, secret := range secrets {
		if len(secret) >= 4 {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return secretShapes.ReplaceAllString(s, "${1}${2}[redacted]")
}
