package shell

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// WindowState is where a window stood. Sizes and positions are pixels of the
// window system; Placed is false until a position was saved once.
type WindowState struct {
	Width     int  `json:"width"`
	Height    int  `json:"height"`
	X         int  `json:"x"`
	Y         int  `json:"y"`
	Placed    bool `json:"placed"`
	Maximised bool `json:"maximised"`
	// Backend is the last known setting of the display backend: it is needed
	// before the host can be asked.
	Backend string `json:"backend,omitempty"`
}

// Sizes of a first and of a smallest window.
const (
	firstWidth, firstHeight = 1280, 820
	MinWidth, MinHeight     = 480, 360
	maxExtent               = 16384
)

// LoadWindowState reads the state of the window id below dir. A missing or
// broken file gives the state of a first start.
func LoadWindowState(dir, id string) WindowState {
	first := WindowState{Width: firstWidth, Height: firstHeight}
	b, err := os.ReadFile(windowFile(dir, id))
	if err != nil {
		return first
	}
	var s WindowState
	if json.Unmarshal(b, &s) != nil {
		return first
	}
	if s.Width < MinWidth || s.Height < MinHeight || s.Width > maxExtent || s.Height > maxExtent {
		s.Width, s.Height, s.Placed = firstWidth, firstHeight, false
	}
	if abs(s.X) > maxExtent || abs(s.Y) > maxExtent {
		s.Placed = false
	}
	return s
}

// SaveWindowState writes the state atomically, readable by its user only.
func SaveWindowState(dir, id string, s WindowState) error {
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return renameio.WriteFile(windowFile(dir, id), b, 0o600)
}

func windowFile(dir, id string) string {
	name := make([]rune, 0, len(id))
	for _, r := range id {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			name = append(name, r)
		} else {
			name = append(name, '_')
		}
	}
	return filepath.Join(dir, string(name)+".json")
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
