package api

import (
	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// What a person writes: files that are mentioned and attached, earlier prompts.

// FilesRequest looks for files below Cwd whose path has the query's letters in
// order. Fresh waits until the folder was listed anew; without it a listing that
// is known answers at once (Stale in the result says that a newer one is made).
type FilesRequest struct {
	Cwd   string `json:"cwd"`
	Query string `json:"query,omitempty"`
	Limit int    `json:"limit,omitempty"`
	Dirs  bool   `json:"dirs,omitempty"` // only directories directly below Cwd, for the folder picker
	Fresh bool   `json:"fresh,omitempty"`
}

// FilesResult holds paths relative to the folder, the best first; a folder ends
// with a slash. Total counts what the listing knows; Limited says that the folder
// holds more than is listed.
type FilesResult struct {
	Paths   []string `json:"paths"`
	Total   int      `json:"total,omitempty"`
	Stale   bool     `json:"stale,omitempty"`
	Limited bool     `json:"limited,omitempty"`
}

// AddAttachment keeps a file for a chat: Bytes (a paste, a drop), or the absolute
// Path of a file on this machine. The answer is what SendPrompt takes.
type AddAttachment struct {
	ChatID string `json:"chatId"`
	Name   string `json:"name"`
	Mime   string `json:"mime,omitempty"`
	Bytes  []byte `json:"bytes,omitempty"`
	Path   string `json:"path,omitempty"`
}

type AttachmentResult struct {
	Attachment agent.Attachment `json:"attachment"`
}

// ReadAttachment fetches a chunk of a kept file, at most 128 KiB a call.
type ReadAttachment struct {
	ChatID string `json:"chatId"`
	ID     string `json:"id"`
	Offset int64  `json:"offset,omitempty"`
}

type AttachmentContent struct {
	Bytes []byte `json:"bytes"`
	Next  int64  `json:"next,omitempty"` // 0 = end
	Size  int64  `json:"size"`
}

// PromptsRequest asks for what was written in the chats of a chat's project, or
// of a folder's.
type PromptsRequest struct {
	ChatID string `json:"chatId,omitempty"`
	Cwd    string `json:"cwd,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// Prompts are the texts, newest first, each once.
type Prompts struct {
	Prompts []string `json:"prompts"`
}

// What an agent changed.

// ChangesRequest names a chat and, for one turn, the turn.
type ChangesRequest struct {
	ChatID string `json:"chatId"`
	Turn   int64  `json:"turn,omitempty"`
}

// Changes are the files that an agent's tools changed, by path. Limited says that
// there are more.
type Changes struct {
	Cwd     string              `json:"cwd"`
	Files   []model.ChangedFile `json:"files"`
	Added   int                 `json:"added"`
	Removed int                 `json:"removed"`
	Total   int                 `json:"total"`
	Limited bool                `json:"limited,omitempty"`
}

// DiffRequest asks for the pieces of one changed file, in order. Cursor is the
// last answer's Next.
type DiffRequest struct {
	ChatID string `json:"chatId"`
	Turn   int64  `json:"turn,omitempty"`
	Path   string `json:"path"`
	Cursor string `json:"cursor,omitempty"`
}

type DiffResult struct {
	Pieces []model.ChangePiece `json:"pieces"`
	Next   string              `json:"next,omitempty"`
}

// GitRequest names a folder by a chat that works in it.
type GitRequest struct {
	ChatID string `json:"chatId"`
}

// GitDiffRequest asks for the difference of one file to the last commit, from a
// byte offset on. Path and From are as GitStatus has them.
type GitDiffRequest struct {
	ChatID string `json:"chatId"`
	Path   string `json:"path"`
	From   string `json:"from,omitempty"`
	Kind   string `json:"kind,omitempty"` // untracked files are shown as added
	Offset int64  `json:"offset,omitempty"`
}

// GitDiff is a unified diff, whole lines, at most 192 KiB a call. Why says what is
// shown instead (a binary file, one that is too large).
type GitDiff struct {
	Diff string `json:"diff"`
	Next int64  `json:"next,omitempty"` // 0 = end
	Size int64  `json:"size"`
	Why  string `json:"why,omitempty"`
}
