//go:build window && linux

package window

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// The main job with the real mouse and the real keyboard: ask, approve, read,
// continue in a terminal, type there, take it back. One conversation, no line
// lost.
func TestRehearsalWithMouseAndKeys(t *testing.T) {
	a := start(t)
	a.click("Try Rehearsal", button("Try Rehearsal"))
	composer := `document.querySelector('[data-region="dock"] textarea')`
	a.until("a chat is open", composer+` && !`+composer+`.disabled`)
	a.shot("rehearsal-1-chat")
	chat := a.onlyChat()

	// Its first turn shows a plan, edits a file and runs a command: it asks twice.
	a.until("the approval card is there and armed", `document.querySelector('[data-approval][data-armed=true]')`)
	a.shot("rehearsal-2-approval")
	a.click("the first option", `document.querySelector('[data-approval] .opt')`)
	// The second one by keyboard: the answer key, then the option's number.
	a.until("the next card is armed", `document.querySelector('[data-approval][data-armed=true]')`)
	a.shot("rehearsal-3-approval-2")
	a.answerRest(chat.ID)
	a.shot("rehearsal-4-answered")

	// A plain question by keyboard alone.
	a.click("the composer", composer)
	a.typeText("first words from the window")
	a.key("Return")
	a.sees("first words from the window")
	a.idle(chat.ID)

	// Continue in a terminal tab.
	a.key("ctrl+shift+o")
	a.sees("Continue this chat in a terminal?")
	a.shot("rehearsal-5-continue")
	a.click("Continue in terminal", `[...document.querySelectorAll('dialog button.primary, [role=dialog] button.primary')].find(b => b.innerText.includes('Continue in terminal') && !b.disabled)`)
	a.until("the banner says who writes", `document.querySelector('[data-owner=mirror]')`)
	a.until("the terminal shows the conversation", `[...document.querySelectorAll('.xterm-rows > div')].some(r => r.textContent.includes('Continuing'))`)
	a.shot("rehearsal-6-terminal")
	a.click("the terminal", `document.querySelector('.xterm-screen')`)
	a.typeText("hello from the terminal")
	a.key("Return")
	a.until("the mirror shows what was typed in the terminal",
		`[...document.querySelectorAll('[data-region=timeline]')].some(e => e.innerText.includes('hello from the terminal'))`)
	a.shot("rehearsal-7-mirror")

	// Leave the program: the app takes the conversation back at its tip.
	a.eventually(patience, "the terminal waits for input", func() bool { return a.terminalIdle() })
	a.typeText("/exit")
	a.key("Return")
	a.until("the banner is gone", `!document.querySelector('[data-owner=mirror], [data-owner=reattaching]')`)
	a.click("the composer", composer)
	a.typeText("and back in the window")
	a.key("Return")
	a.until("the page shows it in the timeline",
		`[...document.querySelectorAll('[data-region=timeline]')].some(e => e.innerText.includes('and back in the window'))`)
	a.idle(chat.ID)
	a.shot("rehearsal-8-back")

	rows := a.rows(chat.ID)
	var said []string
	for _, r := range rows {
		if r.Type == "user" {
			said = append(said, r.Text)
		}
	}
	want := []string{"Make a plan, edit a file and run a command", "first words from the window", "hello from the terminal", "and back in the window"}
	if got := strings.Join(said, "|"); !strings.HasSuffix(got, strings.Join(want, "|")) {
		t.Errorf("one conversation: %q, want %q", said, want)
	}
	if n := len(a.transcripts()); n != 1 {
		t.Errorf("%d session files, want one branch in one file", n)
	}
}

// answerRest answers every card with its first option by the keyboard until the
// turn has ended.
func (a *app) answerRest(chat string) {
	a.t.Helper()
	client := a.client()
	answered := ""
	a.eventually(90*time.Second, "the turn ends", func() bool {
		var card string
		if a.page.Eval(`document.querySelector('[data-approval][data-armed=true]')?.dataset.approval ?? ''`, &card) == nil && card != "" && card != answered {
			a.key("ctrl+shift+a", "1")
			answered = card
		}
		return turnIdle(client, chat)
	})
}

func turnIdle(client *api.Client, chat string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := api.Call[api.Chats](ctx, client, "chats.list", api.None{})
	if err != nil {
		return false
	}
	for _, c := range list.Chats {
		if c.ID == chat {
			return c.Turn == "idle" && c.Queued == 0
		}
	}
	return false
}

// onlyChatSoon waits for the first chat and returns its id.
func (a *app) onlyChatSoon() string {
	a.t.Helper()
	a.until("a chat is open", `document.querySelector('[data-region="dock"] textarea')`)
	return a.onlyChat().ID
}

func (a *app) onlyChat() model.ChatSummary {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := api.Call[api.Chats](ctx, a.client(), "chats.list", api.None{})
	if err != nil || len(list.Chats) != 1 {
		a.t.Fatalf("chats: %+v %v", list, err)
	}
	return list.Chats[0]
}

// idle waits until what was said last is answered and no turn of the chat runs.
func (a *app) idle(id string) {
	a.t.Helper()
	client := a.client()
	a.eventually(60*time.Second, "the turn ends", func() bool {
		rows := a.rowsBy(client, id)
		return len(rows) > 0 && rows[len(rows)-1].Type != "user" && turnIdle(client, id)
	})
}

// terminalIdle reports whether the program in the only terminal waits.
func (a *app) terminalIdle() bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := api.Call[api.Terminals](ctx, a.client(), "terminals.list", api.None{})
	if err != nil || len(list.Terminals) == 0 {
		return false
	}
	p := list.Terminals[len(list.Terminals)-1].Program
	return p != nil && (p.State == "idle" || p.State == "done")
}

func (a *app) rows(id string) []model.Row { return a.rowsBy(a.client(), id) }

func (a *app) rowsBy(client *api.Client, id string) []model.Row {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := api.Call[api.RowsResult](ctx, client, "chats.rows", api.RowsRequest{ChatID: id, Limit: 200})
	if err != nil {
		a.t.Fatal(err)
	}
	return r.Rows
}

// transcripts are the session files that the rehearsal kept in this home.
func (a *app) transcripts() []string {
	var all []string
	_ = filepath.WalkDir(a.home, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, ".jsonl") && filepath.Base(filepath.Dir(p)) == "transcripts" {
			all = append(all, p)
		}
		return nil
	})
	return all
}
