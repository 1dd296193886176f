package agent

import (
	"testing"

	"pgregory.net/rapid"
)

// Whatever was attached to whatever text is read back; and any text is read
// without a fault.
func TestAttachedIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "\n", "\n\n", `"`, "<attached-text name=", "</attached-text>", "<attached-file name=\"x\" path=\"y\" />", "ж", " ", `\`})
		text := func(label string) string {
			s := ""
			for _, p := range rapid.SliceOfN(part, 0, 6).Draw(t, label) {
				s += p
			}
			return s
		}
		said := "x" + text("said") + "."
		if _, list := SplitAttached(said); list != nil {
			t.Skip("the person wrote the form itself")
		}
		var want []Attachment
		var parts []string
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			a := Attachment{Name: "n" + text("name")}
			if rapid.Bool().Draw(t, "file") {
				a.Kind, a.Path = "file", "/p"+text("path")
				parts = append(parts, AttachedFile(a))
			} else {
				body := text("body")
				a.Kind, a.Size = "text", int64(len(body))
				parts = append(parts, AttachedText(a, body))
			}
			want = append(want, a)
		}
		got, list := SplitAttached(JoinAttached(said, parts))
		if got != said || len(list) != len(want) {
			t.Fatalf("%q %+v, want %q %+v", got, list, said, want)
		}
		for i := range want {
			if list[i].Kind != want[i].Kind || list[i].Name != want[i].Name || list[i].Path != want[i].Path || list[i].Size != want[i].Size {
				t.Fatalf("%+v, want %+v", list[i], want[i])
			}
		}
	})
}

func FuzzSplitAttached(f *testing.F) {
	f.Add("a\n\n" + AttachedFile(Attachment{Name: "n", Path: "/p"}))
	f.Add(AttachedText(Attachment{Name: "n"}, "x"))
	f.Fuzz(func(t *testing.T, s string) { SplitAttached(s) })
}
