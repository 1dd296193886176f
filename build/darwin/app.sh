#!/bin/sh
# Builds Whippletree.app on a Mac: the window by the Wails command line, the host
# beside it inside the bundle, signed when SIGN_IDENTITY is set. It was written
# with care and has not been run on a Mac yet.
set -eu
cd "$(dirname "$0")/../.."
[ "$(uname -s)" = Darwin ] || { echo "app.sh: needs a Mac" >&2; exit 1; }
cp build/icons/icon-512.png build/appicon.png
go run github.com/wailsapp/wails/v2/cmd/wails@v2.15.0 build -skipbindings -trimpath -platform "darwin/$(go env GOARCH)"
app=build/bin/Whippletree.app
CGO_ENABLED=0 go build -ldflags "-w -s" -trimpath -o "$app/Contents/MacOS/whippletree" ./backend/cmd/whippletree
if [ -n "${SIGN_IDENTITY:-}" ]; then
	codesign --force --options runtime --timestamp --sign "$SIGN_IDENTITY" "$app/Contents/MacOS/whippletree"
	codesign --force --options runtime --timestamp --sign "$SIGN_IDENTITY" "$app"
	codesign --verify --deep --strict "$app"
fi
echo "$app"
