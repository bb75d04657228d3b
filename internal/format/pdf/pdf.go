// Package pdf extracts the text of PDF files in reading order: columns one after the other, words separated where the
// page shows a gap, lines joined to paragraphs.
//
// Files may be hostile. Every operation is charged to the budget of the upload (decoded bytes, work, memory, time) or
// has a fixed limit (nesting, pages), cyclic references end, and a malformed page does not affect the others.
// Existing libraries do not meet this: nested brackets overflow the stack of a recursive parser, which ends the
// process, and decoding an object stream again for each of its objects takes seconds for an ordinary paper.
package pdf

import (
	"errors"
	"strings"

	"carrel/internal/format/budget"
)

// Limits bounds how much of a file is read. The budget bounds the cost.
type Limits struct {
	// Pages is the number of pages to read; further pages are ignored.
	Pages int
	// Text is the number of bytes of text after which no further page is read.
	Text int
}

// DefaultLimits suits a thick book.
var DefaultLimits = Limits{Pages: 3000, Text: 5 << 20}

// Reasons why a file can't be read.
var (
	ErrNotPDF    = errors.New("pdf: not a PDF file, or damaged")
	ErrEncrypted = errors.New("pdf: password required")
	ErrNoText    = errors.New("pdf: no text, only images")
)

// Text is the content of a file.
type Text struct {
	// Pages holds the text of each page: paragraphs separated by an empty line.
	Pages []string
	// Heading is the text in the largest font at the top of the first page, usually the title.
	Heading string
	// The metadata of the file. Each field may be empty and is often wrong.
	Title, Author, Subject, Keywords, Created string
	// DOI is the DOI in the metadata, or empty.
	DOI string
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
		text, heading := f.pageText(p)
		if n == 0 {
			t.Heading = heading
		}
		b.Hold(len(text))
		size += len(text)
		t.Pages = append(t.Pages, text)
		return true
	})
	for _, p := range t.Pages {
		if strings.TrimSpace(p) != "" {
			return t, nil
		}
	}
	if len(t.Pages) == 0 {
		return Text{}, ErrNotPDF
	}
	return Text{}, ErrNoText
}

// pageText reads one page. A page that makes the reader panic is empty, so that the others can be read.
func (f *file) pageText(p page) (text, heading string) {
	defer func() {
		r := recover()
		if _, stopped := budget.Stopped(r); stopped {
			panic(r)
		}
		if r != nil {
			text, heading = "", ""
		}
	}()
	return f.readPage(p)
}
