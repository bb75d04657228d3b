package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/format/pdf"
	"carrel/internal/source"
)

// parsePDF reads a PDF file. Its metadata is compared with the first page, and the better evidence wins.
func parsePDF(b *budget.Budget, name string, data []byte) (source.Document, error) {
	limits := pdf.DefaultLimits
	if r := recognizerOf(b.Context()); r != nil {
		limits.Recognize = func(ctx context.Context, picture pdf.Image) (string, error) {
			return r.Recognize(ctx, picture.MediaType, picture.Data)
		}
	}
	t, err := pdf.Extract(data, b, limits)
	switch {
	case errors.Is(err, pdf.ErrNotPDF):
		return source.Document{}, fault("is not a PDF file, or is damaged")
	case errors.Is(err, pdf.ErrEncrypted):
		return source.Document{}, fault("needs a password; save it without one")
	case errors.Is(err, pdf.ErrRecognize):
		return source.Document{}, fault("has no text, only images, and text recognition (OCR) failed: " +
			recognitionReason(err))
	case errors.Is(err, pdf.ErrImages):
		return source.Document{}, fault("has no text, only images; run text recognition (OCR) first")
	case errors.Is(err, pdf.ErrNoUnicode):
		return source.Document{}, fault("has text in fonts that do not say which characters they show; " +
			"run text recognition (OCR) first")
	case errors.Is(err, pdf.ErrNoText):
		return source.Document{}, fault("has no text")
	case err != nil:
		return source.Document{}, err
	}
	d := source.Document{Text: t.String(), Type: "", Language: oneLine(t.Language), Note: unreadNote(name, t)}
	first := t.First
	d.Title = bestTitle(t, first, name)
	d.Authors = pdfAuthors(t, first)
	if len(d.Authors) == 0 {
		d.Authors = authorsBelow(first, firstOf(oneLine(t.Heading), d.Title))
	}
	d.DOI = firstOf(bareDOI(t.DOI), doiIn(first))
	created := yearOfPDFDate(t.Created)
	d.Year = cmp.Or(yearOfDate(t.Published), yearIn(first), titleYear(d.Title, created), created)
	return d, nil
}

// yearOfPDFDate returns the year of a date such as D:20190405120000+02'00' (ISO 32000-1, section 7.9.4), or 0.
func yearOfPDFDate(s string) int {
	s = strings.TrimPrefix(s, "D:")
	return yearOfDate(s[:min(len(s), len("20190405"))])
}

// unreadShare is the share of glyphs without a known character above which a text is reported as incomplete.
const unreadShare = 0.1

// unreadNote says which part of a file could not be read, or returns "".
func unreadNote(name string, t pdf.Text) string {
	switch {
	case t.Images > 0 && t.RecognizeError != nil:
		return fmt.Sprintf("%s: %d of %d pages are images without text; text recognition (OCR) failed: %s",
			printable(name), t.Images, len(t.Pages), recognitionReason(t.RecognizeError))
	case t.Images > 0:
		return fmt.Sprintf("%s: %d of %d pages are images without text; run text recognition (OCR) to include them",
			printable(name), t.Images, len(t.Pages))
	case float64(t.Unread) > unreadShare*float64(t.Drawn):
		return fmt.Sprintf("%s: %d %% of the text is in fonts that do not say which characters they show, and is missing",
			printable(name), int(100*float64(t.Unread)/float64(t.Drawn)))
	}
	return ""
}
