package attachments

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of one attachment in bytes, and of one prompt.
const (
	MaxImage  = 5 << 20
	MaxFile   = 16 << 20
	MaxText   = 256 << 10 // longer texts go as files
	MaxAtOnce = 20
)

// images are what models take.
var images = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}

// kindOf tells by its content what an attachment is; a name or a type that
// somebody gave it proves nothing.
func kindOf(data []byte, mime string) (kind, actual string) {
	found, _, _ := strings.Cut(http.DetectContentType(data[:min(len(data), 512)]), ";")
	if _, ok := images[found]; ok {
		return "image", found
	}
	if len(data) <= MaxText && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		if strings.HasPrefix(mime, "text/") || mime == "application/json" {
			return "text", mime
		}
		return "text", "text/plain"
	}
	if mime == "" || strings.HasPrefix(mime, "image/") {
		mime = found
	}
	return "file", mime
}

// maxName bounds a name in bytes.
const maxName = 180

// fileName makes a name that is one part of a path and can be read aloud.
func fileName(name, kind, mime string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == '\\' || r == '"' || r == '<' || r == '>':
			return '_'
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r): // bidi marks are among the latter
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, filepath.Base(filepath.ToSlash(name)))
	name = strings.TrimLeft(strings.TrimSpace(name), ".-")
	ext := filepath.Ext(name)
	if len(ext) > 16 {
		ext = ""
	}
	for stem := strings.TrimSuffix(name, ext); len(name) > maxName; name = stem + ext {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-n]
	}
	if name == "" {
		switch kind {
		case "image":
			return "image" + images[mime]
		case "text":
			return "text.txt"
		}
		return "file"
	}
	if want := images[mime]; kind == "image" && !sameExt(ext, want) {
		name += want
	}
	return name
}

func sameExt(a, b string) bool {
	a = strings.ToLower(a)
	return a == b || a == ".jpeg" && b == ".jpg"
}
