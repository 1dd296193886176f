package terminals

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkResponder is the cost of the scanner and the ring for output that
// scrolls, the floor for what a terminal can send.
func BenchmarkResponder(b *testing.B) {
	plain := bytes.Repeat([]byte("0123456789 the quick brown fox jumps over the lazy dog\r\n"), 600)
	drawn := bytes.Repeat([]byte("\x1b[12;30H\x1b[38;5;208m│ привет ─\x1b[m\x1b[?2026h\x1b[K\x1b[?2026l"), 600)
	for name, data := range map[string][]byte{"plain": plain, "drawn": drawn} {
		b.Run(name, func(b *testing.B) {
			r, _ := respond()
			var out []byte
			r.relay = func(p []byte) { out = append(out[:0], p...) }
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r.write(data)
			}
		})
	}
}

// BenchmarkTerminal is a program's output through the pseudo terminal to an
// attached window that acknowledges at once.
func BenchmarkTerminal(b *testing.B) {
	dir := b.TempDir()
	const size = 20 << 20
	if err := os.WriteFile(dir+"/data", bytes.Repeat([]byte("0123456789 the quick brown fox jumps over the lazy dog\n"), size/55), 0o600); err != nil {
		b.Fatal(err)
	}
	m := New(Options{Shell: "/bin/sh", Home: dir, Env: []string{"PATH=" + os.Getenv("PATH")}})
	defer m.Stop(b.Context())
	b.SetBytes(size)
	for b.Loop() {
		done := make(chan struct{})
		info, err := m.Create(b.Context(), CreateSpec{Argv: []string{"sh", "-c", "read x; cat " + dir + "/data; echo END"}})
		if err != nil {
			b.Fatal(err)
		}
		var total uint64
		var a *Attachment
		ready := make(chan struct{})
		a, _, err = m.Attach(info.ID, 80, 24, true, func(k Frame, p []byte) {
			total += uint64(len(p))
			if k == Output {
				<-ready
				a.Ack(total)
				if bytes.Contains(p, []byte("END")) {
					close(done)
				}
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		close(ready)
		if err := a.Input([]byte("\r")); err != nil {
			b.Fatal(err)
		}
		<-done
		if err := m.Close(b.Context(), info.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIdle reports the context switches a second of this process with 20
// attached terminals in which nothing happens.
func BenchmarkIdle(b *testing.B) {
	m := New(Options{Shell: "/bin/sh", Home: b.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}})
	defer m.Stop(b.Context())
	for range 20 {
		info, err := m.Create(b.Context(), CreateSpec{})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := m.Attach(info.ID, 80, 24, true, func(Frame, []byte) {}); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(2 * time.Second) // the shells start, the one-shots end
	const watch = 5 * time.Second
	for b.Loop() {
		before := switches(b)
		time.Sleep(watch)
		b.ReportMetric(float64(switches(b)-before)/watch.Seconds(), "switches/s")
	}
}

func switches(b *testing.B) int {
	n := 0
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range tasks {
		s, err := os.ReadFile("/proc/self/task/" + t.Name() + "/status")
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(s), "\n") {
			if _, v, ok := strings.Cut(line, "ctxt_switches:"); ok {
				k, _ := strconv.Atoi(strings.TrimSpace(v))
				n += k
			}
		}
	}
	return n
}
