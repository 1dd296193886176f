package shell

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Case R06: blank window on Linux.
func TestR06WebKitEnv(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		d    Display
		want map[string]string
	}{
		{"no driver", nil, Display{}, map[string]string{}},
		{"nvidia, unset", nil, Display{Nvidia: true}, map[string]string{envDMABuf: "1"}},
		{"nvidia, explicit 0", map[string]string{envDMABuf: "0"}, Display{Nvidia: true}, map[string]string{}},
		{"nvidia, set to nothing", map[string]string{envDMABuf: ""}, Display{Nvidia: true}, map[string]string{}},
		{"nvidia, explicit 1", map[string]string{envDMABuf: "1"}, Display{Nvidia: true}, map[string]string{}},
		{"no driver, explicit 1", map[string]string{envDMABuf: "1"}, Display{}, map[string]string{}},
		{"--safe-gpu", map[string]string{envDMABuf: "0"}, Display{SafeGPU: true}, map[string]string{envDMABuf: "1", envCompositing: "1"}},
		{"x11 where there is one", map[string]string{"DISPLAY": ":0"}, Display{}, map[string]string{envGDK: "x11"}},
		{"wayland by setting", map[string]string{"DISPLAY": ":0"}, Display{Backend: "wayland"}, map[string]string{envGDK: "wayland"}},
		{"GDK_BACKEND of the person", map[string]string{"DISPLAY": ":0", envGDK: "wayland"}, Display{Backend: "x11"}, map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := WebKitEnv(func(k string) (string, bool) { v, ok := tt.env[k]; return v, ok }, tt.d)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
