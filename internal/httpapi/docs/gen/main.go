// Command gen writes the contract in the forms that the server contains: as YAML, as JSON and as an HTML page.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"

	"carrel/api"
	"carrel/internal/httpapi/docs"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	document, err := toJSON(api.Document)
	if err != nil {
		return err
	}
	page, err := renderPage(api.Document, docs.BaseURLPlaceholder)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"openapi.yaml.gz": api.Document,
		"openapi.json.gz": document,
		"page.html.gz":    page,
	} {
		if err := writeCompressed(name, content); err != nil {
			return err
		}
	}
	return nil
}

// writeCompressed writes a file without a time in its header, so that equal contents are equal files.
func writeCompressed(name string, content []byte) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o600)
}
