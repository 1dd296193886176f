package host

import (
	"path/filepath"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/attachments"
	"github.com/whippletree-app/whippletree/backend/files"
	"github.com/whippletree-app/whippletree/backend/git"
)

// composer is what stands behind the place where a person writes: files to
// mention, files to attach, and git for what was changed.
type composer struct {
	host  *Host
	git   git.Git
	files *files.Finder
	kept  *attachments.Store
}

func (h *Host) newComposer() (*composer, error) {
	kept, err := attachments.Open(filepath.Join(h.o.Home, "attachments"))
	if err != nil {
		return nil, err
	}
	g := git.Git{Env: h.env.get, Home: h.o.UserHome}
	return &composer{host: h, git: g, files: files.New(files.Options{Git: g}), kept: kept}, nil
}

func (c *composer) close() { c.files.Close() }

// keep puts what came as bytes into the store and leaves the rest: a prompt holds
// paths only.
func (c *composer) keep(chat string, list []agent.Attachment) ([]agent.Attachment, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if _, ok := c.host.chats.Summary(chat); !ok {
		return nil, notFound("There is no such chat.") // nothing is kept for nobody
	}
	out := make([]agent.Attachment, 0, len(list))
	for _, a := range list {
		switch {
		case len(a.Bytes) > 0:
			kept, err := c.kept.Keep(chat, attachments.New{Name: a.Name, Mime: a.Mime, Bytes: a.Bytes})
			if err != nil {
				return nil, err
			}
			a = kept
		case !c.kept.Has(chat, a):
			// A file of the person's, or one that another chat kept: looked at anew.
			kept, err := c.kept.Keep(chat, attachments.New{Name: a.Name, Mime: a.Mime, Path: a.Path})
			if err != nil {
				return nil, err
			}
			a = kept
		}
		out = append(out, a)
	}
	return out, nil
}

func (c *composer) removed(chat string) {
	if err := c.kept.Remove(chat); err != nil {
		c.host.log.Warn("the attachments of a removed chat are still there", "chat", chat, "err", err)
	}
}

// sweep removes what chats left that were removed while the host was killed.
func (c *composer) sweep() {
	err := c.kept.Sweep(func(chat string) bool {
		_, ok := c.host.chats.Summary(chat)
		return ok
	})
	if err != nil {
		c.host.log.Warn("attachments of removed chats", "err", err)
	}
}
