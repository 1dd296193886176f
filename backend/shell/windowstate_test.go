package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWindowState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "windows")
	first := WindowState{Width: firstWidth, Height: firstHeight}
	if d := cmp.Diff(first, LoadWindowState(dir, "main")); d != "" {
		t.Error("first start:", d)
	}
	want := WindowState{Width: 900, Height: 640, X: -10, Y: 20, Placed: true, Maximised: true, Backend: "x11"}
	if err := SaveWindowState(dir, "main", want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, LoadWindowState(dir, "main")); d != "" {
		t.Error("saved:", d)
	}
	if st, err := os.Stat(filepath.Join(dir, "main.json")); err != nil || st.Mode().Perm() != 0o600 {
		t.Error("mode", st.Mode(), err)
	}
	if err := SaveWindowState(dir, "chat/../../x", want); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "chat_______x.json")); err != nil {
		t.Error("an id is never a path:", err)
	}
	for _, broken := range []string{"", "{", `{"width":-1,"height":5}`, `{"width":99999999,"height":700}`} {
		if err := os.WriteFile(filepath.Join(dir, "main.json"), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(first, LoadWindowState(dir, "main")); d != "" {
			t.Errorf("%q: %s", broken, d)
		}
	}
}
