// Package frontend carries the built window (frontend/dist). A clean clone has
// a placeholder there, so that every Go command works before the first
// front-end build.
package frontend

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Assets is the root of the built window; index.html is at its top.
func Assets() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is embedded by name
	}
	return sub
}

// Built reports whether the window was built into this binary.
func Built() bool {
	_, err := fs.Stat(Assets(), "index.html")
	return err == nil
}
