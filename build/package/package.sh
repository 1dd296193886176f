#!/bin/sh
# Makes deb, rpm and tar.gz in build/bin from what `make build` built there.
set -eu
cd "$(dirname "$0")/../.."
VERSION=${VERSION:-$(sed -n 's/.*"productVersion": "\(.*\)".*/\1/p' wails.json)}
ARCH=${ARCH:-$(go env GOARCH)}
export VERSION ARCH
for f in build/bin/whippletree-desktop build/bin/whippletree; do
	[ -x "$f" ] || { echo "package: $f is missing: make build" >&2; exit 1; }
done
for format in deb rpm; do
	go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0 package -f build/package/nfpm.yaml -p "$format" -t build/bin/
done
name="whippletree-$VERSION-linux-$ARCH"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/$name/bin" "$tmp/$name/share/applications" "$tmp/$name/share/icons/hicolor/scalable/apps"
cp build/bin/whippletree-desktop build/bin/whippletree "$tmp/$name/bin/"
cp build/linux/whippletree-desktop.desktop "$tmp/$name/share/applications/"
cp build/icons/icon.svg "$tmp/$name/share/icons/hicolor/scalable/apps/whippletree-desktop.svg"
cp LICENSE README.md "$tmp/$name/"
# The same input gives the same bytes.
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}" \
	-C "$tmp" -czf "build/bin/$name.tar.gz" "$name"
ls -l build/bin/*.deb build/bin/*.rpm build/bin/*.tar.gz
