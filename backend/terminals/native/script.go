package native

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// LaunchEnv is set for the agent that a launch script starts, to the launch's
// id: it proves that a process is the launched one.
const LaunchEnv = "WHIPPLETREE_LAUNCH"

// quote makes s one word of a POSIX shell.
func quote(s string) (string, error) {
	q, err := syntax.Quote(s, syntax.LangPOSIX)
	if err == nil {
		return q, nil
	}
	if strings.ContainsRune(s, 0) {
		return "", errors.New("a text with a NUL byte cannot be passed to a program")
	}
	// Control characters and broken UTF-8: single quotes keep every byte.
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'", nil
}

func quoteAll(list []string) (string, error) {
	out := make([]string, len(list))
	for i, s := range list {
		q, err := quote(s)
		if err != nil {
			return "", err
		}
		out[i] = q
	}
	return strings.Join(out, " "), nil
}

// script is the text of a launch script for the directory dir. It deletes
// itself, reports its terminal, starts the command in a process that reports
// its own id just before it becomes the command, reports its end, and leaves
// a shell open.
func script(id, dir string, spec LaunchSpec) (string, error) {
	if len(spec.Argv) == 0 {
		return "", errors.New("launch: no command given")
	}
	var b strings.Builder
	qdir, err := quote(dir)
	if err != nil {
		return "", err
	}
	qcwd, err := quote(spec.Cwd)
	if err != nil {
		return "", err
	}
	argv, err := quoteAll(spec.Argv)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "#!/bin/sh\nd=%s\nrm -f -- \"$d/run\"\numask 077\n", qdir)
	// Keys meant for the agent must not end or stop this script. A handler, not
	// "ignore": ignored signals would be inherited.
	b.WriteString("trap : INT QUIT\n")
	b.WriteString("say() { printf '%s=' \"$1\"; printf '%s' \"$2\" | tr -d '\\n\\r'; echo; }\n{\n")
	b.WriteString("say pid \"$$\"\nsay tty \"$(tty)\"\n")
	for _, v := range terminalVariables {
		fmt.Fprintf(&b, "[ -z \"${%s-}\" ] || say %s \"$%s\"\n", v, v, v)
	}
	b.WriteString("} > \"$d/place.new\" && mv -f \"$d/place.new\" \"$d/place\"\n")
	keys := make([]string, 0, len(spec.Env))
	for k := range spec.Env {
		if !validName(k) {
			return "", fmt.Errorf("launch: %q is no name of an environment variable", k)
		}
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		v, err := quote(spec.Env[k])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "export %s=%s\n", k, v)
	}
	fmt.Fprintf(&b, "export %s=%s\n", LaunchEnv, id)
	fmt.Fprintf(&b, "if cd -- %s; then\n", qcwd)
	b.WriteString("sh -c 'echo $$ > \"$0/agent.new\" && mv -f \"$0/agent.new\" \"$0/agent\" && exec \"$@\"' \"$d\" " + argv + "\n")
	b.WriteString("code=$?\nelse code=126\nfi\n")
	b.WriteString("{ echo \"$code\" > \"$d/exit.new\" && mv -f \"$d/exit.new\" \"$d/exit\"; } 2>/dev/null\n")
	fmt.Fprintf(&b, "unset %s", LaunchEnv)
	for _, k := range keys {
		b.WriteString(" " + k)
	}
	b.WriteString("\ntrap - INT QUIT\n")
	b.WriteString("[ \"$code\" = 0 ] || printf '\\n[exit code %s]\\n' \"$code\"\n")
	b.WriteString("exec \"${SHELL:-/bin/sh}\" -l\n")
	return b.String(), nil
}

func validName(k string) bool {
	for i, r := range k {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return k != ""
}
