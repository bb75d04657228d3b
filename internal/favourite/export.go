package favourite

import (
	"bufio"
	"fmt"
	"io"

	"carrel/internal/core"
)

// Format is a bibliography format.
type Format string

// The export formats.
const (
	FormatBibTeX   Format = "bibtex"
	FormatRIS      Format = "ris"
	FormatCSLJSON  Format = "csl-json"
	FormatCSV      Format = "csv"
	FormatMarkdown Format = "markdown"
)

// Card is a card to be exported.
type Card struct {
	ID   string
	JSON []byte
	Tags []string
	Note string
	// Abstract replaces the abstract in the card unless it is empty.
	Abstract string
}

// formatInfo describes a format.
type formatInfo struct {
	contentType string
	filename    string
	write       func(w *bufio.Writer, refs []reference) error
}

// info returns the description of a format. It is a function, so that the table can't be modified.
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

// ParseFormat parses the format of a request.
func ParseFormat(s string) (Format, error) {
	f := Format(s)
	if _, ok := f.info(); !ok {
		return "", core.InvalidField("format", "Must be one of bibtex, ris, csl-json, csv, markdown.")
	}
	return f, nil
}

// ContentType returns the media type of the format.
func (f Format) ContentType() string {
	info, _ := f.info()
	return info.contentType
}

// Filename returns the file name of a download in this format.
func (f Format) Filename() string {
	info, _ := f.info()
	return info.filename
}

// Export writes cards as a bibliography, one entry per work, in the given order, newest first. Cards are arbitrary
// JSON: unreadable parts are left out of the entry and are not an error; errors come from the writer.
func Export(w io.Writer, f Format, cards []Card) error {
	info, ok := f.info()
	if !ok {
		return fmt.Errorf("export: unknown format %q", string(f))
	}
	refs := make([]reference, len(cards))
	for i, c := range cards {
		refs[i] = parseReference(c)
	}
	refs = mergeWorks(refs)
	out := bufio.NewWriter(w)
	if err := info.write(out, refs); err != nil {
		return fmt.Errorf("export %s: %w", f, err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export %s: %w", f, err)
	}
	return nil
}
