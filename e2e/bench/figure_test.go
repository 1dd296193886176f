//go:build linux

package main

import (
	"errors"
	"testing"
)

func TestQuantile(t *testing.T) {
	if got := median([]float64{5, 1, 3}); got != 3 {
		t.Error(got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Error(got)
	}
	if got := quantile([]float64{1, 2, 3, 4, 5}, 1); got != 5 {
		t.Error(got)
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Error(got)
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		f    Figure
		want string
	}{
		{Figure{Floor: []float64{100}, Ours: []float64{120}, Target: atMostTimes(1.3)}, "reached"},
		{Figure{Floor: []float64{100}, Ours: []float64{140}, Target: atMostTimes(1.3)}, "MISSED"},
		{Figure{Floor: []float64{10}, Ours: []float64{6}, Target: atLeastTimes(0.7)}, "MISSED"},
		{Figure{Ours: []float64{0.05}, Target: atMost(0.1, "/s")}, "reached"},
		{Figure{Ours: []float64{1}, Target: atMost(0.1, "/s")}, "MISSED"},
		{Figure{Floor: []float64{10}, Ours: []float64{49}, Target: atMostMore(40, "MB")}, "reached"},
		{Figure{Err: errors.New("x"), Target: atMost(1, "")}, "not measured"},
	} {
		if got := tt.f.Verdict(); got != tt.want {
			t.Errorf("%+v: %s", tt.f, got)
		}
	}
}
