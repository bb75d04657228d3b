package favourite

import (
	"bufio"
	"fmt"
	"io"

	"carrel/internal/core"
)

// Format is a way to write a bibliography.
type Format string

// The formats of an export.
const (
	FormatBibTeX   Format = "bibtex"
	FormatRIS      Format = "ris"
	FormatCSLJSON  Format = "csl-json"
	FormatCSV      Format = "csv"
	FormatMarkdown Format = "markdown"
)

// Card is a favourite's card on its way into an export.
type Card struct {
	ID   string
	JSON []byte
}

// formatInfo is what is known of a format.
type formatInfo struct {
	contentType string
	filename    string
	write       func(w *bufio.Writer, refs []reference) error
}

// info is the table of the formats; ok is false for what is none. A function, so that the table can't be changed.
func (f Format) info() (info formatInfo, ok bool) {
	switch f {
	case FormatBibTeX:
		return formatInfo{"application/x-bibtex; charset=utf-8", "favourites.bib", writeBibTeX}, true
	case FormatRIS:
		return formatInfo{"application/x-research-info-systems; charset=utf-8", "favourites.ris", writeRIS}, true
	case FormatCSLJSON:
		return formatInfo{"application/vnd.citationstyles.csl+json", "favourites.json", writeCSL}, true
	case FormatCSV:
		return formatInfo{"text/csv; charset=utf-8; header=present", "favourites.csv", writeCSV}, true
	case FormatMarkdown:
		return formatInfo{"text/markdown; charset=utf-8", "favourites.md", writeMarkdown}, true
	}
	return formatInfo{}, false
}

// ParseFormat returns the format that a request names.
func ParseFormat(s string) (Format, error) {
	f := Format(s)
	if _, ok := f.info(); !ok {
		return "", core.InvalidField("format", "Must be one of bibtex, ris, csl-json, csv, markdown.")
	}
	return f, nil
}

// ContentType returns the media type of an export in this format.
func (f Format) ContentType() string {
	info, _ := f.info()
	return info.contentType
}

// Filename returns the name under which a browser saves an export in this format.
func (f Format) Filename() string {
	info, _ := f.info()
	return info.filename
}

// Export writes cards as a bibliography: one entry per card, in the order given. A card is anybody's JSON, so what
// can't be read in it is left out of its entry and is never an error; errors are the writer's.
func Export(w io.Writer, f Format, cards []Card) error {
	info, ok := f.info()
	if !ok {
		return fmt.Errorf("export: unknown format %q", string(f))
	}
	refs := make([]reference, len(cards))
	for i, c := range cards {
		refs[i] = parseReference(c)
	}
	out := bufio.NewWriter(w)
	if err := info.write(out, refs); err != nil {
		return fmt.Errorf("export %s: %w", f, err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export %s: %w", f, err)
	}
	return nil
}
