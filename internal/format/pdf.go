package format

import (
	"errors"

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
		d.Year = yearOfDate(t.Created)
	}
	return d, nil
}
