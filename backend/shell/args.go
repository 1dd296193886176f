package shell

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// Args is the command line of the desktop binary.
type Args struct {
	// InProcess runs the host inside the window's process.
	InProcess bool
	// SafeGPU switches every accelerated path of the webview off.
	SafeGPU bool
	// Window names the window; "main" unless it is a popped-out one
	// ("chat/<id>").
	Window string
	// Open is what to show first: the target of a whippletree: link.
	Open    string
	Version bool
	// ReportPaint prints when the page was painted first, for measurements.
	ReportPaint bool
}

// ParseArgs reads the arguments after the program's name. Unknown links are an
// error, so that a typo does not open an empty window without a word.
func ParseArgs(argv []string, out io.Writer) (Args, error) {
	var a Args
	f := flag.NewFlagSet("whippletree-desktop", flag.ContinueOnError)
	f.SetOutput(out)
	f.BoolVar(&a.InProcess, "in-process", false, "run the host inside this process")
	f.BoolVar(&a.SafeGPU, "safe-gpu", false, "switch accelerated drawing off (blank or torn windows)")
	f.StringVar(&a.Window, "window", "main", "which window to open: main or chat/<id>")
	f.BoolVar(&a.ReportPaint, "report-paint", false, "print \"painted\" and the time in ns after the first paint")
	f.BoolVar(&a.Version, "version", false, "print the version and end")
	if err := f.Parse(argv); err != nil {
		return Args{}, err
	}
	if a.Window != "main" && (!strings.HasPrefix(a.Window, "chat/") || !idPath(a.Window)) {
		return Args{}, fmt.Errorf("unknown window %q: main or chat/<id>", a.Window)
	}
	switch f.NArg() {
	case 0:
	case 1:
		target, ok := AppLink(f.Arg(0))
		if !ok {
			return Args{}, fmt.Errorf("cannot open %q: whippletree://chat/<id> or whippletree://session/<harness>/<id>", f.Arg(0))
		}
		a.Open = target
	default:
		return Args{}, fmt.Errorf("at most one link can be opened, %d were given", f.NArg())
	}
	return a, nil
}
