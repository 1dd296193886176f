package wire

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func idsOf(rs []Record) (out []string) {
	for _, r := range rs {
		out = append(out, r.ID)
	}
	return out
}

func TestThread(t *testing.T) {
	rec := func(id, parent string) Record { return Record{ID: id, Parent: parent} }
	for _, c := range []struct {
		name   string
		in     []Record
		thread []string
		leaves []string
	}{
		{"nothing", nil, nil, nil},
		{"a line", []Record{rec("1", ""), rec("2", "1"), rec("3", "2")}, []string{"1", "2", "3"}, nil},
		{"two writers", []Record{rec("1", ""), rec("a", "1"), rec("b", "1"), rec("a2", "a"), rec("b2", "b")}, []string{"1", "b", "b2"}, []string{"a2"}},
		{"a lost parent", []Record{rec("1", ""), rec("2", "lost")}, []string{"2"}, []string{"1"}},
		{"a circle", []Record{rec("1", "2"), rec("2", "1")}, []string{"1", "2"}, nil},
		{"its own parent", []Record{rec("1", "1")}, []string{"1"}, nil},
	} {
		thread, leaves := Thread(c.in)
		var ends []string
		for _, l := range leaves {
			ends = append(ends, l.ID)
		}
		if !slices.Equal(idsOf(thread), c.thread) || !slices.Equal(ends, c.leaves) {
			t.Errorf("%s: %v %v, want %v %v", c.name, idsOf(thread), ends, c.thread, c.leaves)
		}
	}
}

// TestThreadLosesNothing: every record is in the thread or in exactly one leaf.
func TestThreadLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		var all []Record
		for i := range n {
			r := Record{ID: fmt.Sprint(i)}
			if i > 0 {
				r.Parent = fmt.Sprint(rapid.IntRange(0, i-1).Draw(t, "parent"))
			}
			all = append(all, r)
		}
		thread, leaves := Thread(all)
		seen := map[string]int{}
		for _, r := range thread {
			seen[r.ID]++
		}
		for _, l := range leaves {
			for _, r := range l.Records {
				seen[r.ID]++
			}
		}
		for _, r := range all {
			if seen[r.ID] != 1 {
				t.Fatalf("record %s appears %d times", r.ID, seen[r.ID])
			}
		}
		if thread[len(thread)-1].ID != all[n-1].ID {
			t.Fatal("the thread does not end at the newest record")
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	for _, s := range []string{"", "{", "null", `{"id":"1","type":"block"}`, "\x00\x00{\"id\":\"1\",\"type\":\"turn\"}\x00", "\xef\xbb\xbf{}", `{"id":1}`, "a\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		rec, ok := ParseRecord(line)
		if ok && (rec.ID == "" || rec.Type == "") {
			t.Fatalf("%+v", rec)
		}
	})
}

// TestX06SessionIDs: an id that is no plain name is refused.
func TestCaseX06_SessionIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "6fd49b9a-b3ae-4c05-9e29-68118d003693": true, "": false, ".": false, "..": false,
		"a/b": false, "-x": false, "%2e%2e": false, "a\x00": false, "a.jsonl": false, "a\n": false,
	} {
		if ValidSession(id) != want {
			t.Errorf("ValidSession(%q) is %v", id, !want)
		}
	}
}
