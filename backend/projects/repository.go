package projects

import (
	"path/filepath"
	"strings"
)

// repository is what git's files say of a folder.
type repository struct {
	root     string // main worktree, or the bare repository
	worktree string // name of the linked worktree, "" in the main one
	branch   string
	gitDir   string // where HEAD of this worktree lies
}

// findRepository walks up from an existing folder. The prints are of everything
// whose change would give another answer.
func findRepository(dir string) (repository, []print) {
	var prints []print
	for {
		dot := filepath.Join(dir, ".git")
		pr := printOf(dot)
		prints = append(prints, pr)
		if pr.there {
			if repo, ok := open(dir, dot); ok {
				return repo, append(prints, printOf(filepath.Join(repo.gitDir, "HEAD")))
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return repository{}, prints
		}
		dir = parent
	}
}

// open reads a .git folder or file; ok is false when it is none of git's.
func open(dir, dot string) (repository, bool) {
	repo := repository{root: dir, gitDir: dot}
	if text, err := readSmall(dot); err == nil {
		to, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
		if !ok {
			return repository{}, false
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		repo.gitDir = filepath.Clean(to)
		// A linked worktree names the repository it belongs to; a submodule has
		// its own and does not.
		if common, err := readSmall(filepath.Join(repo.gitDir, "commondir")); err == nil {
			common = strings.TrimSpace(common)
			if !filepath.IsAbs(common) {
				common = filepath.Join(repo.gitDir, common)
			}
			repo.root, repo.worktree = mainRoot(filepath.Clean(common)), filepath.Base(dir)
		}
	}
	head, err := readSmall(filepath.Join(repo.gitDir, "HEAD"))
	if err != nil {
		// The worktree's administration was pruned: still a worktree to group by,
		// where the place of its files tells the repository.
		if i := strings.LastIndex(repo.gitDir, "/.git/worktrees/"); i > 0 {
			return repository{root: repo.gitDir[:i], worktree: filepath.Base(dir), gitDir: repo.gitDir}, true
		}
		return repository{}, false
	}
	repo.branch = branchOf(head)
	return repo, true
}

// mainRoot is the folder a person knows a repository by: that of its .git, or the
// bare repository itself.
func mainRoot(common string) string {
	if base := filepath.Base(common); base == ".git" || base == ".bare" {
		return filepath.Dir(common)
	}
	return common
}

// branchOf reads HEAD: a branch, or the beginning of the commit when detached.
// The files of a reftable repository do not tell; then it is empty.
func branchOf(head string) string {
	head = strings.TrimSpace(head)
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		ref = strings.TrimSpace(ref)
		if ref == "refs/heads/.invalid" {
			return ""
		}
		if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			return branch
		}
		return ref
	}
	if len(head) >= 40 && strings.Trim(head, "0123456789abcdef") == "" {
		return "detached at " + head[:8]
	}
	return ""
}
