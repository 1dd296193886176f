//go:build window && linux

package window

import (
	"context"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/e2e/display"
)

// A request that nobody has before their eyes is told by the desktop; a click
// brings the window up at it; looking at it takes the next one back (case N01).
func TestNotificationLeadsToTheCard(t *testing.T) {
	service, err := display.ServeNotifications(screen.Bus())
	if err != nil {
		t.Fatal(err)
	}
	defer service.Stop()
	a := start(t)
	a.click("Try Rehearsal", button("Try Rehearsal"))
	chat := a.onlyChatSoon()
	a.until("its card is there and armed", `document.querySelector('[data-approval][data-armed=true]')`)
	a.answerRest(chat)
	if n := len(service.Shown); n != 0 {
		t.Fatalf("%d notifications about what was before the person's eyes: %+v", n, <-service.Shown)
	}

	a.key("ctrl+shift+comma")
	a.until("the settings are shown", `!document.querySelector('[data-region="dock"] textarea')`)
	// The other theme, in the real window too.
	a.click("Dark", button("Dark"))
	a.until("the page is dark", `matchMedia('all') && getComputedStyle(document.documentElement).colorScheme.includes('dark')`)
	a.shot("settings-dark")
	a.ask(chat)
	note := heard(a, service.Shown, "a notification")
	if note.Title != "Rehearsal waits for you" || note.App != "Whippletree" {
		t.Errorf("%+v", note)
	}
	if err := service.Say("ActionInvoked", note.ID, "default"); err != nil {
		t.Fatal(err)
	}
	a.until("the click shows the card", `document.querySelector('[data-approval][data-armed=true]')`)
	a.shot("notification-clicked")
	if id := heard(a, service.Closed, "what is seen is taken back"); id != note.ID {
		t.Errorf("closed %d, shown %d", id, note.ID)
	}
	a.answerRest(chat)
}

// ask sends the demo's prompt, as somebody at the command line would.
func (a *app) ask(chat string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := api.Call[api.SendResult](ctx, a.client(), "chats.send", api.SendPrompt{ChatID: chat, ClientID: "from-the-test", Text: "Make a plan, edit a file and run a command"}); err != nil {
		a.t.Fatal(err)
	}
}

func heard[T any](a *app, c <-chan T, what string) T {
	a.t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		_ = screen.Screenshot(outPath + "/failed-" + a.t.Name() + ".png")
		a.t.Fatal("nothing: " + what)
	}
	panic("unreachable")
}
