package sessions

import (
	"cmp"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// chat is a chat of ours as the list sees it.
type chat struct {
	summary model.ChatSummary
	key     model.SessionKey
	pid     processes.Identity
}

// drives reports whether the app owns the session, so that the chat's own state
// is the evidence.
func (c *chat) drives() bool {
	return c.summary.Hand.State != model.HandMirror && c.summary.Hand.State != model.HandUnclear
}

// live reports whether the chat belongs into the list even when no source names
// its session: it works, waits, or its agent's process lives.
func (c *chat) live() bool {
	return c.summary.State != model.SessionIdle && c.summary.State != "" || c.pid.Pid != 0 || c.summary.Waiting > 0 || c.summary.Unread
}

// chatKey is the key of a chat's session, or of a chat without one. An agent that
// the settings made of a built-in one writes sessions of that one.
func chatKey(c model.ChatSummary) model.SessionKey {
	if c.Handle != nil && c.Handle.NativeID != "" {
		return model.SessionKey{Harness: cmp.Or(c.Handle.Harness, c.Harness), ID: c.Handle.NativeID}
	}
	return model.SessionKey{Harness: c.Harness, ID: "chat:" + c.ID}
}

// SetChat tells the state of a chat of ours and the pid of its agent (0: none).
// The chat and the session that sources report under its native id are one row;
// rows of the agent's process under another id are hidden.
func (r *Registry) SetChat(c model.ChatSummary, pid int) {
	id := processes.Identity{}
	if pid > 0 {
		id, _ = processes.Identify(pid) // gone already: none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if !id.IsZero() {
		r.remember(id)
	}
	key := chatKey(c)
	now := &chat{summary: c, key: key, pid: id}
	old := r.chats[c.ID]
	r.chats[c.ID] = now
	if old != nil && old.key != key {
		r.leaveChat(old, c.ID)
	}
	x := r.rows[key]
	if x == nil {
		if !now.live() || c.Archived {
			r.hideOwn()
			return
		}
		x = r.add(key)
	}
	if x.chat == nil || x.chat.summary.ID == c.ID || x.chat.summary.UpdatedAt <= c.UpdatedAt {
		x.chat = now
	}
	if x.chat == now && now.drives() && now.live() {
		r.revive(x) // what its last process left is past
	}
	if len(c.Aliases) > len(x.aliases) {
		x.aliases = c.Aliases
	}
	if x.cwd == "" && c.Cwd != "" {
		r.enterFolder(x, c.Cwd)
	}
	r.hideOwn()
	if !now.live() && len(x.reports) == 0 && !x.process && x.final == nil {
		r.drop(x)
		return
	}
	r.refresh(x)
}

// RemoveChat forgets a chat.
func (r *Registry) RemoveChat(chatID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.chats[chatID]; c != nil {
		delete(r.chats, chatID)
		r.leaveChat(c, chatID)
		r.hideOwn()
	}
}

func (r *Registry) leaveChat(c *chat, chatID string) {
	if x := r.rows[c.key]; x != nil && x.chat != nil && x.chat.summary.ID == chatID {
		x.chat = nil
		r.settle(x)
	}
}

// hideOwn marks the rows whose process is a chat's agent. Called with mu held.
func (r *Registry) hideOwn() {
	for _, x := range r.rows {
		own := !x.proc.IsZero() && x.proc.Start != 0 && r.isOurs(x.proc)
		if own != x.own {
			x.own = own
			r.refresh(x)
		}
	}
}

// remember notes an agent of ours. It stays ours after its chat let it go: its
// end is not the end of somebody's session.
func (r *Registry) remember(id processes.Identity) {
	if len(r.own) >= 256 {
		for old := range r.own {
			if !old.Alive() {
				delete(r.own, old)
			}
		}
	}
	r.own[id] = true
}

func (r *Registry) isOurs(id processes.Identity) bool { return r.own[id] || r.o.Ours(id) }
