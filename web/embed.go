// Package web contains the browser app. Its sources are in src. The build in dist is committed, so that building Carrel
// needs only Go.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the built app: index.html, its assets, its icons, its manifest and its service worker. All files except
// the page and PNG images are compressed with gzip and have the suffix .gz.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return files
}
