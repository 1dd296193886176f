package terminals

import (
	"encoding/base64"
	"strings"

	"github.com/whippletree-app/whippletree/backend/model"
)

// maxReport bounds one OSC 7501 report, maxProgramText its text for a person.
const (
	maxReport      = 4096
	maxProgramText = 500
)

// parseProgram reads the data of an OSC 7501 report:
// "state=blocked:kind=permission:app=codex:msg=<base64>". ok is false when it
// is none; a nil status with ok clears.
func parseProgram(data string, now int64) (status *model.ProgramStatus, ok bool) {
	if len(data) > maxReport {
		return nil, false
	}
	p := model.ProgramStatus{At: now}
	for _, field := range strings.Split(data, ":") {
		key, value, found := strings.Cut(field, "=")
		if !found {
			continue
		}
		switch key {
		case "state":
			p.State = value
		case "app":
			p.App = Plain(value, 64)
		case "kind":
			switch value {
			case "permission", "question", "auth":
				p.Kind = value
			}
		case "id":
			if value != "" {
				return nil, false // a child's report; the row is the program's
			}
		case "msg":
			p.Text = decodeText(value)
		}
	}
	switch p.State {
	case "idle", "working", "done", "error":
		p.Kind = ""
		return &p, true
	case "blocked":
		return &p, true
	case "clear":
		return nil, true
	}
	return nil, false
}

func decodeText(value string) string {
	b, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		if b, err = base64.RawStdEncoding.DecodeString(value); err != nil {
			return ""
		}
	}
	return Plain(string(b), maxProgramText)
}
