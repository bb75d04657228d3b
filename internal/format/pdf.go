package format

import (
	"errors"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/format/pdf"
	"carrel/internal/source"
)

// parsePDF reads a PDF file. Useful metadata takes precedence over what the first page shows.
func parsePDF(b *budget.Budget, name string, data []byte) (source.Document, error) {
	t, err := pdf.Extract(data, b, pdf.DefaultLimits)
	switch {
	case errors.Is(err, pdf.ErrNotPDF):
		return source.Document{}, fault("is not a PDF file, or is damaged")
	case errors.Is(err, pdf.ErrEncrypted):
		return source.Document{}, fault("needs a password; save it without one")
	case errors.Is(err, pdf.ErrNoText):
		return source.Document{}, fault("has no text, only images; run text recognition (OCR) first")
	case err != nil:
		return source.Document{}, err
	}
	d := source.Document{Text: t.String(), Type: ""}
	first := ""
	if len(t.Pages) > 0 {
		first = t.Pages[0]
	}
	title := oneLine(t.Title)
	if !saysSomething(title) {
		title = ""
	}
	heading := oneLine(t.Heading)
	d.Title = firstOf(title, heading, titleLine(first), stem(name))
	d.Authors = splitNames(t.Author)
	if len(d.Authors) == 0 {
		d.Authors = authorsBelow(first, firstOf(heading, title))
	}
	d.DOI = firstOf(bareDOI(t.DOI), doiIn(first))
	if d.Year = yearIn(first); d.Year == 0 {
		d.Year = yearOfPDFDate(t.Created)
	}
	return d, nil
}

// yearOfPDFDate returns the year of a date such as D:20190405120000+02'00' (ISO 32000-1, section 7.9.4), or 0.
func yearOfPDFDate(s string) int {
	s = strings.TrimPrefix(s, "D:")
	return yearOfDate(s[:min(len(s), len("20190405"))])
}
