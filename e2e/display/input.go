//go:build linux

package display

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Window is a top-level window of the display.
type Window struct {
	session *Session
	id      string
}

// FindWindow waits for a visible window of the process pid.
func (s *Session) FindWindow(pid int, within time.Duration) (*Window, error) {
	deadline := time.Now().Add(within)
	var last error
	for time.Now().Before(deadline) {
		out, err := s.tool("xdotool", "search", "--onlyvisible", "--pid", strconv.Itoa(pid))
		for id := range strings.FieldsSeq(out) {
			w := &Window{s, id}
			// GTK makes small helper windows as well.
			if _, _, width, _, err := w.Geometry(); err == nil && width > 100 {
				return w, nil
			}
		}
		last = err
		time.Sleep(20 * time.Millisecond)
	}
	return nil, fmt.Errorf("no window of process %d within %v: %v", pid, within, last)
}

// Geometry is the window's client area on the screen.
func (w *Window) Geometry() (x, y, width, height int, err error) {
	out, err := w.session.tool("xdotool", "getwindowgeometry", "--shell", w.id)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	for line := range strings.Lines(out) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		n, _ := strconv.Atoi(v)
		switch k {
		case "X":
			x = n
		case "Y":
			y = n
		case "WIDTH":
			width = n
		case "HEIGHT":
			height = n
		}
	}
	return x, y, width, height, nil
}

// Focus gives the window the keyboard.
func (w *Window) Focus() error {
	_, err := w.session.tool("xdotool", "windowactivate", "--sync", w.id)
	return err
}

// Resize sets the size of the client area.
func (w *Window) Resize(width, height int) error {
	_, err := w.session.tool("xdotool", "windowsize", "--sync", w.id, strconv.Itoa(width), strconv.Itoa(height))
	return err
}

// Click presses the left button at a point of the client area.
func (w *Window) Click(x, y int) error {
	_, err := w.session.tool("xdotool", "mousemove", "--window", w.id, "--sync", strconv.Itoa(x), strconv.Itoa(y), "click", "1")
	return err
}

// CloseButton asks the window to close, as its title bar does.
func (w *Window) CloseButton() error {
	_, err := w.session.tool("wmctrl", "-i", "-c", w.id)
	return err
}

// Active reports whether the window has the keyboard.
func (w *Window) Active() bool {
	out, err := w.session.tool("xdotool", "getactivewindow")
	return err == nil && strings.TrimSpace(out) == w.id
}

// Minimise puts the window away.
func (w *Window) Minimise() error {
	_, err := w.session.tool("xdotool", "windowminimize", "--sync", w.id)
	return err
}

// Type types text with real key events.
func (s *Session) Type(text string) error {
	_, err := s.tool("xdotool", "type", "--delay", "8", "--", text)
	return err
}

// Key presses keys such as Return or ctrl+shift+n, one after the other.
func (s *Session) Key(keys ...string) error {
	_, err := s.tool("xdotool", append([]string{"key", "--delay", "20"}, keys...)...)
	return err
}

// Titles lists the titles of all windows.
func (s *Session) Titles() (string, error) { return s.tool("wmctrl", "-l") }
