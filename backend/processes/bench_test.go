package processes

import "testing"

// BenchmarkSnapshot is one read of the whole process table (case P08: 1,000
// processes in less than 150 ms).
func BenchmarkSnapshot(b *testing.B) {
	n := 0
	for b.Loop() {
		t, err := Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		n += t.Len()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/process")
}

// BenchmarkIdentify is what a check of one identity costs.
func BenchmarkIdentify(b *testing.B) {
	id, err := Identify(1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !id.Alive() {
			b.Fatal("gone")
		}
	}
}
