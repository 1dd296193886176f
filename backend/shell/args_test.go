package shell

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArgs(t *testing.T) {
	tests := []struct {
		argv []string
		want Args
		bad  bool
	}{
		{nil, Args{Window: "main"}, false},
		{[]string{"--in-process", "--safe-gpu"}, Args{Window: "main", InProcess: true, SafeGPU: true}, false},
		{[]string{"--window=chat/c1"}, Args{Window: "chat/c1"}, false},
		{[]string{"whippletree://chat/c1"}, Args{Window: "main", Open: "chat:c1"}, false},
		{[]string{"--window=settings"}, Args{}, true},
		{[]string{"--window=chat/../x"}, Args{}, true},
		{[]string{"https://x"}, Args{}, true},
		{[]string{"whippletree://chat/a", "whippletree://chat/b"}, Args{}, true},
		{[]string{"--nope"}, Args{}, true},
	}
	for _, tt := range tests {
		got, err := ParseArgs(tt.argv, io.Discard)
		if (err != nil) != tt.bad {
			t.Errorf("%q: %v", tt.argv, err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%q: %s", tt.argv, d)
		}
	}
}
