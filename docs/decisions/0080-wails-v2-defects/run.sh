#!/bin/sh
# Builds and runs the four reproductions, each in its own display. Exit code 0:
# all were seen. `run.sh order` runs one.
set -eu
cd "$(dirname "$0")/../../.."
here=docs/decisions/0080-wails-v2-defects
GOPATH=$(go env GOPATH) GOCACHE=$(go env GOCACHE)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export GOPATH GOCACHE HOME="$out/home" XDG_RUNTIME_DIR="$out/run" NO_AT_BRIDGE=1
mkdir -p "$HOME" "$XDG_RUNTIME_DIR" && chmod 700 "$XDG_RUNTIME_DIR"
failed=0
for d in ${1:-descriptors order deadpage events}; do
	go build -tags wailsdefect,desktop,production,webkit2_41 -o "$out/$d" "./$here/$d"
	echo "== $d"
	timeout 60 xvfb-run -a -s "-screen 0 800x600x24" dbus-run-session -- "$out/$d" 2>"$out/$d.err" || {
		failed=1
		cat "$out/$d.err"
	}
done
exit $failed
