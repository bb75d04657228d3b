// Package pdf finds the text of PDF files and puts it into the order in which it is read: columns one after the other,
// words parted where the page shows a gap, lines joined to paragraphs.
//
// It is written for files that mean harm as much as for those that do not. Everything is bounded (nesting, pages,
// decoded bytes, characters, time), references that lead back to themselves end, and a page that can't be read leaves
// the others readable. The libraries that exist fail at one or the other: a file of brackets overflows the stack of a
// recursive reader, which ends the whole process, and reading an object stream anew for each of its objects takes
// seconds for an ordinary paper.
package pdf

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Limits bound what one file may take.
type Limits struct {
	// Pages is how many pages are read; the rest is left out.
	Pages int
	// Decoded is how many bytes all streams may have together once unpacked.
	Decoded int
	// Glyphs is how many characters are looked at.
	Glyphs int
	// Time is how long it may take.
	Time time.Duration
}

// DefaultLimits are enough for a thick book.
var DefaultLimits = Limits{Pages: 3000, Decoded: 512 << 20, Glyphs: 8 << 20, Time: 30 * time.Second}

// The ways in which a file can't be read.
var (
	ErrNotPDF    = errors.New("pdf: not a PDF file, or one that is damaged")
	ErrEncrypted = errors.New("pdf: needs a password")
	ErrNoText    = errors.New("pdf: holds no text, only pictures of it")
	ErrTooLarge  = errors.New("pdf: unpacks to more than can be read")
	ErrTooSlow   = errors.New("pdf: takes too long to read")
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

// stop is what unwinds the reading when a limit is reached.
type stop struct{ err error }

// budget is what is left of the limits.
type budget struct {
	ctx      context.Context
	deadline time.Time
	decoded  int
	glyphs   int
	ticks    int
}

// tick is called in every loop that a file can make long.
func (b *budget) tick() {
	if b.ticks++; b.ticks&1023 == 0 {
		b.check()
	}
}

func (b *budget) check() {
	if err := b.ctx.Err(); err != nil {
		panic(stop{err})
	}
	if time.Now().After(b.deadline) {
		panic(stop{ErrTooSlow})
	}
}

func (b *budget) takeGlyph() {
	if b.glyphs--; b.glyphs < 0 {
		panic(stop{ErrTooLarge})
	}
	b.tick()
}

// Extract returns the text of a file. The error is one of this package's, or the context's.
func Extract(ctx context.Context, data []byte, l Limits) (t Text, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			t, err = Text{}, r.err
		default:
			panic(r)
		}
	}()
	b := &budget{ctx: ctx, deadline: time.Now().Add(l.Time), decoded: l.Decoded, glyphs: l.Glyphs}
	f, err := open(data, b)
	if err != nil {
		return Text{}, err
	}
	t = f.info()
	f.eachPage(func(n int, p page) bool {
		if n >= l.Pages {
			t.Cut = true
			return false
		}
		text, heading := f.pageText(p)
		if n == 0 {
			t.Heading = heading
		}
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
		switch r := recover().(type) {
		case nil:
		case stop:
			panic(r)
		default:
			text, heading = "", ""
		}
	}()
	return layOut(f.glyphs(p))
}
