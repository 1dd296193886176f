package git

import (
	"context"
	"strings"
)

// WithoutFilters returns the arguments that switch off the filter programs which
// the repository's own configuration names. git would run them to see whether a
// file differs; what a person set for all repositories stays.
func (g Git) WithoutFilters(ctx context.Context, dir string) ([]string, error) {
	out, err := g.Run(ctx, dir, 64<<10, "config", "--local", "--includes", "--name-only", "-z", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`)
	if err != nil {
		if e, ok := err.(*ExitError); ok && e.Code == 1 {
			return nil, nil // none
		}
		return nil, err
	}
	var args []string
	for _, name := range strings.Split(string(out), "\x00") {
		switch {
		case name == "" || strings.ContainsAny(name, "=\n"):
		case strings.HasSuffix(name, ".required"):
			args = append(args, "-c", name+"=false")
		default:
			args = append(args, "-c", name+"=")
		}
	}
	return args, nil
}
