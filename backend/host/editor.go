package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// editorFix is said when no editor is known.
const editorFix = `whippletree settings set editor.command '["code", "--goto", "{file}:{line}"]'`

// editor is a program that opens a file, with how it takes a line.
type editor struct {
	argv     []string // with {file} and {line}
	terminal bool     // it runs in a terminal
}

// lineStyles say how an editor, by the name of its program, takes a place.
var lineStyles = map[string]struct {
	args     []string
	terminal bool
}{
	"code": {args: []string{"--goto", "{file}:{line}"}}, "code-insiders": {args: []string{"--goto", "{file}:{line}"}},
	"codium": {args: []string{"--goto", "{file}:{line}"}}, "cursor": {args: []string{"--goto", "{file}:{line}"}},
	"windsurf": {args: []string{"--goto", "{file}:{line}"}},
	"zed":      {args: []string{"{file}:{line}"}}, "zeditor": {args: []string{"{file}:{line}"}}, "subl": {args: []string{"{file}:{line}"}},
	"kate": {args: []string{"--line", "{line}", "{file}"}}, "gedit": {args: []string{"+{line}", "{file}"}},
	"gvim": {args: []string{"+{line}", "{file}"}}, "mvim": {args: []string{"+{line}", "{file}"}},
	"idea": {args: []string{"--line", "{line}", "{file}"}}, "goland": {args: []string{"--line", "{line}", "{file}"}},
	"pycharm": {args: []string{"--line", "{line}", "{file}"}}, "webstorm": {args: []string{"--line", "{line}", "{file}"}},
	"gnome-text-editor": {args: []string{"{file}"}}, "mousepad": {args: []string{"{file}"}},
	"nvim": {[]string{"+{line}", "{file}"}, true}, "vim": {[]string{"+{line}", "{file}"}, true}, "vi": {[]string{"+{line}", "{file}"}, true},
	"nano": {[]string{"+{line}", "{file}"}, true}, "hx": {[]string{"{file}:{line}"}, true}, "helix": {[]string{"{file}:{line}"}, true},
	"kak": {[]string{"+{line}", "{file}"}, true}, "micro": {[]string{"+{line}", "{file}"}, true}, "emacs": {[]string{"-nw", "+{line}", "{file}"}, true},
	"joe": {[]string{"+{line}", "{file}"}, true}, "ne": {[]string{"+{line}", "{file}"}, true},
}

// found in this order when neither the settings nor the environment names one.
var editorsByLiking = []string{"code", "codium", "cursor", "zed", "zeditor", "subl", "kate", "gnome-text-editor", "gedit", "nvim", "vim", "nano", "vi"}

// chooseEditor is the editor of the settings, else of VISUAL or EDITOR, else the
// first that is there. A file is never given to the system to open as it likes: a
// desktop entry or a script would be started.
func chooseEditor(command, env []string, look func(string) (string, error)) (editor, error) {
	if len(command) > 0 {
		e := withPlace(command[0], command[1:])
		if slices.ContainsFunc(command[1:], func(a string) bool { return strings.Contains(a, "{file}") }) {
			e.argv = command
		}
		return e, nil
	}
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(lookupEnv(env, name)); len(words) > 0 {
			e := withPlace(words[0], words[1:])
			if _, known := lineStyles[filepath.Base(words[0])]; !known {
				e.terminal = true // what these variables name runs in a terminal by custom
			}
			return e, nil
		}
	}
	for _, name := range editorsByLiking {
		if path, err := look(name); err == nil {
			return withPlace(path, nil), nil
		}
	}
	return editor{}, &api.Error{Code: api.CodeUnavailable, Message: "No editor was found.", Fix: editorFix}
}

func withPlace(program string, args []string) editor {
	style := lineStyles[filepath.Base(program)]
	place := style.args
	if place == nil {
		place = []string{"{file}"}
	}
	return editor{argv: slices.Concat([]string{program}, args, place), terminal: style.terminal}
}

// at is the command for a place; line 0 is unknown.
func (e editor) at(file string, line int) []string {
	n := strconv.Itoa(max(line, 1))
	out := make([]string, len(e.argv))
	for i, a := range e.argv {
		if i > 0 { // the program is never made of a file's name
			a = strings.NewReplacer("{file}", file, "{line}", n).Replace(a)
		}
		out[i] = a
	}
	return out
}

func lookupEnv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// plainFile is the absolute path of a regular file that an agent named: relative
// to its folder, or below the home.
func plainFile(path, cwd, home string) (string, error) {
	if path == "" || len(path) > 4096 || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", &api.Error{Code: api.CodeInvalid, Message: "This is no path of a file."}
	}
	switch {
	case strings.HasPrefix(path, "~/"):
		path = filepath.Join(home, path[2:])
	case !filepath.IsAbs(path) && cwd == "":
		return "", &api.Error{Code: api.CodeInvalid, Message: "The chat has no folder that the path could be in."}
	case !filepath.IsAbs(path):
		path = filepath.Join(cwd, path)
	}
	path = filepath.Clean(path)
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", notFound("The file %s is not there any more.", path)
	case err != nil:
		return "", &api.Error{Code: api.CodeUnavailable, Message: err.Error()}
	case !st.Mode().IsRegular():
		return "", &api.Error{Code: api.CodeInvalid, Message: path + " is no regular file."}
	}
	return path, nil
}

// openFile opens a file of a chat in the person's editor.
func (h *Host) openFile(ctx context.Context, r api.OpenFile) (api.OpenFileResult, error) {
	chat, ok := h.chats.Summary(r.ChatID)
	if !ok {
		return api.OpenFileResult{}, notFound("There is no chat %s.", r.ChatID)
	}
	file, err := plainFile(r.Path, chat.Cwd, h.o.UserHome)
	if err != nil {
		return api.OpenFileResult{}, err
	}
	env := h.env.get()
	look := func(name string) (string, error) { return lookPath(name, env) }
	e, err := chooseEditor(h.settings.Values().Editor.Command, env, look)
	if err != nil {
		return api.OpenFileResult{}, err
	}
	argv := e.at(file, r.Line)
	name := filepath.Base(argv[0])
	if e.terminal {
		t, err := h.terminals.Create(ctx, terminals.CreateSpec{Cwd: filepath.Dir(file), Argv: argv, Cols: 80, Rows: 24, Title: name + " " + filepath.Base(file)})
		return api.OpenFileResult{How: "terminal", TerminalID: t.ID, Program: name}, err
	}
	if argv[0], err = look(argv[0]); err == nil {
		err = startApart(ctx, h.exits, argv, filepath.Dir(file), env)
	}
	if err != nil {
		return api.OpenFileResult{}, &api.Error{Code: api.CodeUnavailable, Message: fmt.Sprintf("%s did not open the file: %v.", name, err), Fix: editorFix}
	}
	return api.OpenFileResult{How: "editor", Program: name}, nil
}

// lookPath finds a program in the PATH of an environment.
func lookPath(name string, env []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if strings.ContainsRune(name, '/') {
		return "", errors.New("its path is not absolute")
	}
	for _, dir := range filepath.SplitList(lookupEnv(env, "PATH")) {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && filepath.IsAbs(dir) && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", errors.New("it is not installed")
}

// settles is how long a program may take to say that it cannot start.
const settles = 400 * time.Millisecond

// startApart starts a program in a session of its own. It is the person's: nobody
// ends it, and it outlives the host. An end with an error right at its start is
// returned.
func startApart(ctx context.Context, exits *processes.ExitWatcher, argv []string, dir string, env []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	reap := func() { ended <- cmd.Wait() }
	id, err := processes.Identify(cmd.Process.Pid)
	if err == nil {
		_, err = exits.Watch(id, reap)
	}
	if err != nil { // it ended before it could be watched
		reap()
	}
	timer := time.NewTimer(settles)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return nil
	}
}
