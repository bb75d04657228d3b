package transcript

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/text/unicode/norm"
)

// The measures of a page in points: A4 with its margins, the size of the text and the indentation of lists.
const (
	pageWidth, pageHeight = 595.28, 841.89
	pageMargin            = 62.0
	textSize              = 10.5
	codeSize              = 9.0
	lineFactor            = 1.42
	paragraphSpace        = 6.0
	pdfIndent             = 18.0
	maxPDFIndent          = 180.0
	cellPadding           = 4.0
)

// headingSizes are the sizes of the headings by level. The first is that of the title.
var headingSizes = []float64{20, 20, 14, 12.5, 11.5, 10.5, 10.5}

const missingNote = "The font of this file lacks some characters, which are shown as boxes. " +
	"The Markdown and Word files contain them."

// The fonts cover Latin, Greek and Cyrillic.
var (
	regularFont = sync.OnceValue(func() *trueType { return parseTrueType(goregular.TTF, false, false) })
	boldFont    = sync.OnceValue(func() *trueType { return parseTrueType(gobold.TTF, false, false) })
	italicFont  = sync.OnceValue(func() *trueType { return parseTrueType(goitalic.TTF, true, false) })
	monoFont    = sync.OnceValue(func() *trueType { return parseTrueType(gomono.TTF, false, true) })
)

// similar replaces characters that the fonts lack by similar ones, and removes invisible ones.
var similar = strings.NewReplacer(
	"∅", "Ø", "\u00a0", " ", "\u2007", " ", "\u2009", " ", "\u202f", " ", "\u2002", " ", "\u2003", " ", "\u2010", "-",
	"\u2011", "-", "\u200b", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "", "\ufe0f", "", "\t", "    ",
)

// pdfPage is the content of a page and its links.
type pdfPage struct {
	bytes.Buffer
	links []string
}

// pdf lays a transcript out on pages.
type pdf struct {
	fonts map[string]*pdfFont
	order []*pdfFont
	pages []*pdfPage
	// y is the upper end of the free space, and indent the distance of the text from the margin.
	y, indent float64
	// marker is the number or bullet of the next line.
	marker  string
	missing bool
}

func writePDF(w io.Writer, t Transcript) error {
	d := &pdf{fonts: map[string]*pdfFont{}}
	d.newPage()
	d.heading(0, plain(t.Title))
	d.blocks(t.document())
	if d.missing {
		d.space(2 * paragraphSpace)
		d.text([]Span{{Text: missingNote, Italic: true}}, textSize)
	}
	_, err := w.Write(d.file(t))
	return err
}

// file writes the pages, with their numbers, and the fonts.
func (d *pdf) file(t Transcript) []byte {
	p := newPDFFile()
	catalog, pages := p.reserve(), p.reserve()
	for i, page := range d.pages {
		number := fmt.Sprintf("%d / %d", i+1, len(d.pages))
		f := d.font(Span{})
		d.show(page, f, 8, (pageWidth-f.textWidth(number, 8))/2, pageMargin/2, number, "0.4 g")
	}
	resources := p.reserve()
	kids := make([]string, len(d.pages))
	for i, page := range d.pages {
		content := p.stream("", page.Bytes())
		kids[i] = fmt.Sprintf("%d 0 R", p.object(fmt.Sprintf(
			"<< /Type /Page /Parent %d 0 R /Resources %d 0 R /MediaBox [0 0 %.2f %.2f] /Contents %d 0 R /Annots [%s] >>",
			pages, resources, pageWidth, pageHeight, content, strings.Join(page.links, " "))))
	}
	var fonts strings.Builder
	for i, f := range d.order {
		fmt.Fprintf(&fonts, "/F%d %d 0 R ", i, f.write(p))
	}
	p.set(resources, "<< /Font << "+fonts.String()+">> >>")
	p.set(pages, fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids)))
	p.set(catalog, fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R /ViewerPreferences << /DisplayDocTitle true >> >>", pages))
	return p.finish(catalog, p.object("<< /Title "+pdfText(t.Title)+" /Producer (Carrel) >>"))
}

// font returns the font of a style.
func (d *pdf) font(s Span) *pdfFont {
	name, load := "GoRegular", regularFont
	switch {
	case s.Code:
		name, load = "GoMono", monoFont
	case s.Bold:
		name, load = "GoBold", boldFont
	case s.Italic:
		name, load = "GoItalic", italicFont
	}
	f, ok := d.fonts[name]
	if !ok {
		f = &pdfFont{trueType: load(), name: name, codes: map[rune]int{}}
		d.fonts[name] = f
		d.order = append(d.order, f)
	}
	return f
}

func (d *pdf) page() *pdfPage { return d.pages[len(d.pages)-1] }

func (d *pdf) newPage() {
	d.pages = append(d.pages, &pdfPage{})
	d.y = pageHeight - pageMargin
}

// require starts a new page if less than this height is left.
func (d *pdf) require(height float64) {
	if d.y-height < pageMargin {
		d.newPage()
	}
}

// space adds vertical space, except at the top of a page.
func (d *pdf) space(height float64) {
	if d.y < pageHeight-pageMargin {
		d.y -= height
	}
}

// show writes text at a position. colour is an operator of the content stream.
func (d *pdf) show(page *pdfPage, f *pdfFont, size, x, y float64, text, colour string) {
	for i, known := range d.order {
		if known == f {
			fmt.Fprintf(page, "%s BT /F%d %.2f Tf %.2f %.2f Td %s Tj ET\n", colour, i, size, x, y, f.encode(text))
		}
	}
}

func (d *pdf) blocks(blocks []Block) {
	for _, b := range blocks {
		d.block(b)
	}
}

func (d *pdf) block(b Block) {
	switch b.Kind {
	case Heading:
		d.heading(b.Level, b.Spans)
	case Code:
		d.code(b.Text)
	case Rule:
		d.space(paragraphSpace)
		d.require(paragraphSpace)
		fmt.Fprintf(d.page(), "0.7 G 0.5 w %.2f %.2f m %.2f %.2f l S\n", pageMargin+d.indent, d.y, pageWidth-pageMargin, d.y)
		d.y -= paragraphSpace
	case Quotation:
		d.indented(func() { d.blocks(b.Items[0]) })
	case BulletList, NumberedList:
		for i, item := range b.Items {
			d.indented(func() {
				d.marker = "•"
				if b.Kind == NumberedList {
					d.marker = strconv.Itoa(b.Start+i) + "."
				}
				if len(item) == 0 {
					d.text(plain(" "), textSize)
				}
				d.blocks(item)
			})
		}
	case Table:
		d.table(b)
	case Paragraph:
		d.space(paragraphSpace)
		d.text(b.Spans, textSize)
	}
}

// indented lays out further to the right. Deep nesting does not use up the whole width.
func (d *pdf) indented(content func()) {
	before := d.indent
	d.indent = min(d.indent+pdfIndent, maxPDFIndent)
	content()
	d.indent = before
}

func (d *pdf) heading(level int, spans []Span) {
	size := headingSizes[level]
	d.space(size)
	d.require(4 * size) // with some of the text that follows
	d.text(emboldened(spans), size)
}

// text lays out a paragraph.
func (d *pdf) text(spans []Span, size float64) {
	for _, line := range d.lines(spans, size, pageWidth-2*pageMargin-d.indent) {
		d.require(size * lineFactor)
		d.y -= size * lineFactor
		if d.marker != "" {
			f := d.font(Span{})
			d.show(d.page(), f, size, pageMargin+d.indent-f.textWidth(d.marker, size)-5, d.y+0.3*size, d.marker, "0 g")
			d.marker = ""
		}
		d.line(line, size, pageMargin+d.indent, d.y+0.3*size)
	}
}

func (d *pdf) code(text string) {
	d.space(paragraphSpace)
	d.marker = ""
	const height = codeSize * 1.35
	for _, line := range d.lines([]Span{{Text: text, Code: true}}, codeSize, pageWidth-2*pageMargin-d.indent-12) {
		d.require(height)
		d.y -= height
		fmt.Fprintf(d.page(), "0.95 g %.2f %.2f %.2f %.2f re f\n", pageMargin+d.indent, d.y, pageWidth-2*pageMargin-d.indent,
			height+0.5)
		d.line(line, codeSize, pageMargin+d.indent+6, d.y+0.3*codeSize)
	}
}

// table lays out the rows in columns of the same width. A row that is higher than a page continues on the next one.
func (d *pdf) table(b Block) {
	if len(b.Rows) == 0 || len(b.Rows[0]) == 0 {
		return
	}
	d.space(paragraphSpace)
	d.marker = ""
	const height = textSize * lineFactor
	width := (pageWidth - 2*pageMargin - d.indent) / float64(len(b.Rows[0]))
	for i, row := range b.Rows {
		cells, most := make([][][]piece, len(row)), 1
		for j, cell := range row {
			if i == 0 {
				cell = emboldened(cell)
			}
			cells[j] = d.lines(cell, textSize, max(width-2*cellPadding, textSize))
			most = max(most, len(cells[j]))
		}
		for from := 0; from < most; {
			d.require(min(float64(most-from)*height+2*cellPadding, pageHeight-2*pageMargin))
			n := min(most-from, int((d.y-pageMargin-2*cellPadding)/height))
			d.row(cells, from, from+n, width)
			from += n
		}
	}
}

// row draws the lines of the cells of a row between two numbers.
func (d *pdf) row(cells [][][]piece, from, to int, width float64) {
	const lineHeight = textSize * lineFactor
	height := float64(to-from)*lineHeight + 2*cellPadding
	for j, lines := range cells {
		x := pageMargin + d.indent + float64(j)*width
		fmt.Fprintf(d.page(), "0.7 G 0.5 w %.2f %.2f %.2f %.2f re S\n", x, d.y-height, width, height)
		for n := from; n < min(to, len(lines)); n++ {
			y := d.y - cellPadding - float64(n-from+1)*lineHeight
			d.line(lines[n], textSize, x+cellPadding, y+0.3*textSize)
		}
	}
	d.y -= height
}

// piece is text of a line in one style.
type piece struct {
	Span
	width float64
}

const (
	blackInk   = "0 g"
	problemInk = "0.702 0.149 0.118 rg"
	linkInk    = "0.114 0.373 0.659 rg"
)

// line draws the pieces of a line.
func (d *pdf) line(pieces []piece, size, x, y float64) {
	for _, p := range pieces {
		ink := blackInk
		switch {
		case p.Link != "":
			ink = linkInk
			d.page().links = append(d.page().links, fmt.Sprintf("<< /Type /Annot /Subtype /Link /Border [0 0 0]"+
				" /Rect [%.2f %.2f %.2f %.2f] /A << /S /URI /URI %s >> >>", x, y-2, x+p.width, y+size, pdfURI(p.Link)))
		case p.check == markOfProblem:
			ink = problemInk
		}
		d.show(d.page(), d.font(p.Span), size, x, y, p.Text, ink)
		if p.Strike {
			fmt.Fprintf(d.page(), "0 G 0.5 w %.2f %.2f m %.2f %.2f l S\n", x, y+size*0.3, x+p.width, y+size*0.3)
		}
		x += p.width
	}
}

// markOfProblem is the check of the spans with the mark of a problem.
const markOfProblem = -2

// lines breaks spans into lines of at most a width.
func (d *pdf) lines(spans []Span, size, width float64) [][]piece {
	b := breaker{width: width}
	for _, s := range spans {
		b.add(d, s, size)
		if mark := s.Mark(); mark != "" {
			b.add(d, Span{Text: " " + mark, Bold: true, check: markOfProblem}, size)
		}
	}
	b.endLine()
	return b.lines
}

// breaker breaks text into lines: at spaces, and inside of words that are longer than a line.
type breaker struct {
	width, used float64
	line        []piece
	lines       [][]piece
}

func (b *breaker) endLine() {
	b.lines = append(b.lines, b.line)
	b.line, b.used = nil, 0
}

func (b *breaker) add(d *pdf, s Span, size float64) {
	f := d.font(s)
	text := norm.NFC.String(similar.Replace(s.Text))
	for _, r := range text {
		d.missing = d.missing || r != '\n' && f.glyphOf[r] == 0
	}
	for i, paragraph := range strings.Split(text, "\n") {
		if i > 0 {
			b.endLine()
		}
		for paragraph != "" {
			end := wordEnd(paragraph)
			word := paragraph[:end]
			paragraph = paragraph[end:]
			width := f.textWidth(word, size)
			// A space at the end of a line may exceed it.
			if b.used > 0 && b.used+f.textWidth(strings.TrimRight(word, " "), size) > b.width {
				b.endLine()
			}
			for width > b.width && strings.TrimRight(word, " ") != "" {
				head := fitting(f, word, size, b.width)
				if head == word {
					break
				}
				b.append(s, head, f.textWidth(head, size))
				b.endLine()
				word = word[len(head):]
				width = f.textWidth(word, size)
			}
			b.append(s, word, width)
		}
	}
}

// append adds text to the line, to the last piece if it has the same style.
func (b *breaker) append(s Span, text string, width float64) {
	b.used += width
	if n := len(b.line); n > 0 {
		last := b.line[n-1].Span
		last.Text = s.Text
		if last == s {
			b.line[n-1].Text += text
			b.line[n-1].width += width
			return
		}
	}
	s.Text = text
	b.line = append(b.line, piece{s, width})
}

// wordEnd returns the end of the first word with the spaces after it.
func wordEnd(s string) int {
	end := strings.IndexByte(s, ' ')
	if end < 0 {
		return len(s)
	}
	for end < len(s) && s[end] == ' ' {
		end++
	}
	return end
}

// fitting returns the longest start of a word that fits a width, at least one character.
func fitting(f *pdfFont, word string, size, width float64) string {
	used := 0.0
	for i, r := range word {
		used += f.textWidth(string(r), size)
		if used > width && i > 0 {
			return word[:i]
		}
	}
	return word
}
