package changes

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/git"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Bounds of what git is asked for.
const (
	maxStatus   = 2 << 20
	maxDiff     = 4 << 20
	maxGitFiles = 900
	chunk       = 96 << 10 // of a diff in one answer; escapes may double it
	gitTime     = 20 * time.Second
)

// ErrPath says that a path does not lie in the repository.
var ErrPath = errors.New("the path does not lie in the repository")

var plain = []string{
	"-c", "diff.relative=false", "-c", "status.relativePaths=false", "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false",
	"-c", "diff.renames=true", "-c", "status.renames=true",
}

// Status is git's view of a folder.
func Status(ctx context.Context, g git.Git, dir string) (model.GitStatus, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitTime, errors.New("git did not answer within "+gitTime.String()))
	defer cancel()
	out := model.GitStatus{Files: []model.GitFile{}}
	root, args, err := open(ctx, g, dir)
	if err != nil {
		if why, fix := without(err, dir); why != "" {
			out.Why, out.Fix = why, fix
			return out, nil
		}
		return out, err
	}
	out.Repo, out.Root = true, root
	raw, err := g.Run(ctx, root, maxStatus, append(args, "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--ignore-submodules=dirty")...)
	if errors.Is(err, git.ErrMore) {
		out.Limited, err = true, nil
	}
	if err != nil {
		return out, err
	}
	parseStatus(string(raw), &out)
	counts, err := numstat(ctx, g, root, args, out.Head != "")
	if err != nil && !errors.Is(err, git.ErrMore) {
		return out, err
	}
	out.Total = len(out.Files)
	if len(out.Files) > maxGitFiles {
		out.Files, out.Limited = out.Files[:maxGitFiles], true
	}
	for i := range out.Files {
		f := &out.Files[i]
		c, ok := counts[f.Path]
		switch {
		case !ok:
			f.Added, f.Removed = -1, -1
			if f.Kind == "untracked" {
				break
			}
			f.Added, f.Removed = 0, 0 // a mode, a pure rename
		case c.binary:
			f.Added, f.Removed, f.Binary = -1, -1, true
		default:
			f.Added, f.Removed = c.added, c.removed
		}
	}
	return out, nil
}

// open finds the repository's root and the arguments for each run in it.
func open(ctx context.Context, g git.Git, dir string) (root string, args []string, err error) {
	raw, err := g.Run(ctx, dir, 16<<10, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", nil, err
	}
	filters, err := g.WithoutFilters(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	return strings.TrimSuffix(string(raw), "\n"), append(append([]string{}, plain...), filters...), nil
}

// without says why git has no view of a folder; "" for a real fault.
func without(err error, dir string) (why, fix string) {
	var exit *git.ExitError
	switch {
	case errors.Is(err, git.ErrNone):
		return "git is not installed.", ""
	case git.NoRepository(err):
		return "The folder is in no git repository.", ""
	case git.Foreign(err):
		return "The repository belongs to another user, so git does not read it.", "git config --global --add safe.directory '" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "The folder is not there any more.", ""
	case errors.As(err, &exit):
		return "git cannot tell: " + exit.Error() + ".", ""
	}
	return "", ""
}

func parseStatus(raw string, out *model.GitStatus) {
	fields := strings.Split(raw, "\x00")
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		kind, rest, _ := strings.Cut(f, " ")
		switch kind {
		case "#":
			parseBranch(rest, out)
		case "1":
			if p := after(rest, 7); p != "" {
				out.Files = append(out.Files, changed(rest, p, ""))
			}
		case "2":
			if p := after(rest, 8); p != "" && i+1 < len(fields) {
				i++
				out.Files = append(out.Files, changed(rest, p, fields[i]))
			}
		case "u":
			if p := after(rest, 9); p != "" {
				out.Files = append(out.Files, model.GitFile{Path: p, Kind: "conflict", Changed: true})
			}
		case "?":
			if rest != "" {
				out.Files = append(out.Files, model.GitFile{Path: rest, Kind: "untracked", Changed: true})
			}
		}
	}
}

func parseBranch(line string, out *model.GitStatus) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			out.Head = value
		}
	case "branch.head":
		if value != "(detached)" {
			out.Branch = value
		}
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		out.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		out.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// after skips n fields that are separated by one space.
func after(s string, n int) string {
	for range n {
		_, rest, ok := strings.Cut(s, " ")
		if !ok {
			return ""
		}
		s = rest
	}
	return s
}

func changed(entry, path, from string) model.GitFile {
	x, y := entry[0], entry[1]
	f := model.GitFile{Path: path, From: from, Kind: "modified", Staged: x != '.', Changed: y != '.'}
	sub, _, _ := strings.Cut(after(entry, 1), " ")
	both := string([]byte{x, y})
	switch {
	case strings.HasPrefix(sub, "S"):
		f.Kind = "submodule"
	case from != "" && strings.ContainsRune(both, 'C'):
		f.Kind = "copied"
	case from != "":
		f.Kind = "renamed"
	case strings.ContainsRune(both, 'D'):
		f.Kind = "deleted"
	case x == 'A' || y == 'A':
		f.Kind = "added"
	case strings.ContainsRune(both, 'T'):
		f.Kind = "typechange"
	}
	return f
}

type lineCount struct {
	added, removed int
	binary         bool
}

func numstat(ctx context.Context, g git.Git, root string, args []string, head bool) (map[string]lineCount, error) {
	args = append(args, "diff", "--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", against(head))
	raw, err := g.Run(ctx, root, maxStatus, args...)
	counts := map[string]lineCount{}
	fields := strings.Split(string(raw), "\x00")
	for i := 0; i < len(fields); i++ {
		added, rest, ok := strings.Cut(fields[i], "\t")
		removed, p, ok2 := strings.Cut(rest, "\t")
		if !ok || !ok2 {
			continue
		}
		if p == "" { // renamed: from and to follow
			if i+2 >= len(fields) {
				break
			}
			p = fields[i+2]
			i += 2
		}
		c := lineCount{binary: added == "-"}
		c.added, _ = strconv.Atoi(added)
		c.removed, _ = strconv.Atoi(removed)
		counts[p] = c
	}
	return counts, err
}

// against is what the folder is compared with.
func against(head bool) string {
	if head {
		return "HEAD"
	}
	return "--cached" // before the first commit
}

// GitDiff is one file's difference to the last commit, from an offset on: whole
// lines, as many as one answer holds. why says what there is instead.
func GitDiff(ctx context.Context, g git.Git, dir string, f model.GitFile, offset int64) (diff string, next, size int64, why string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitTime, errors.New("git did not answer within "+gitTime.String()))
	defer cancel()
	for _, p := range []string{f.Path, f.From} {
		if strings.ContainsRune(p, 0) || p != "" && (path.IsAbs(p) || path.Clean(p) == ".." || strings.HasPrefix(path.Clean(p), "../")) {
			return "", 0, 0, "", ErrPath
		}
	}
	root, args, err := open(ctx, g, dir)
	if err != nil {
		why, _ = without(err, dir)
		if why != "" {
			err = nil
		}
		return "", 0, 0, why, err
	}
	var text string
	if f.Kind == "untracked" {
		text, why, err = untracked(root, f.Path)
	} else {
		text, why, err = tracked(ctx, g, root, args, f)
	}
	if err != nil || why != "" {
		return "", 0, 0, why, err
	}
	size = int64(len(text))
	if offset < 0 || offset > size {
		return "", 0, size, "", ErrPath
	}
	diff = whole(text[offset:], chunk)
	if end := offset + int64(len(diff)); end < size && len(diff) > 0 {
		next = end
	}
	return strings.ToValidUTF8(diff, "\uFFFD"), next, size, "", nil
}

func tracked(ctx context.Context, g git.Git, root string, args []string, f model.GitFile) (text, why string, err error) {
	_, headErr := g.Run(ctx, root, 256, "rev-parse", "--verify", "-q", "HEAD")
	args = append(args, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "-M", "--ignore-submodules=dirty", against(headErr == nil), "--", f.Path)
	if f.From != "" {
		args = append(args, f.From)
	}
	raw, err := g.Run(ctx, root, maxDiff, args...)
	text = string(raw)
	switch {
	case errors.Is(err, git.ErrMore):
		return "", "The difference is larger than 4 MB and is not shown here.", nil
	case err != nil:
		return "", "", err
	case strings.Contains(text, "\nBinary files ") && !strings.Contains(text, "\n@@ "):
		return "", "A binary file; there are no lines to compare.", nil
	}
	if i := strings.Index(text, "\n@@ "); i >= 0 {
		return text[i+1:], "", nil
	}
	switch {
	case f.From != "":
		return "", "Only the name changed.", nil
	case strings.HasPrefix(text, "diff ") && strings.Contains(text, "\nold mode "):
		return "", "Only the mode of the file changed.", nil
	}
	return "", "Nothing differs from the last commit.", nil
}

// untracked shows a file that git does not know as added.
func untracked(root, name string) (text, why string, err error) {
	dir, err := os.OpenRoot(root) // no link leads out of it
	if err != nil {
		return "", "", err
	}
	defer func() { _ = dir.Close() }()
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return "", "The file is not there any more.", nil
	case info.IsDir():
		return "", "A folder of its own repository.", nil
	case info.Mode()&os.ModeSymlink != 0:
		return "", "A link.", nil
	case !info.Mode().IsRegular():
		return "", "This is no file.", nil
	case info.Size() > maxDiff:
		return "", "The file is larger than 4 MB and is not shown here.", nil
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", "The file cannot be read.", nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxDiff))
	if err != nil {
		return "", "The file cannot be read.", nil
	}
	if strings.ContainsRune(string(data[:min(len(data), 8000)]), 0) {
		return "", "A binary file; there are no lines to compare.", nil
	}
	if len(data) == 0 {
		return "", "An empty file.", nil
	}
	return added(string(data)), "", nil
}
