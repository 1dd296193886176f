package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
)

// storedHarness is the built-in one whose sessions these tests write.
const storedHarness = "claude-code"

func writeTranscript(t *testing.T, home, cwd, id, prompt string) {
	t.Helper()
	dir := filepath.Join(home, ".claude", "projects", "-w-"+filepath.Base(cwd))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":%q,"cwd":%q,"message":{"role":"user","content":%q},"timestamp":"2026-01-01T10:00:00.000Z"}`+"\n", id, cwd, prompt)
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func runHost(t *testing.T, h *Host) (stop func()) {
	t.Helper()
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
}

func ask(t *testing.T, h *Host, r api.StoredRequest) api.StoredResult {
	t.Helper()
	r.Harness = storedHarness
	res, err := h.stored(t.Context(), nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The first list of all waits for something to show, later ones come from the
// index, also after a restart, and what changed on disk is there when it was
// waited for.
func TestStoredSessionsComeFromTheIndex(t *testing.T) {
	h := newTestHost(t)
	for i := range 5 {
		writeTranscript(t, h.o.UserHome, "/w/app", fmt.Sprintf("session-%d", i), fmt.Sprint("prompt ", i))
	}
	stop := runHost(t, h)
	if res := ask(t, h, api.StoredRequest{}); len(res.Sessions) != 5 {
		t.Errorf("the first list has %d sessions", len(res.Sessions))
	}
	stop()

	again, err := New(h.o)
	if err != nil {
		t.Fatal(err)
	}
	writeTranscript(t, h.o.UserHome, "/w/other", "session-9", "new")
	if err := os.Remove(filepath.Join(h.o.UserHome, ".claude", "projects", "-w-app", "session-0.jsonl")); err != nil {
		t.Fatal(err)
	}
	stop = runHost(t, again)
	defer stop()
	if res := ask(t, again, api.StoredRequest{}); len(res.Sessions) != 5 {
		t.Errorf("after a restart the index has %d sessions", len(res.Sessions))
	}
	res := ask(t, again, api.StoredRequest{Fresh: true})
	if len(res.Sessions) != 5 || res.Checking {
		t.Errorf("%d sessions, checking %v", len(res.Sessions), res.Checking)
	}
	if res := ask(t, again, api.StoredRequest{Cwd: "/w/other"}); len(res.Sessions) != 1 || res.Sessions[0].Title != "new" {
		t.Errorf("in the other folder: %+v", res.Sessions)
	}
	if res := ask(t, again, api.StoredRequest{Limit: 2}); len(res.Sessions) != 2 || res.Next == "" {
		t.Errorf("a page has %d, next %q", len(res.Sessions), res.Next)
	}
	folders, err := again.storedFolders(t.Context(), nil, api.StoredRequest{Fresh: true})
	if err != nil || len(folders.Folders) != 2 || folders.Folders[0].Project.Root == "" {
		t.Errorf("%+v %v", folders, err)
	}
	page, err := again.sessionRows(t.Context(), nil, api.SessionPageRequest{Handle: agent.Handle{Harness: storedHarness, NativeID: "session-9", Cwd: "/w/other"}})
	if err != nil || len(page.Items) != 1 || page.Items[0].Text != "new" || page.Before != nil {
		t.Errorf("%+v %v", page, err)
	}
}
