// Package pdf extracts the text of PDF files in reading order: columns one after the other, words separated where the
// page shows a gap, lines joined to paragraphs.
//
// Files may be hostile. Every operation is charged to the budget of the upload (decoded bytes, work, memory, time) or
// has a fixed limit (nesting, pages), cyclic references end, and a malformed page does not affect the others.
// Existing libraries do not meet this: nested brackets overflow the stack of a recursive parser, which ends the
// process, and decoding an object stream again for each of its objects takes seconds for an ordinary paper.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"carrel/internal/format/budget"
)

// Limits bounds how much of a file is read. The budget bounds the cost.
type Limits struct {
	// Pages is the number of pages to read; further pages are ignored.
	Pages int
	// Text is the number of bytes of text after which no further page is read.
	Text int
	// Recognize returns the text of an image. It is called for the images of pages without text, unless it is nil.
	Recognize func(ctx context.Context, picture Image) (string, error)
}

// DefaultLimits suits a thick book.
var DefaultLimits = Limits{Pages: 3000, Text: 5 << 20}

// Reasons why a file can't be read.
var (
	ErrNotPDF    = errors.New("pdf: not a PDF file, or damaged")
	ErrEncrypted = errors.New("pdf: password required")
	ErrNoText    = errors.New("pdf: no text")
	ErrImages    = errors.New("pdf: no text, only images")
	ErrRecognize = errors.New("pdf: no text, and recognizing the text of the images failed")
	ErrNoUnicode = errors.New("pdf: the fonts do not say which characters their glyphs are")
)

// Text is the content of a file.
type Text struct {
	// Pages holds the text of each page: paragraphs separated by an empty line, and headings marked as in Markdown.
	Pages []string
	// First is the text of the first page without marks and annotations.
	First string
	// Heading is the text in the largest font in the upper half of the first page, usually the title, and HeadingBelow
	// on the whole page.
	Heading, HeadingBelow string
	// FirstIsRow is set if the first line of First is the row of a table.
	FirstIsRow bool
	// The metadata of the file. Each field may be empty and is often wrong.
	Title, Author, Subject, Keywords, Created string
	// Authors and Published, the date of publication, are those of the XMP metadata, and often missing.
	Authors   []string
	Published string
	// Language is the language that the XMP metadata names, or empty.
	Language string
	// DOI is the DOI in the metadata, or empty.
	DOI string
	// Empty counts the pages without text, Images those of them that draw an image.
	Empty, Images int
	// Recognized counts the pages whose text was recognized, which are not in Empty. RecognizeError is the last error of
	// the recognition.
	Recognized     int
	RecognizeError error
	// Drawn counts the glyphs of all pages, Unread those whose characters are unknown.
	Drawn, Unread int
	// Cut is set if the file has more pages than were read.
	Cut bool
}

// String returns the whole text, with a form feed between pages.
func (t Text) String() string { return strings.Join(t.Pages, "\f") }

// Costs in work units of the budget, proportional to the measured CPU time.
const (
	workToken = 50
	workGlyph = 150
	workEntry = 40
)

// Extract returns the text of a file. Its error is one of this package, of the budget, or of the context.
func Extract(data []byte, b *budget.Budget, l Limits) (t Text, err error) {
	err = budget.Catch(func() error {
		t, err = extract(data, b, l)
		return err
	})
	if err != nil {
		return Text{}, err
	}
	return t, nil
}

func extract(data []byte, b *budget.Budget, l Limits) (Text, error) {
	b.Check()
	f, err := open(data, b)
	if err != nil {
		return Text{}, err
	}
	t := f.info()
	size := 0
	f.eachPage(func(n int, p page) bool {
		if n >= l.Pages || size > l.Text {
			t.Cut = true
			return false
		}
		c := f.pageText(p)
		if f.recognize(&c, &t, l) {
			t.Recognized++
		}
		if n == 0 {
			t.Heading, t.HeadingBelow, t.First, t.FirstIsRow = c.title, c.titleBelow, c.plain, c.row
		}
		b.Hold(len(c.text))
		size += len(c.text)
		t.add(c)
		return true
	})
	unmarkHeaders(t.Pages)
	switch {
	case len(t.Pages) == 0:
		return Text{}, ErrNotPDF
	case t.Empty < len(t.Pages):
		return t, nil
	case t.Unread > 0:
		return Text{}, ErrNoUnicode
	case t.Images > 0 && t.RecognizeError != nil:
		return Text{}, fmt.Errorf("%w: %w", ErrRecognize, t.RecognizeError)
	case t.Images > 0:
		return Text{}, ErrImages
	}
	return Text{}, ErrNoText
}

// add appends a page.
func (t *Text) add(c content) {
	t.Pages = append(t.Pages, c.text)
	t.Drawn += c.drawn
	t.Unread += c.unread
	if strings.TrimSpace(c.text) == "" {
		t.Empty++
		if c.images {
			t.Images++
		}
	}
}

// pageText reads one page. A page that makes the reader panic is empty, so that the others can be read.
func (f *file) pageText(p page) (c content) {
	defer func() {
		r := recover()
		if _, stopped := budget.Stopped(r); stopped {
			panic(r)
		}
		if r != nil {
			c = content{}
		}
	}()
	return f.readPage(p)
}
