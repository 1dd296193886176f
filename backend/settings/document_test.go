package settings

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// Any text is either refused or, after a change, still has everything else.
func FuzzDocumentSet(f *testing.F) {
	for _, s := range []string{"{}", handWritten, "{\"general\":{\"zoom\":1}}", "// x\n{/*y*/}", "{\"a\":[{},],}", "\xef\xbb\xbf{\r\n}\r\n", "{\"general\":3}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parse(text)
		if err != nil {
			return
		}
		before, err := d.plain()
		if err != nil {
			return
		}
		if err := d.set([]string{"general", "zoom"}, json.RawMessage("110")); err != nil {
			return
		}
		again, err := parse(d.bytes())
		if err != nil {
			t.Fatalf("%q became %q: %v", text, d.bytes(), err)
		}
		after, err := again.plain()
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range before {
			a, _ := json.Marshal(v)
			b, _ := json.Marshal(after[k])
			if k != "general" && string(a) != string(b) {
				t.Fatalf("%q changed from %s to %s", k, a, b)
			}
		}
		if len(again.duplicates()) == 0 && after["general"].(map[string]any)["zoom"] != json.Number("110") {
			t.Fatalf("%q does not have the value", d.bytes())
		}
	})
}

// A value that is set and removed leaves the bytes as they were, where its
// object was there before.
func TestSetAndRemoveIsByteEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]string{handWritten, "{\n  \"general\": {\n    \"zoom\": 90\n  }\n}\n", "{\n\t\"general\": {\n\t\t\"zoom\": 90, // c\n\t},\n}\n"}).Draw(t, "base")
		name := rapid.SampledFrom([]string{"density", "language", "fontSize", "with/slash", "~"}).Draw(t, "name")
		d, err := parse([]byte(base))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.set([]string{"general", name}, json.RawMessage(`{"a":[1,{}]}`)); err != nil {
			t.Fatal(err)
		}
		if err := d.set([]string{"general", name}, nil); err != nil {
			t.Fatal(err)
		}
		if got := string(d.bytes()); got != base {
			t.Fatalf("%q became %q", base, got)
		}
	})
}
