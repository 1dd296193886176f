package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// Points at which --die-at ends the process with SIGKILL.
var diePoints = []string{"start", "prompt", "first-delta", "mid-text", "thought", "tool", "ask", "before-end", "after-end"}

// Options of one run. The second half makes load and faults; all of it is
// deterministic.
type Options struct {
	Version   bool
	Protocol  string // json, or terminal
	Resume    string
	SessionID string
	Model     string
	Mode      string
	Thinking  string
	Cwd       string
	NoSession bool // nothing is kept: no session file, no registry entry
	Chat      bool // confined: no tools at all
	Full      bool // terminal: use the alternate screen
	Prompt    string
	Pace      string // natural, none
	Scratch   string

	Deltas     int     // every answer is this many deltas
	DeltaBytes int     // of this size
	Rate       float64 // a second; 0 is as fast as possible
	Slow       bool    // one delta a second
	Silent     bool    // takes prompts and says nothing
	Noise      bool    // lines on stdout that are no protocol
	Flood      int64   // bytes to stderr before the first reply and in each turn
	DieAt      string
	DieMid     bool
	IgnoreTerm bool
	IgnoreStop bool // never answers interrupt
	Grandchild bool // a child keeps stdout open after the end
	Hold       string
	ExitCode   int
	NoAck      bool // answers are never acknowledged
	Withdraw   bool // takes its own requests back
	Linger     bool // stays when stdin ends and on shutdown
}

func parse(args []string, stderr io.Writer) (Options, error) {
	var o Options
	fs := flag.NewFlagSet("rehearsal", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&o.Version, "version", false, "print the version")
	fs.StringVar(&o.Protocol, "protocol", "terminal", "json or terminal")
	fs.StringVar(&o.Resume, "resume", "", "continue this session")
	fs.StringVar(&o.SessionID, "session-id", "", "id of the new session")
	fs.StringVar(&o.Model, "model", "", "evening or matinee")
	fs.StringVar(&o.Mode, "mode", "", "ask, edits, plan or free")
	fs.StringVar(&o.Thinking, "thinking", "", "off, brief or full")
	fs.StringVar(&o.Cwd, "cwd", "", "working folder")
	fs.BoolVar(&o.NoSession, "no-session", false, "keep nothing on disk")
	fs.BoolVar(&o.Chat, "chat", false, "only talk: no tools")
	fs.BoolVar(&o.Full, "fullscreen", false, "use the alternate screen")
	fs.StringVar(&o.Prompt, "prompt", "", "first prompt")
	fs.StringVar(&o.Pace, "pace", "natural", "natural or none: how fast text appears")
	fs.StringVar(&o.Scratch, "scratch", "", "folder of the file that is edited")

	fs.IntVar(&o.Deltas, "deltas", 0, "load: deltas of each answer")
	fs.IntVar(&o.DeltaBytes, "delta-bytes", 8, "load: bytes of a delta, 8 to 65536")
	fs.Float64Var(&o.Rate, "rate", 0, "load: deltas a second, 0 = no limit")
	fs.BoolVar(&o.Slow, "slow", false, "fault: one delta a second")
	fs.BoolVar(&o.Silent, "silent", false, "fault: accept prompts, say nothing")
	fs.BoolVar(&o.Noise, "noise", false, "fault: noise on stdout")
	fs.Int64Var(&o.Flood, "stderr-flood", 0, "fault: bytes to stderr before the first reply and in each turn")
	fs.StringVar(&o.DieAt, "die-at", "", fmt.Sprint("fault: be killed at one of ", diePoints))
	fs.BoolVar(&o.DieMid, "die-mid-turn", false, "fault: the same as --die-at mid-text")
	fs.BoolVar(&o.IgnoreTerm, "ignore-term", false, "fault: ignore SIGTERM")
	fs.BoolVar(&o.IgnoreStop, "ignore-interrupt", false, "fault: never stop a turn")
	fs.BoolVar(&o.Grandchild, "grandchild-holds-stdout", false, "fault: a child keeps stdout open")
	fs.StringVar(&o.Hold, "hold", "", "test: stop each answer half-way until this file exists or release is asked")
	fs.IntVar(&o.ExitCode, "exit-code", 0, "test: code of a clean exit")
	fs.BoolVar(&o.NoAck, "no-ack", false, "fault: never acknowledge an answer")
	fs.BoolVar(&o.Withdraw, "withdraw", false, "test: take each request back at once")
	fs.BoolVar(&o.Linger, "linger", false, "fault: stay when stdin ends and on shutdown")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", fs.Arg(0))
	}
	return o, o.check()
}

func (o *Options) check() error {
	if o.DieMid {
		o.DieAt = "mid-text"
	}
	if o.Slow {
		o.Rate = 1
	}
	for _, id := range []string{o.Resume, o.SessionID} {
		if id != "" && !wire.ValidSession(id) {
			return errors.New("a session id holds letters, digits and - only, at most 64")
		}
	}
	switch {
	case o.Protocol != "json" && o.Protocol != "terminal":
		return fmt.Errorf("--protocol %q: json or terminal", o.Protocol)
	case o.Pace != "natural" && o.Pace != "none":
		return fmt.Errorf("--pace %q: natural or none", o.Pace)
	case o.DieAt != "" && !slices.Contains(diePoints, o.DieAt):
		return fmt.Errorf("--die-at %q: one of %v", o.DieAt, diePoints)
	case o.Resume != "" && o.SessionID != "":
		return errors.New("--resume and --session-id exclude each other")
	case o.DeltaBytes < 8 || o.DeltaBytes > 65536 || o.Deltas < 0 || o.Rate < 0:
		return errors.New("--deltas, --delta-bytes (8 to 65536) or --rate is out of range")
	case o.Model != "" && !offered(models, o.Model):
		return fmt.Errorf("--model %q: there is %s", o.Model, ids(models))
	case o.Mode != "" && !offered(modes, o.Mode):
		return fmt.Errorf("--mode %q: there is %s", o.Mode, ids(modes))
	case o.Thinking != "" && !offered(thinking, o.Thinking):
		return fmt.Errorf("--thinking %q: there is %s", o.Thinking, ids(thinking))
	}
	return nil
}
