package native

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Exactness is what a focus reached.
type Exactness string

const (
	Exact       Exactness = "exact"
	AppOnly     Exactness = "appOnly"
	Unavailable Exactness = "unavailable"
)

// focusWait bounds one command of a focus.
const focusWait = 3 * time.Second

// Result is what a focus reached and, when that is less than exact, why.
type Result struct {
	Exactness Exactness
	// TerminalID is the tab of ours to show, when that is the place.
	TerminalID string
	Why        string
}

// paneNotChosen is why a place inside a multiplexer is reached half-way.
const paneNotChosen = "the pane inside the multiplexer cannot be chosen from outside"

// Focus raises the place of a spot, which should be located just before: what
// shows a tmux pane changes at any time.
func (n *Terminals) Focus(ctx context.Context, s Spot) Result {
	if s.Pane != nil {
		if s.Pane.Client == 0 {
			return Result{Exactness: Unavailable, Why: s.Place.WhyNot}
		}
		if s.Pane.Select != nil {
			if _, err := n.run(ctx, s.Pane.Select, tmuxWait); err != nil {
				return Result{Exactness: Unavailable, Why: err.Error()}
			}
		}
	}
	if s.Place.TerminalID != "" {
		if s.Pane != nil && s.Pane.Select == nil {
			return Result{Exactness: AppOnly, TerminalID: s.Place.TerminalID, Why: paneNotChosen}
		}
		return Result{Exactness: Exact, TerminalID: s.Place.TerminalID}
	}
	app, ok := byID(s.AppID)
	if !ok {
		return Result{Exactness: Unavailable, Why: s.Place.WhyNot}
	}
	plan := app.Focus(s)
	exact := plan.Exact
	why := plan.Why
	for _, argv := range plan.Commands {
		if _, err := n.run(ctx, argv, focusWait); err != nil {
			exact, why = false, err.Error()
		}
	}
	if plan.Raise {
		window, err := n.raise(ctx, s, plan)
		if err != nil {
			return Result{Exactness: Unavailable, Why: err.Error()}
		}
		if !window && exact {
			exact, why = false, app.Label+" has several windows and does not say which it is"
		}
	}
	if exact && s.Pane != nil && s.Pane.Select == nil {
		exact, why = false, paneNotChosen
	}
	if exact {
		return Result{Exactness: Exact}
	}
	return Result{Exactness: AppOnly, Why: why}
}

// raise activates the window of a plan. certain is false when it is one of
// several of its process.
func (n *Terminals) raise(ctx context.Context, s Spot, p Plan) (certain bool, err error) {
	pid := strconv.Itoa(p.ByPid)
	switch {
	case n.value(s, "SWAYSOCK") != "":
		_, err := n.run(ctx, []string{"swaymsg", "[pid=" + pid + "] focus"}, focusWait)
		return err == nil, err
	case n.value(s, "HYPRLAND_INSTANCE_SIGNATURE") != "":
		_, err := n.run(ctx, []string{"hyprctl", "dispatch", "focuswindow", "pid:" + pid}, focusWait)
		return err == nil, err
	case n.value(s, "DISPLAY") == "":
		return false, fmt.Errorf("this Wayland desktop lets no other program raise a window")
	}
	x, err := dialX(ctx, n.value(s, "DISPLAY"), n.authority(s))
	if err != nil {
		return false, err
	}
	defer x.close()
	return x.activate(p.Window, p.ByPid)
}

// value is a variable of the terminal, else of the host.
func (n *Terminals) value(s Spot, key string) string {
	if v := s.Env[key]; v != "" {
		return v
	}
	return n.env[key]
}

func (n *Terminals) authority(s Spot) string {
	if v := n.value(s, "XAUTHORITY"); v != "" {
		return v
	}
	if home := n.env["HOME"]; home != "" {
		return home + "/.Xauthority"
	}
	return ""
}

// canFocus tells, without trying, whether a focus can reach anything.
func (n *Terminals) canFocus(app App, s Spot) (bool, string) {
	p := app.Focus(s)
	if !p.Raise {
		return true, p.Why
	}
	for _, key := range []string{"SWAYSOCK", "HYPRLAND_INSTANCE_SIGNATURE", "DISPLAY"} {
		if n.value(s, key) != "" {
			return true, p.Why
		}
	}
	return false, "this desktop lets no other program raise a window"
}
