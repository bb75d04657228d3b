// Package docs contains the contract in the forms that the server publishes: as YAML, as JSON, and as an HTML page. The
// generator writes them, so that the program needs no parser of YAML and no templates. The page can be read without
// scripts; its small script adds search, copying, and a choice of the language that is kept.
package docs

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the generated files, the style sheet and the script
	"html"
	"io"
)

//go:generate go run ./gen

// Files that the generator writes, compressed with gzip.
var (
	//go:embed openapi.yaml.gz
	packedYAML []byte
	//go:embed openapi.json.gz
	packedJSON []byte
	//go:embed page.html.gz
	packedPage []byte
)

// Style is the style sheet that the page links to as /docs/style.css.
//
//go:embed style.css
var Style []byte

// Script is the script that the page loads as /docs/script.js.
//
//go:embed script.js
var Script []byte

// BaseURLPlaceholder stands for the base URL in the generated page, which is the same for all installations.
const BaseURLPlaceholder = "https://base-url.invalid"

// YAML returns the contract as it was written. The results of all functions are new on every call, because few clients
// need them.
func YAML() ([]byte, error) { return unpack(packedYAML) }

// JSON returns the contract as JSON, with its keys in the order of the YAML.
func JSON() ([]byte, error) { return unpack(packedJSON) }

// Page returns the HTML page. The examples on it are for the server at baseURL.
func Page(baseURL string) ([]byte, error) {
	page, err := unpack(packedPage)
	if err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(page, []byte(BaseURLPlaceholder), []byte(html.EscapeString(baseURL))), nil
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
