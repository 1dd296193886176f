package host

import (
	"context"
	"encoding/json"
	"os"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/settings"
)

func pid() int { return os.Getpid() }

// bind gives every method of the API its handler.
func (h *Host) bind() {
	h.bindHost()
	h.bindChats()
	h.bindApprovals()
	h.bindTerminals()
	h.bindSettings()
	h.bindSessions()
	h.bindHandoff()
	h.bindComposer()
}

func (h *Host) bindHost() {
	s := h.server
	api.Handle(s, "host.hello", func(_ context.Context, _ *api.Caller, _ api.Hello) (api.HelloResult, error) {
		return api.HelloResult{Host: h.info()}, nil
	})
	api.Handle(s, "host.info", func(context.Context, *api.Caller, api.None) (api.HelloResult, error) {
		return api.HelloResult{Host: h.info()}, nil
	})
	api.Handle(s, "host.goodbye", h.goodbye)
	api.Handle(s, "host.raise", func(_ context.Context, _ *api.Caller, r api.Raise) (api.RaiseResult, error) {
		h.hub.Publish(api.TopicHost, api.EventRaise, r)
		return api.RaiseResult{Windows: h.windows.count()}, nil
	})
	api.Handle(s, "host.looks", func(_ context.Context, c *api.Caller, r api.WindowLook) (api.None, error) {
		h.notices.looks(c, r)
		return api.None{}, nil
	})
	api.Handle(s, "attention.set", func(ctx context.Context, c *api.Caller, r api.AttentionSet) (api.None, error) {
		if err := h.person(c, "mute what asks for attention"); err != nil {
			return api.None{}, err
		}
		return api.None{}, h.attention.set(ctx, r)
	})
	api.HandleConcurrent(s, "host.doctor", func(ctx context.Context, _ *api.Caller, _ api.None) (api.DoctorResult, error) {
		return api.DoctorResult{Checks: h.doctor(ctx)}, nil
	})
	api.HandleConcurrent(s, "harnesses.list", func(ctx context.Context, _ *api.Caller, r api.HarnessList) (api.Harnesses, error) {
		if r.Look {
			h.harnesses.look(ctx)
		}
		return api.Harnesses{Harnesses: h.harnesses.all()}, nil
	})
	api.HandleConcurrent(s, "harnesses.setEnabled", func(_ context.Context, c *api.Caller, r api.HarnessSwitch) (api.Harnesses, error) {
		if err := h.person(c, "switch agents on and off"); err != nil {
			return api.Harnesses{}, err
		}
		if _, _, ok := h.harnesses.Harness(r.Harness); !ok {
			return api.Harnesses{}, notFound("There is no agent %q.", r.Harness)
		}
		if _, err := h.settings.Set("harnesses."+r.Harness+".enabled", json.RawMessage(boolText(r.Enabled))); err != nil {
			return api.Harnesses{}, err
		}
		if r.Enabled {
			// A person did this, here and now; the settings alone start nothing.
			h.wg.Go(func() { h.harnesses.look(h.ctx) })
		}
		return api.Harnesses{Harnesses: h.harnesses.all()}, nil
	})
	api.HandleConcurrent(s, "harnesses.refresh", func(ctx context.Context, _ *api.Caller, r api.HarnessRefresh) (api.Harnesses, error) {
		err := h.harnesses.refreshed(ctx, r.Harness)
		return api.Harnesses{Harnesses: h.harnesses.all()}, err
	})
	api.HandleConcurrent(s, "catalog.get", func(ctx context.Context, _ *api.Caller, r api.CatalogRequest) (api.CatalogResult, error) {
		return h.harnesses.offer(ctx, r)
	})
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// goodbye ends the caller's lease, or tells what still runs when the host was
// to be quit without force.
func (h *Host) goodbye(_ context.Context, c *api.Caller, r api.Goodbye) (api.GoodbyeResult, error) {
	res := api.GoodbyeResult{RunningTurns: h.chats.RunningTurns(), Terminals: h.terminals.BusyCount()}
	if r.QuitHost && !r.Force && res.RunningTurns+res.Terminals > 0 {
		return res, nil
	}
	h.windows.goodbye(c)
	if h.leases.goodbye(c) || r.QuitHost {
		res.Ending = true
		c.Afterwards(h.end)
	}
	return res, nil
}

// person refuses a caller that is not proved to be one (DECISIONS 13). Beside
// answers it guards what would make answering needless: settings, the mode a
// chat begins in, and typing into a terminal of ours, where everything that
// runs counts as a person's.
func (h *Host) person(c *api.Caller, what string) error {
	if _, err := h.people.who(c.Pid); err != nil {
		h.log.Warn("refused to a caller that is no person", "what", what, "pid", c.Pid, "err", err)
		return &api.Error{
			Code:    api.CodeNotAllowed,
			Message: "Only a person may " + what + ": " + err.Error() + ". Do it in the window, or in a terminal in which no agent runs the command.",
		}
	}
	return nil
}

// caller is who asks, as the chats know it. Where is set for a person.
func (h *Host) caller(c *api.Caller) chats.Caller {
	who := chats.Caller{Pid: c.Pid, By: c.Client()}
	if where, err := h.people.who(c.Pid); err == nil {
		who.Where = where
	} else {
		who.Where = err.Error()
	}
	return who
}

func (h *Host) bindChats() {
	s := h.server
	api.Handle(s, "chats.list", func(_ context.Context, _ *api.Caller, r api.Listing) (api.Chats, error) {
		list, next, total, err := page(h.chats.List(), r, chatID, chatMatches)
		return api.Chats{Chats: list, Next: next, Total: total}, err
	})
	api.HandleConcurrent(s, "chats.create", func(ctx context.Context, c *api.Caller, r api.CreateChat) (api.ChatResult, error) {
		if r.Mode != "" || len(r.Features) > 0 || len(r.Options) > 0 {
			if err := h.person(c, "choose the mode or the options of a chat"); err != nil {
				return api.ChatResult{}, err
			}
		}
		sum, err := h.chats.Create(ctx, chats.CreateRequest{
			ClientID: r.ClientID, Harness: r.Harness, Kind: r.Kind, Cwd: r.Cwd, Title: r.Title, Model: r.Model,
			Mode: r.Mode, Thinking: r.Thinking, Features: r.Features, Options: r.Options, Adopt: r.Adopt,
		})
		if err == nil && r.Prompt != "" {
			_, err = h.chats.Send(ctx, chats.SendRequest{ChatID: sum.ID, ClientID: r.ClientID + "-prompt", Text: r.Prompt})
			if now, ok := h.chats.Summary(sum.ID); ok {
				sum = now
			}
		}
		return api.ChatResult{Chat: sum}, err
	})
	api.Handle(s, "chats.rows", func(ctx context.Context, _ *api.Caller, r api.RowsRequest) (api.RowsResult, error) {
		rows, total, err := h.chats.Rows(ctx, r.ChatID, r.Before, r.After, r.Limit)
		return api.RowsResult{Rows: orEmpty(rows), Total: total}, err
	})
	api.Handle(s, "chats.content", func(ctx context.Context, _ *api.Caller, r api.ContentRequest) (api.ContentResult, error) {
		text, next, size, err := h.chats.Content(ctx, r.ChatID, r.ItemID, r.Field, r.Offset)
		return api.ContentResult{Text: text, Next: next, Size: size}, err
	})
	api.Handle(s, "chats.send", func(ctx context.Context, _ *api.Caller, r api.SendPrompt) (api.SendResult, error) {
		list, err := h.composer.keep(r.ChatID, r.Attachments)
		if err != nil {
			return api.SendResult{}, err
		}
		sent, err := h.chats.Send(ctx, chats.SendRequest{
			ChatID: r.ChatID, ClientID: r.ClientID, Text: r.Text, Attachments: list, How: r.How,
		})
		return api.SendResult{State: sent.State, Turn: sent.Turn, Note: sent.Note}, err
	})
	api.HandleConcurrent(s, "chats.stop", func(ctx context.Context, _ *api.Caller, r api.ChatRef) (api.StopResult, error) {
		st, err := h.chats.StopTurn(ctx, r.ChatID)
		return api.StopResult{Turn: st.Turn, Error: st.Err}, err
	})
	api.HandleConcurrent(s, "chats.restartServer", func(ctx context.Context, c *api.Caller, r api.ChatRef) (api.StopResult, error) {
		st, err := h.chats.RestartServer(ctx, h.caller(c), r.ChatID)
		return api.StopResult{Turn: st.Turn, Error: st.Err}, err
	})
	api.HandleConcurrent(s, "chats.set", func(ctx context.Context, c *api.Caller, r api.ChatSetting) (api.SettingResult, error) {
		sum, notice, err := h.chats.Set(ctx, h.caller(c), r.ChatID, r.Name, r.Value)
		if r.Name == "archived" {
			h.retention.tell()
		}
		return api.SettingResult{Chat: sum, Notice: notice}, err
	})
	api.Handle(s, "chats.queue", func(ctx context.Context, _ *api.Caller, r api.QueueEdit) (api.QueueResult, error) {
		list, err := h.chats.EditQueue(ctx, chats.QueueEdit(r))
		return api.QueueResult{Queue: orEmpty(list)}, err
	})
	api.HandleConcurrent(s, "chats.rewind", func(ctx context.Context, _ *api.Caller, r api.RewindRequest) (api.None, error) {
		return api.None{}, h.chats.Rewind(ctx, r.ChatID, r.ItemID, r.What)
	})
	h.bindAgentOfChat()
	api.HandleConcurrent(s, "chats.fork", func(ctx context.Context, _ *api.Caller, r api.ChatRef) (api.ChatResult, error) {
		sum, err := h.chats.Fork(ctx, r.ChatID)
		return api.ChatResult{Chat: sum}, err
	})
	chatCall := func(name string, f func(context.Context, string) error) {
		api.HandleConcurrent(s, name, func(ctx context.Context, _ *api.Caller, r api.ChatRef) (api.None, error) {
			return api.None{}, f(ctx, r.ChatID)
		})
	}
	chatCall("chats.close", h.chats.CloseChat)
	api.HandleConcurrent(s, "chats.remove", func(ctx context.Context, c *api.Caller, r api.ChatRef) (api.None, error) {
		if err := h.person(c, "remove a chat"); err != nil {
			return api.None{}, err
		}
		return api.None{}, h.chats.Remove(ctx, r.ChatID)
	})
	chatCall("chats.seen", h.chats.Seen)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (h *Host) bindApprovals() {
	s := h.server
	api.HandleConcurrent(s, "chats.cards", func(ctx context.Context, _ *api.Caller, r api.CardsRequest) (api.CardsResult, error) {
		list, more, err := h.chats.Past(ctx, r.ChatID, r.Before, r.Limit)
		out := fit(list)
		return api.CardsResult{Cards: out, More: more || len(out) < len(list)}, err
	})
	api.Handle(s, "approvals.list", func(context.Context, *api.Caller, api.None) (api.Approvals, error) {
		return api.Approvals{Approvals: fit(h.chats.Approvals())}, nil
	})
	api.HandleConcurrent(s, "approvals.answer", func(ctx context.Context, c *api.Caller, r api.AnswerApproval) (api.AnswerResult, error) {
		chat, err := h.chatOf(r)
		if err != nil {
			return api.AnswerResult{}, err
		}
		won, card, err := h.chats.Answer(ctx, h.caller(c), chats.Answer{
			ChatID: chat, ApprovalID: r.ApprovalID, Revision: r.Revision, Answer: r.Answer, Remember: r.Remember,
		})
		return api.AnswerResult{Won: won, Card: card}, err
	})
	rules := func() api.Rules { return api.Rules{Rules: orEmpty(h.chats.Rules())} }
	api.Handle(s, "approvals.rules", func(context.Context, *api.Caller, api.None) (api.Rules, error) { return rules(), nil })
	api.Handle(s, "approvals.revokeRule", func(ctx context.Context, c *api.Caller, r api.RuleRef) (api.Rules, error) {
		err := h.chats.RevokeRule(ctx, h.caller(c), r.ID)
		return rules(), err
	})
	api.Handle(s, "approvals.audit", func(ctx context.Context, _ *api.Caller, r api.AuditRequest) (api.Audit, error) {
		list, next, err := h.chats.Audit(ctx, r.Cursor, r.Limit)
		if n := len(fit(list)); err == nil && n < len(list) {
			list, next, err = h.chats.Audit(ctx, r.Cursor, max(n, 1))
		}
		return api.Audit{Entries: fit(list), Next: next}, err
	})
	api.HandleConcurrent(s, "trust.check", func(ctx context.Context, _ *api.Caller, r api.TrustCheck) (model.TrustQuestion, error) {
		return h.chats.TrustCheck(ctx, r.Harness, r.Cwd)
	})
	api.HandleConcurrent(s, "trust.grant", func(ctx context.Context, c *api.Caller, r api.TrustGrant) (model.TrustQuestion, error) {
		return h.chats.TrustGrant(ctx, h.caller(c), r.Cwd, r.State)
	})
}

// chatOf finds the chat of an approval that was named alone.
func (h *Host) chatOf(r api.AnswerApproval) (string, error) {
	if r.ChatID != "" {
		return r.ChatID, nil
	}
	found := ""
	for _, card := range h.chats.Approvals() {
		if card.ID == r.ApprovalID {
			if found != "" {
				return "", &api.Error{Code: api.CodeConflict, Message: "Several chats have an approval " + r.ApprovalID + ": name the chat.", Fix: "whippletree approvals"}
			}
			found = card.ChatID
		}
	}
	if found == "" {
		return "", &api.Error{Code: api.CodeNotFound, Message: "No approval " + r.ApprovalID + " is open.", Fix: "whippletree approvals"}
	}
	return found, nil
}

func (h *Host) bindSettings() {
	s := h.server
	api.Handle(s, "settings.get", func(context.Context, *api.Caller, api.None) (api.SettingsResult, error) {
		return api.SettingsResult{Settings: h.settings.Get()}, nil
	})
	api.HandleConcurrent(s, "settings.set", func(_ context.Context, c *api.Caller, r api.SetSettings) (api.SettingsResult, error) {
		if err := h.person(c, "change settings"); err != nil {
			return api.SettingsResult{}, err
		}
		got, err := h.settings.Set(r.Path, r.Value)
		return api.SettingsResult{Settings: got}, err
	})
	api.Handle(s, "settings.schema", func(context.Context, *api.Caller, api.None) (api.SchemaResult, error) {
		return api.SchemaResult{Schema: settings.Schema()}, nil
	})
	api.Handle(s, "uistate.get", func(ctx context.Context, _ *api.Caller, r api.UIStateGet) (api.UIState, error) {
		v, err := h.store.UIState(ctx, r.Key)
		return api.UIState{Key: r.Key, Value: v}, err
	})
	api.Handle(s, "uistate.set", func(ctx context.Context, _ *api.Caller, r api.UIState) (api.None, error) {
		return api.None{}, h.store.SetUIState(ctx, r.Key, r.Value)
	})
	api.HandleConcurrent(s, "files.open", func(ctx context.Context, c *api.Caller, r api.OpenFile) (api.OpenFileResult, error) {
		if err := h.person(c, "open a file in the editor"); err != nil {
			return api.OpenFileResult{}, err
		}
		return h.openFile(ctx, r)
	})
}
