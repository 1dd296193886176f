#!/bin/sh
# Installs what a fresh machine lacks: `setup.sh run` for building and starting
# the app, `setup.sh test` for the tests as well. Says first what it installs
# and with which command. Does nothing, fast, when nothing is missing.
set -eu
cd "$(dirname "$0")/../.."
what=${1:-run}

say() { printf 'setup: %s\n' "$*"; }
need() { # what, how to get it
	printf 'setup: missing: %s -- %s\n' "$1" "$2" >&2
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# --- tools a person installs -------------------------------------------------
have git || need "git" "install it with your package manager (apt-get install git)"
have go || need "Go >= 1.26" "https://go.dev/dl/"
gov=$(go env GOVERSION | sed 's/^go//; s/[^0-9.].*//')
gomajor=${gov%%.*}; gorest=${gov#*.}; gominor=${gorest%%.*}
{ [ "$gomajor" -gt 1 ] || [ "$gominor" -ge 26 ]; } || need "Go >= 1.26 (found $gov)" "https://go.dev/dl/"
have node || need "Node >= 20" "https://nodejs.org/en/download"
nodev=$(node --version | sed 's/^v//'); nodemajor=${nodev%%.*}
[ "$nodemajor" -ge 20 ] || need "Node >= 20 (found $nodev)" "https://nodejs.org/en/download"
have npm || need "npm" "it comes with Node: https://nodejs.org/en/download"

# --- system libraries ---------------------------------------------------------
root() { # run as root, never waiting for a password that nobody can type
	if [ "$(id -u)" = 0 ]; then "$@"
	elif ! have sudo; then need "root rights for: $*" "run that command as root, then start again"
	elif [ -t 0 ]; then sudo "$@"
	else sudo -n "$@" || need "root rights for: $*" "run that command as root, then start again"
	fi
}

debian() {
	want="build-essential pkg-config libgtk-3-dev libwebkit2gtk-4.1-dev fonts-dejavu-core ca-certificates"
	if [ "$what" = test ]; then
		want="$want xvfb xauth xdotool wmctrl dbus dbus-x11 openbox imagemagick xterm alacritty libgl1-mesa-dri tmux screen zsh fish procps psmisc"
		# Ubuntu's chromium package only fetches a snap; Playwright brings its own there.
		if ! have chromium && ! have google-chrome && [ "${ID:-}" != ubuntu ]; then want="$want chromium"; fi
	fi
	missing=""
	for p in $want; do
		dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
	done
	[ -n "$missing" ] || return 0
	say "installing system packages: apt-get install -y --no-install-recommends$missing"
	root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null
	# shellcheck disable=SC2086
	root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing </dev/null
}

fedora() {
	want="gcc gcc-c++ make pkgconf-pkg-config gtk3-devel webkit2gtk4.1-devel dejavu-sans-mono-fonts"
	[ "$what" = test ] && want="$want xorg-x11-server-Xvfb xorg-x11-xauth xdotool wmctrl dbus-x11 openbox ImageMagick xterm alacritty tmux screen zsh fish chromium procps-ng psmisc"
	missing=""
	for p in $want; do rpm -q "$p" >/dev/null 2>&1 || missing="$missing $p"; done
	[ -n "$missing" ] || return 0
	say "installing system packages: dnf install -y$missing"
	# shellcheck disable=SC2086
	root dnf install -y $missing </dev/null
}

arch() {
	want="base-devel gtk3 webkit2gtk-4.1 ttf-dejavu"
	[ "$what" = test ] && want="$want xorg-server-xvfb xorg-xauth xdotool wmctrl dbus openbox imagemagick xterm alacritty tmux screen zsh fish chromium procps-ng psmisc"
	missing=""
	for p in $want; do pacman -Q "$p" >/dev/null 2>&1 || pacman -Qg "$p" >/dev/null 2>&1 || missing="$missing $p"; done
	[ -n "$missing" ] || return 0
	say "installing system packages: pacman -S --needed --noconfirm$missing"
	# shellcheck disable=SC2086
	root pacman -S --needed --noconfirm $missing </dev/null
}

macos() {
	xcode-select -p >/dev/null 2>&1 || need "Apple's command line tools" "xcode-select --install"
	[ "$what" = test ] || return 0
	missing=""
	for p in tmux fish; do have "$p" || missing="$missing $p"; done
	if [ -n "$missing" ]; then
		have brew || need "$missing" "install Homebrew (https://brew.sh), then: brew install$missing"
		say "installing tools: brew install$missing"
		# shellcheck disable=SC2086
		brew install $missing </dev/null
	fi
}

case "$(uname -s)" in
Darwin) macos ;;
Linux)
	ID=""; ID_LIKE=""
	# shellcheck disable=SC1091
	[ -r /etc/os-release ] && . /etc/os-release
	case " $ID $ID_LIKE " in
	*" debian "* | *" ubuntu "*) debian ;;
	*" fedora "* | *" rhel "*) fedora ;;
	*" arch "*) arch ;;
	*) say "unknown system '$ID': it needs a C compiler, pkg-config, GTK 3 and WebKitGTK 4.1 with their headers" ;;
	esac
	pkg-config --exists webkit2gtk-4.1 gtk+-3.0 ||
		need "headers of GTK 3 and WebKitGTK 4.1" "install libgtk-3-dev and libwebkit2gtk-4.1-dev, or what your system calls them"
	;;
*) need "macOS or Linux" "Whippletree runs on these two" ;;
esac

# --- front-end packages ---------------------------------------------------------
. build/dev/npm.sh
npm_ci frontend
if [ "$what" = test ] && ! have chromium && ! have google-chrome; then
	say "installing Playwright's own Chromium: npx playwright install chromium"
	(cd frontend && npx playwright install --with-deps chromium </dev/null)
fi
