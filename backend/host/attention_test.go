package host

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/api"
)

// What is muted stays so over a restart; a snooze that is over is gone.
func TestMutedOverARestart(t *testing.T) {
	h := newTestHost(t)
	now := time.UnixMilli(1_800_000_000_000)
	h.o.Now = func() time.Time { return now }
	start := func() func() {
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := h.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	stop := start()
	set := func(target string, until int64) error {
		return h.attention.set(t.Context(), api.AttentionSet{Target: target, Until: until})
	}
	for _, bad := range []string{"", "chat", "chat:", "file:x"} {
		var e *api.Error
		if err := set(bad, 0); !errors.As(err, &e) || e.Code != api.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	hour := now.Add(time.Hour).UnixMilli()
	for target, until := range map[string]int64{"chat:1": 0, "project:/p": hour, "session:x/1": 0} {
		if err := set(target, until); err != nil {
			t.Fatal(err)
		}
	}
	if err := set("session:x/1", 1); err != nil {
		t.Fatal(err)
	}
	if !h.attention.covers("chat:2", "project:/p") || h.attention.covers("session:x/1", "project:/q") {
		t.Error(h.attention.Muted())
	}
	stop()

	o := h.o
	var err error
	if h, err = New(o); err != nil {
		t.Fatal(err)
	}
	stop = start()
	if d := cmp.Diff(map[string]int64{"chat:1": 0, "project:/p": hour}, h.attention.Muted()); d != "" {
		t.Error(d)
	}
	stop()

	o.Now = func() time.Time { return now.Add(2 * time.Hour) }
	if h, err = New(o); err != nil {
		t.Fatal(err)
	}
	stop = start()
	defer stop()
	if d := cmp.Diff(map[string]int64{"chat:1": 0}, h.attention.Muted()); d != "" {
		t.Error(d)
	}
	// One that ends soon ends by itself.
	h.o.Now = time.Now
	if err := set("chat:1", time.Now().Add(50*time.Millisecond).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); h.attention.covers("chat:1"); {
		if time.Now().After(end) {
			t.Fatal("the snooze did not end")
		}
		<-time.After(10 * time.Millisecond)
	}
}
