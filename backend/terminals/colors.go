package terminals

import (
	"fmt"
	"strconv"
	"strings"
)

// Colors are the theme's colours as #rrggbb, which colour queries get.
type Colors struct {
	Foreground string
	Background string
	Cursor     string
	Palette    []string // up to 256
}

// defaultColors answer until a window says what it shows.
var defaultColors = Colors{Foreground: "#e6e6e6", Background: "#101014", Cursor: "#e6e6e6"}

// ansiPalette are xterm's first sixteen colours.
var ansiPalette = [16]string{
	"#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
	"#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff",
}

// xcolor turns #rrggbb into the form that colour queries are answered with.
func xcolor(hex string) (string, bool) {
	h, ok := strings.CutPrefix(hex, "#")
	if !ok || len(h) != 6 {
		return "", false
	}
	if _, err := strconv.ParseUint(h, 16, 32); err != nil {
		return "", false
	}
	return fmt.Sprintf("rgb:%s%s/%s%s/%s%s", h[:2], h[:2], h[2:4], h[2:4], h[4:], h[4:]), true
}

// palette is the answer to OSC 4;n;?.
func (c Colors) palette(n int) (string, bool) {
	switch {
	case n < 0 || n > 255:
		return "", false
	case n < len(c.Palette):
		return xcolor(c.Palette[n])
	case n < 16:
		return xcolor(ansiPalette[n])
	case n < 232:
		n -= 16
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		return xcolor(fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6)))
	}
	g := 8 + 10*(n-232)
	return xcolor(fmt.Sprintf("#%02x%02x%02x", g, g, g))
}
