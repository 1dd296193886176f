package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// An agent that the settings make of a built-in one is found and started as they
// say, with the secrets of a file that only its owner can read.
func TestAChatOnAnAgentOfTheSettings(t *testing.T) {
	w := newWorld(t, "")
	wrapper, secret, seen := filepath.Join(w.work, "agent"), filepath.Join(w.work, "secret.env"), filepath.Join(w.work, "seen")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(wrapper, fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$KEY\" >>'%s'\nexec '%s' \"$@\"\n", seen, binary), 0o700)
	write(secret, "KEY=from-the-file\n", 0o600)
	write(filepath.Join(w.home, "settings.json"), fmt.Sprintf(`{"harnesses": {
		"rehearsal": {"args": ["--pace", "none"]},
		"mine": {"extends": "rehearsal", "label": "Mine", "binary": %q, "envFile": %q}
	}}`, wrapper, secret), 0o600)
	w.serve("--keep")
	c := w.client(api.ClientOptions{})

	list, err := api.Call[api.Harnesses](t.Context(), c, "harnesses.list", api.HarnessList{Look: true})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Harnesses, func(h model.Harness) bool { return h.Harness == "mine" })
	if i < 0 || list.Harnesses[i].DisplayName != "Mine" || list.Harnesses[i].Extends != "rehearsal" ||
		list.Harnesses[i].Availability == nil || list.Harnesses[i].Availability.Path != wrapper {
		t.Fatalf("%+v", list.Harnesses)
	}
	stored := *list.Harnesses[i].Availability.StoredSessions
	if r := w.cli("run", "--provider", "mine", "hello"); r.code != 0 || !strings.Contains(r.out, "I am **Rehearsal**") {
		t.Fatalf("%+v", r)
	}
	if got, err := os.ReadFile(seen); err != nil || string(got) != "from-the-file\n" {
		t.Fatalf("the agent saw %q %v", got, err)
	}

	// A probe uses the same start and leaves no session.
	for _, folder := range []string{"", w.work} {
		got, err := api.Call[api.CatalogResult](t.Context(), c, "catalog.get", api.CatalogRequest{Harness: "mine", Cwd: folder})
		if err != nil || got.Catalog == nil || len(got.Catalog.Models) == 0 {
			t.Fatalf("%+v %v", got, err)
		}
	}
	if got, err := os.ReadFile(seen); err != nil || strings.Count(string(got), "\n") != 3 {
		t.Errorf("the agent was started %q, not for one chat and two folders: %v", got, err)
	}
	list, err = api.Call[api.Harnesses](t.Context(), c, "harnesses.refresh", api.HarnessRefresh{Harness: "mine"})
	if err != nil || *list.Harnesses[i].Availability.StoredSessions != stored+1 {
		t.Errorf("%d sessions are stored after one chat and three probes, %d before: %v", *list.Harnesses[i].Availability.StoredSessions, stored, err)
	}

	// Its session is the built-in agent's, and there is one row of it.
	rows, err := api.Call[api.Sessions](t.Context(), c, "sessions.list", api.None{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows.Sessions {
		if row.Key.Harness == "mine" {
			t.Errorf("a session of its own: %+v", row.Key)
		}
	}

	// A file that others can read starts nothing, and says so.
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := w.cli("run", "--provider", "mine", "hello"); r.code == 0 || !strings.Contains(r.err+r.out, "chmod 600") {
		t.Errorf("with a secret that others can read: %+v", r)
	}
	chats, err := api.Call[api.Chats](t.Context(), c, "chats.list", api.None{})
	if err != nil || len(chats.Chats) != 2 || chats.Chats[1].Harness != "mine" || chats.Chats[1].Handle.Harness != "rehearsal" {
		t.Errorf("%+v %v", chats.Chats, err)
	}
}
