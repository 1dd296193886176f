package shell

import "testing"

// Case X01: links open outside only when they are web or mail addresses.
func TestCaseX01_OutsideLink(t *testing.T) {
	good := []string{
		"https://good.example/path?q=1#f", "http://127.0.0.1:8080/", "mailto:a@b.example?subject=x",
	}
	bad := []string{
		"", "javascript:alert(1)", "file:///etc/passwd", "wails://x", "https:///x", "https:good.example",
		"https://user:pw@good.example/", "mailto:", "mailto:-x@y", "mailto:a@b?attach=/etc/passwd",
		"data:text/html,x", "vbscript:x", "https://a.example/\n", "ssh://x", "whippletree://chat/1", "//a.example",
	}
	for _, l := range good {
		if _, err := OutsideLink(l); err != nil {
			t.Errorf("%q: %v", l, err)
		}
	}
	for _, l := range bad {
		if got, err := OutsideLink(l); err == nil {
			t.Errorf("%q passed as %q", l, got)
		}
	}
}

// Case X06: ids in links are allow-listed.
func TestCaseX06_AppLink(t *testing.T) {
	for in, want := range map[string]string{
		"whippletree://chat/c-1":                   "chat:c-1",
		"whippletree://session/claude-code/abc.1":  "session:claude-code/abc.1",
		"whippletree://session/claude-code/abc.1/": "session:claude-code/abc.1",
	} {
		if got, ok := AppLink(in); !ok || got != want {
			t.Errorf("%q = %q %v, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{
		"whippletree://chat/../../x", "whippletree://chat/a/b", "whippletree://chat/", "whippletree://run/x",
		"https://chat/c-1", "whippletree://chat/%2e%2e", "whippletree://chat/c?x=1", "whippletree://session/a",
		"whippletree://session/a/..", "whippletree://u@chat/c",
	} {
		if got, ok := AppLink(in); ok {
			t.Errorf("%q passed as %q", in, got)
		}
	}
}

func FuzzAppLink(f *testing.F) {
	f.Add("whippletree://chat/c-1")
	f.Fuzz(func(t *testing.T, s string) {
		if target, ok := AppLink(s); ok && (len(target) > maxLink || target == "") {
			t.Errorf("%q", target)
		}
	})
}

func FuzzOutsideLink(f *testing.F) {
	f.Add("https://good.example")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := OutsideLink(s)
		if err != nil {
			return
		}
		if _, err := OutsideLink(got); err != nil && len(got) <= maxLink {
			t.Errorf("%q passes but its canonical form %q does not", s, got)
		}
	})
}
