package claudecode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// options are what a person may set for chats of this harness beyond what the
// contract has, in the program's own words. Unknown names are refused.
type options struct {
	// AllowedTools and DisallowedTools are permission rules like Bash(git log:*).
	AllowedTools    []string `json:"allowedTools"`
	DisallowedTools []string `json:"disallowedTools"`
	// AdditionalDirectories are absolute paths that tools may use too.
	AdditionalDirectories []string `json:"additionalDirectories"`
}

// optionArgs reads the options of a workspace chat. The flags take any number
// of values: another flag has to follow.
func optionArgs(req agent.OpenRequest) ([]string, error) {
	if len(bytes.TrimSpace(req.Options)) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(req.Options))
	dec.DisallowUnknownFields()
	var o options
	if err := dec.Decode(&o); err != nil {
		return nil, fmt.Errorf("the options of Claude Code cannot be used: %w", err)
	}
	var argv []string
	for _, list := range []struct {
		flag   string
		values []string
	}{
		{"--allowedTools", o.AllowedTools}, {"--disallowedTools", o.DisallowedTools}, {"--add-dir", o.AdditionalDirectories},
	} {
		for _, v := range list.values {
			switch {
			case v == "" || strings.HasPrefix(v, "-"):
				return nil, failure(fmt.Sprintf("The options of Claude Code hold %q, which cannot be a value of %s", v, list.flag))
			case list.flag == "--add-dir" && !filepath.IsAbs(v):
				return nil, failure(fmt.Sprintf("The folder %q in the options of Claude Code is not an absolute path", v))
			}
		}
		if len(list.values) > 0 {
			argv = append(append(argv, list.flag), list.values...)
		}
	}
	return argv, nil
}
