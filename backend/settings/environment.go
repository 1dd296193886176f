package settings

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// limitEnvFile bounds an environment file, in bytes.
const limitEnvFile = 1 << 20

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Environment returns the variables a person added to an agent's starts: those
// of EnvFile, read now, and over them those of Env. home stands for a leading
// "~/" in the file's path. The error names the file and the line, never a value.
func (h Harness) Environment(home string) (map[string]string, error) {
	env := map[string]string{}
	if h.EnvFile != "" {
		path := h.EnvFile
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("the environment file %s is not an absolute path", h.EnvFile)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("the environment file: %w", err)
		}
		defer func() { _ = f.Close() }()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limitEnvFile {
			return nil, fmt.Errorf("the environment file %s is not a regular file of at most %d bytes", path, limitEnvFile)
		}
		if env, err = parseEnv(io.LimitReader(f, limitEnvFile)); err != nil {
			return nil, fmt.Errorf("the environment file %s: %w", path, err)
		}
	}
	maps.Copy(env, h.Env)
	return env, nil
}

// parseEnv reads NAME=VALUE lines, with comments, an optional "export" and
// values in single (literal) or double quotes (\n, \" and \\ are understood).
func parseEnv(r io.Reader) (map[string]string, error) {
	env := map[string]string{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, limitEnvFile)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(s.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		name = strings.TrimSpace(name)
		if !ok || !envName.MatchString(name) {
			return nil, fmt.Errorf("line %d is not NAME=VALUE", n)
		}
		value, err := unquote(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("line %d holds a NUL", n)
		}
		env[name] = value
	}
	return env, s.Err()
}

func unquote(v string) (string, error) {
	if v == "" {
		return v, nil
	}
	switch v[0] {
	case '\'':
		if end := strings.IndexByte(v[1:], '\''); end >= 0 && end == len(v)-2 {
			return v[1 : len(v)-1], nil
		}
		return "", errors.New("the quote is not closed at the end of the line")
	case '"':
		var b strings.Builder
		for i := 1; i < len(v); i++ {
			switch c := v[i]; {
			case c == '"' && i == len(v)-1:
				return b.String(), nil
			case c == '"':
				return "", errors.New("something follows the closing quote")
			case c == '\\' && i+1 < len(v):
				i++
				switch v[i] {
				case 'n':
					b.WriteByte('\n')
				case '"', '\\', '$':
					b.WriteByte(v[i])
				default:
					b.WriteByte('\\')
					b.WriteByte(v[i])
				}
			default:
				b.WriteByte(c)
			}
		}
		return "", errors.New("the quote is not closed at the end of the line")
	}
	if i := strings.Index(v, " #"); i >= 0 {
		v = strings.TrimSpace(v[:i])
	}
	return v, nil
}
