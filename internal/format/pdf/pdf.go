// Package pdf finds the text of PDF files and puts it into the order in which it is read: columns one after the other,
// words parted where the page shows a gap, lines joined to paragraphs.
//
// It is written for files that mean harm as much as for those that do not. Everything draws from the budget of the upload
// (decoded bytes, steps, memory, time) or has a limit of its own (nesting, pages), references that lead back to themselves
// end, and a page that can't be read leaves the others readable. The libraries that exist fail at one or the other: a file of brackets overflows the stack of a
// recursive reader, which ends the whole process, and reading an object stream anew for each of its objects takes
// seconds for an ordinary paper.
package pdf

import (
	"errors"
	"strings"

	"carrel/internal/format/budget"
)

// Limits bound how much of a file is read. What reading costs is bounded by the budget.
type Limits struct {
	// Pages is how many pages are read; the rest is left out.
	Pages int
	// Text is the number of bytes of text after which no further page is read.
	Text int
}

// DefaultLimits are enough for a thick book.
var DefaultLimits = Limits{Pages: 3000, Text: 5 << 20}

// The ways in which a file can't be read.
var (
	ErrNotPDF    = errors.New("pdf: not a PDF file, or one that is damaged")
	ErrEncrypted = errors.New("pdf: needs a password")
	ErrNoText    = errors.New("pdf: holds no text, only pictures of it")
)

// Text is what was found in a file.
type Text struct {
	// Pages are the texts of the pages: paragraphs, with an empty line between them.
	Pages []string
	// Heading is what is set largest at the top of the first page: its title, most often.
	Heading string
	// The rest is what the file says of itself; each may be empty, and is often wrong.
	Title, Author, Subject, Keywords, Created string
	// DOI is the one in the file's metadata, where there is one.
	DOI string
	// Cut says that there were more pages than are read.
	Cut bool
}

// String returns the whole text, with a form feed between pages.
func (t Text) String() string { return strings.Join(t.Pages, "\f") }

// Steps of the budget, by how long each takes.
const (
	workToken = 50
	workGlyph = 150
	workEntry = 40
)

// Extract returns the text of a file. The error is one of this package's, the budget's, or the context's.
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

// pageText reads one page. One that upsets the reader is left empty: the others are still worth having.
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
