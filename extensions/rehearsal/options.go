package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// Options are what OpenRequest.Options may hold; an unknown key is an error.
// The same load and faults, and all others, can be given as OpenRequest.Args.
type Options struct {
	Pace   string  `json:"pace,omitempty"` // natural, none
	Deltas int     `json:"deltas,omitempty"`
	Rate   float64 `json:"rate,omitempty"` // deltas a second
	Hold   string  `json:"hold,omitempty"` // file that lets the stream go on
	Noise  bool    `json:"noise,omitempty"`
	DieAt  string  `json:"dieAt,omitempty"`
}

func parseOptions(raw json.RawMessage) (o Options, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return o, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return o, fmt.Errorf("options: $.%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return o, errors.New("options: something follows the object")
	}
	return o, nil
}

func (o Options) flags() (args []string) {
	if o.Pace != "" {
		args = append(args, "--pace", o.Pace)
	}
	if o.Deltas > 0 {
		args = append(args, "--deltas", strconv.Itoa(o.Deltas))
	}
	if o.Rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(o.Rate, 'g', -1, 64))
	}
	if o.Hold != "" {
		args = append(args, "--hold", o.Hold)
	}
	if o.Noise {
		args = append(args, "--noise")
	}
	if o.DieAt != "" {
		args = append(args, "--die-at", o.DieAt)
	}
	return args
}

// argv is the command line of a chat. The mode is always given: a resumed
// session may have been left in one that does not ask.
func (k *kit) argv(req agent.OpenRequest) ([]string, error) {
	binary := k.Executable
	if req.Binary != "" {
		binary = req.Binary
	}
	args := []string{binary, "rehearsal", "--protocol", "json"}
	mode := req.Mode
	if mode == "" {
		mode = "ask"
	}
	args = append(args, "--mode", mode)
	if req.Model != "" {
		args = append(args, "--model", req.Model)
	}
	if req.Thinking != "" {
		args = append(args, "--thinking", req.Thinking)
	}
	switch {
	case req.Kind == agent.KindConfined:
		args = append(args, "--chat")
	case req.Resume != nil:
		if !wire.ValidSession(req.Resume.NativeID) {
			return nil, fmt.Errorf("%q is not the id of a rehearsal session", req.Resume.NativeID)
		}
		flag := "--resume"
		if _, err := os.Lstat(k.home(req.Resume.Env).Transcript(req.Resume.NativeID)); errors.Is(err, os.ErrNotExist) && isUnwritten(*req.Resume) {
			flag = "--session-id"
		}
		args = append(args, flag, req.Resume.NativeID)
	}
	o, err := parseOptions(req.Options)
	if err != nil {
		return nil, err
	}
	args = append(args, o.flags()...)
	return append(args, req.Args...), nil
}
