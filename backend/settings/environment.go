package settings

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"unicode/utf8"
)

// limitEnvFile bounds an environment file, in bytes.
const limitEnvFile = 64 << 10

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
		text, err := readSecret(path)
		if err != nil {
			return nil, err
		}
		if env, err = parseEnv(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("the environment file %s: %w", path, err)
		}
	}
	maps.Copy(env, h.Env)
	return env, nil
}

// readSecret reads a file that only its owner, this user, can read or change.
func readSecret(path string) ([]byte, error) {
	// A pipe would block before it could be seen to be one.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("the environment file %s is a link; name the file itself", path)
	}
	if err != nil {
		return nil, fmt.Errorf("the environment file: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the environment file: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !mode.IsRegular() || info.Size() > limitEnvFile:
		return nil, fmt.Errorf("the environment file %s is not a regular file of at most %d bytes", path, limitEnvFile)
	case !ok || int(owner.Uid) != os.Getuid():
		return nil, fmt.Errorf("the environment file %s belongs to another user", path)
	case mode.Perm()&0o177 != 0 || mode&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky) != 0:
		return nil, fmt.Errorf("the environment file %s can be read or changed by others (mode %04o): chmod 600 '%s'", path, mode.Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, limitEnvFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the environment file: %w", err)
	case len(text) > limitEnvFile:
		return nil, fmt.Errorf("the environment file %s is not a regular file of at most %d bytes", path, limitEnvFile)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("the environment file %s is not UTF-8 text", path)
	}
	return text, nil
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
