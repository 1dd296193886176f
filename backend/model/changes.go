package model

// ChangedFile is what the tools of an agent changed in one file. Path is as the
// agent named it, made absolute; Rel is below the chat's folder with slashes, ""
// outside of it. Lines are counted over all pieces, so that a line changed twice
// counts twice. Unknown says that some piece told no lines (a file that was
// written over without its old text).
type ChangedFile struct {
	Path    string  `json:"path"`
	Rel     string  `json:"rel,omitempty"`
	Created bool    `json:"created,omitempty"`
	Added   int     `json:"added"`
	Removed int     `json:"removed"`
	Unknown bool    `json:"unknown,omitempty"`
	Pieces  int     `json:"pieces"`
	Turns   []int64 `json:"turns"`
}

// ChangePiece is one edit of one tool row, as a unified diff without file names.
// Cut is the whole size in bytes when the diff is shortened here: chats.content
// serves the whole of the row's field. Why says what a piece without a diff is.
type ChangePiece struct {
	ItemID string `json:"itemId"`
	Turn   int64  `json:"turn"`
	At     int64  `json:"at"`
	Title  string `json:"title,omitempty"`
	Diff   string `json:"diff,omitempty"`
	Cut    int64  `json:"cut,omitempty"`
	Field  string `json:"field,omitempty"` // of chats.content, where Cut is set
	Why    string `json:"why,omitempty"`
}

// GitStatus is git's own view of a folder, read on demand. Repo is false outside
// of a repository and where git cannot tell; Why says so then.
type GitStatus struct {
	Repo    bool      `json:"repo"`
	Why     string    `json:"why,omitempty"`
	Fix     string    `json:"fix,omitempty"`
	Root    string    `json:"root,omitempty"`
	Branch  string    `json:"branch,omitempty"`
	Head    string    `json:"head,omitempty"` // commit; "" before the first one
	Ahead   int       `json:"ahead,omitempty"`
	Behind  int       `json:"behind,omitempty"`
	Files   []GitFile `json:"files"`
	Total   int       `json:"total"`
	Limited bool      `json:"limited,omitempty"` // more than Files
}

// GitFile is a file that differs from the last commit. Path is relative to the
// repository's root. Kind is modified, added, deleted, renamed, copied, typechange,
// untracked, conflict or submodule. Lines are -1 where git does not count them
// (binary, untracked).
type GitFile struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // of a renamed or copied one
	Kind    string `json:"kind"`
	Staged  bool   `json:"staged,omitempty"`   // something of it is in the index
	Changed bool   `json:"unstaged,omitempty"` // something of it is not
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`
}
