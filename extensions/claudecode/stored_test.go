package claudecode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

func file(h *agentkit.Host, cwd, id string) string {
	return filepath.Join(projectsDir(configDir(h, nil)), slug(cwd), id+".jsonl")
}

// pages lists all stored sessions of a folder in pages.
func pages(t *testing.T, imp agent.Importer, cwd string, limit int) (list []agent.StoredSession) {
	t.Helper()
	for cursor, n := "", 0; ; n++ {
		page, next, err := imp.Stored(t.Context(), cwd, cursor, limit)
		if err != nil || n > 100 || len(page) > limit {
			t.Fatal(err, n, len(page))
		}
		list = append(list, page...)
		if cursor = next; cursor == "" {
			return list
		}
	}
}

func titles(list []agent.StoredSession) string {
	var all []string
	for _, s := range list {
		all = append(all, s.Title)
	}
	return strings.Join(all, " | ")
}

func TestStoredSessionsArePaged(t *testing.T) {
	h := quietHost(t)
	for i := range 7 {
		id := fmt.Sprintf("S%d", i)
		list := []said{{"user", "u", "", "prompt " + id}, {"assistant", "a", "u", "x"}}
		for range i / 2 { // some share a time
			list = append(list, said{"assistant", "a", "u", "x"})
		}
		transcript(t, h, "/w/app", id, list...)
	}
	transcript(t, h, "/w/app", "N1", said{"leaf", "", "", "x"}) // nothing was said
	transcript(t, h, "/w/other", "S8", said{"user", "u", "", "elsewhere"})
	imp := New(h).Handover.(agent.Importer)
	var ids []string
	for _, s := range pages(t, imp, "/w/app", 3) {
		ids = append(ids, s.Handle.NativeID)
		if s.Title != "prompt "+s.Handle.NativeID || s.Model != "x" || s.UpdatedAt == 0 || s.Handle.Cwd != "/w/app" || s.LastTurn != "completed" || s.First != s.Title {
			t.Errorf("stored: %+v", s)
		}
	}
	if want := []string{"S6", "S5", "S4", "S3", "S2", "S1", "S0"}; !slices.Equal(ids, want) {
		t.Errorf("got %v, want %v", ids, want)
	}
	if all := pages(t, imp, "", 100); len(all) != 8 {
		t.Errorf("all: %d", len(all))
	}
	if _, _, err := imp.Stored(t.Context(), "", "nonsense", 1); err == nil {
		t.Error("took a cursor that is none")
	}
	folders, err := imp.(agent.StoredChecker).StoredFolders(t.Context())
	if err != nil || len(folders) != 2 || folders[0].Cwd != "/w/app" || folders[0].Sessions != 7 || folders[1].Sessions != 1 {
		t.Errorf("%+v %v", folders, err)
	}
}

// titleOf reads a session's title as the list shows it.
func titleOf(t *testing.T, h *agentkit.Host, id string) string {
	t.Helper()
	for _, s := range pages(t, New(h).Handover.(agent.Importer), "", 100) {
		if s.Handle.NativeID == id {
			return s.Title
		}
	}
	return ""
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTitleOrder(t *testing.T) {
	h := quietHost(t)
	transcript(t, h, "/w/app", "S1", said{"user", "u", "", "first words\nand more"}, said{"user", "u2", "u", "last words"})
	if got := titleOf(t, h, "S1"); got != "first words" {
		t.Error(got)
	}
	appendTo(t, file(h, "/w/app", "S1"), `{"type":"ai-title","aiTitle":"by the agent"}`+"\n")
	if got := titleOf(t, h, "S1"); got != "by the agent" {
		t.Error(got)
	}
	appendTo(t, file(h, "/w/app", "S1"), `{"type":"custom-title","customTitle":"by a person"}`+"\n"+`{"type":"ai-title","aiTitle":"by the agent again"}`+"\n")
	if got := titleOf(t, h, "S1"); got != "by a person" {
		t.Error(got)
	}
	for _, c := range []struct {
		f    facts
		name string
		made bool
		want string
	}{
		{facts{Title: "person", Named: "agent", First: "words"}, "chosen", true, "person"},
		{facts{Named: "agent", First: "words"}, "chosen", true, "agent"},
		{facts{First: "words"}, "chosen", true, "chosen"},
		{facts{First: "words"}, "derived-1", false, "words"},
		{facts{}, "derived-1", false, "derived-1"},
	} {
		if got := c.f.name(c.name, c.made); got != c.want {
			t.Errorf("%+v %q %v: %q", c.f, c.name, c.made, got)
		}
	}
}

// Several homes: the one of the environment, and those that a person's settings
// give the program. A handle leads back to its own.
func TestStoredSessionsOfSeveralHomes(t *testing.T) {
	h := quietHost(t)
	second := t.TempDir()
	launches := []agent.Launch{{Env: map[string]string{configDirEnv: second}}, {Env: map[string]string{"OTHER": "x"}}}
	h.Launches = func(string) []agent.Launch { return launches }
	transcript(t, h, "/w/app", "S1", said{"user", "u", "", "at home"})
	other := *h
	other.Env = func() []string { return []string{configDirEnv + "=" + second} }
	transcript(t, &other, "/w/app", "S2", said{"user", "u", "", "at work"})
	list := pages(t, New(h).Handover.(agent.Importer), "/w/app", 10)
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	for _, s := range list {
		home := configDir(h, s.Handle.Env)
		if _, ok := transcriptPath(home, s.Handle.NativeID, s.Handle.Cwd); !ok || (home == second) != (s.Title == "at work") {
			t.Errorf("%s is looked for in %s", s.Title, home)
		}
	}
	// A home that is not in the settings any more takes its sessions along.
	imp := New(h).Handover.(agent.Importer)
	pages(t, imp, "", 10)
	launches = nil
	if got := titles(pages(t, imp, "", 10)); got != "at home" {
		t.Error(got)
	}
}

// Case T17: a file that stands as the index knows it is not opened; one that grew
// is read on, one that was replaced is read anew, one that is gone is forgotten.
func TestCaseT17KnownFilesAreNotOpened(t *testing.T) {
	h := quietHost(t)
	h.Index = &agentkit.MemoryIndex{}
	for i := range 40 {
		transcript(t, h, "/w/app", fmt.Sprintf("S%02d", i), said{"user", "u", "", fmt.Sprint("session ", i)})
	}
	ho := New(h).Handover
	check := func() {
		t.Helper()
		if err := ho.(agent.StoredChecker).CheckStored(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []agent.StoredSession { return pages(t, ho.(agent.Importer), "", 100) }
	if n := len(list()); n != 0 { // nothing is read for a list alone
		t.Errorf("%d sessions without a look", n)
	}
	check()
	if n := len(list()); n != 40 {
		t.Fatalf("%d sessions", n)
	}
	opened := opens(t, filepath.Dir(file(h, "/w/app", "S00")))
	check()
	if n := len(list()); n != 40 {
		t.Fatalf("%d sessions", n)
	}
	if names := opened(); len(names) != 0 {
		t.Errorf("known files were opened: %v", names)
	}
	appendTo(t, file(h, "/w/app", "S03"), `{"type":"custom-title","customTitle":"grew"}`+"\n")
	path := file(h, "/w/app", "S04")
	if err := os.WriteFile(path+".new", []byte(c("u1", "null", "user", "replaced")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file(h, "/w/app", "S05")); err != nil {
		t.Fatal(err)
	}
	opened()
	check()
	got := strings.Join(strings.Fields(titles(list())), " ")
	if !strings.Contains(got, "grew") || !strings.Contains(got, "replaced") || strings.Contains(got, "session 3 ") || strings.Contains(got, "session 4 ") || strings.Contains(got, "session 5 ") {
		t.Errorf("titles: %s", got)
	}
}
