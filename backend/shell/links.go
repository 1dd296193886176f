package shell

import (
	"errors"
	"net/url"
	"strings"
)

// ErrLink is what a link that may not leave the window gives.
var ErrLink = errors.New("only web and mail addresses are opened")

const maxLink = 4096

// OutsideLink checks an address that the page wants opened by the system and
// returns it in canonical form. Only http, https and mailto pass, without
// credentials and without control characters; everything else could start a
// program or act for the person.
func OutsideLink(raw string) (string, error) {
	if len(raw) > maxLink || strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", ErrLink
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", ErrLink
	}
	switch u.Scheme {
	case "http", "https":
		if u.Hostname() == "" || u.User != nil || u.Opaque != "" {
			return "", ErrLink
		}
	case "mailto":
		if u.Opaque == "" || strings.HasPrefix(u.Opaque, "-") || u.Host != "" {
			return "", ErrLink
		}
		// Some mail programs attach files named by the address.
		for k := range u.Query() {
			if k = strings.ToLower(k); k != "subject" && k != "body" && k != "cc" && k != "bcc" && k != "to" {
				return "", ErrLink
			}
		}
	default:
		return "", ErrLink
	}
	return u.String(), nil
}

// AppLink is the target of a whippletree: link: "chat:<id>" or
// "session:<harness>/<id>". Links come from anywhere, so that they only name
// what to show.
func AppLink(raw string) (target string, ok bool) {
	if len(raw) > maxLink {
		return "", false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "whippletree" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	rest := strings.Trim(u.Path, "/")
	if !idPath(rest) {
		return "", false
	}
	switch u.Host {
	case "chat":
		return "chat:" + rest, !strings.Contains(rest, "/")
	case "session":
		return "session:" + rest, strings.Count(rest, "/") == 1
	}
	return "", false
}

// idPath holds ids of the allow-list with slashes between them.
func idPath(s string) bool {
	if s == "" {
		return false
	}
	for _, part := range strings.Split(s, "/") {
		if part == "" || part == "." || part == ".." || len(part) > 256 {
			return false
		}
		for _, r := range part {
			ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r)
			if !ok {
				return false
			}
		}
	}
	return true
}
