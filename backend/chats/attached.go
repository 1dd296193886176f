package chats

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Bounds of what goes with one prompt.
const (
	maxAttachments  = 20
	maxAttachedText = 256 << 10
)

// attachable says why a prompt's attachments cannot go with it.
func (c *chat) attachable(list []agent.Attachment) error {
	if len(list) > maxAttachments {
		return Fail(CodeInvalid, "%d files are too many for one message; at most %d go with it.", len(list), maxAttachments)
	}
	for _, a := range list {
		if c.rec.Kind == agent.KindConfined && a.Kind == "file" {
			return Fail(CodeInvalid, "%s cannot be attached: a confined chat sees no files of this computer, only texts and pictures.", a.Name)
		}
	}
	return nil
}

// promptOf returns what makes the agent's prompt of an entry. It reads files and
// runs beside the chat's goroutine. What the agent or its model does not take goes
// as a text: a file as a hint where it lies, an attached text whole.
func (c *chat) promptOf(e model.QueueEntry) func() (agent.Prompt, error) {
	image, file := c.takes("image", agent.AbilityImages), c.takes("file", agent.AbilityDocuments)
	return func() (agent.Prompt, error) {
		p := agent.Prompt{Text: e.Text, ClientID: e.ClientID}
		var parts []string
		for _, a := range e.Attachments {
			switch {
			case a.Kind == "text":
				text, err := readText(a)
				if err != nil {
					return p, err
				}
				parts = append(parts, agent.AttachedText(a, text))
			case a.Kind == "image" && image, a.Kind == "file" && file:
				p.Attachments = append(p.Attachments, a)
			case a.Path == "":
				return p, fmt.Errorf("%s cannot be given to this agent: it takes no %ss", a.Name, a.Kind)
			default:
				parts = append(parts, agent.AttachedFile(a))
			}
		}
		p.Text = agent.JoinAttached(p.Text, parts)
		return p, nil
	}
}

func readText(a agent.Attachment) (string, error) {
	if a.Path == "" {
		return string(a.Bytes), nil
	}
	f, err := os.OpenFile(a.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("%s is not there any more", a.Name)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxAttachedText+1))
	if err == nil && len(data) > maxAttachedText {
		err = fmt.Errorf("%s is too long to be sent as a text", a.Name)
	}
	return string(data), err
}

// takes tells whether the agent takes attachments of a kind, as it says of itself
// and of the model in use. A model that says nothing takes what the agent does.
func (c *chat) takes(kind string, ability agent.Ability) bool {
	if !ability.In(c.rec.Abilities) {
		return false
	}
	known := agent.Catalog{}
	if c.catalog != nil {
		known = *c.catalog
	} else if k, ok := c.m.o.Offers(c.rec.Harness, c.rec.Cwd); ok {
		known = k
	}
	for _, m := range known.Models {
		if m.ID == c.rec.Model || c.rec.Model == "" && m.Default {
			return len(m.Input) == 0 || slices.Contains(m.Input, kind)
		}
	}
	return true
}

// unattach shows a prompt that an agent repeats or stored as the person wrote it.
func unattach(it agent.Item) agent.Item {
	if it.Type != agent.ItemUser {
		return it
	}
	if said, list := agent.SplitAttached(it.Text); list != nil {
		it.Text, it.Attachments = said, append(slices.Clone(it.Attachments), list...)
	}
	return it
}
