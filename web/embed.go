// Package web is the app that runs in people's browsers. Its sources are in src; what is built of them is committed, so
// that Go alone builds the whole program.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the built app: index.html, its assets, its icons and its manifest.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return files
}
