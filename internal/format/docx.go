package format

import (
	"encoding/xml"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// parseDOCX reads a Word file (Office Open XML).
func parseDOCX(b *budget.Budget, name string, data []byte) (source.Document, error) {
	o, leave, err := openOffice(b, data)
	if err != nil {
		return source.Document{}, err
	}
	defer leave()
	w := &docxWriter{}
	found, err := o.tokens("word/document.xml", w.visit)
	if err != nil {
		return source.Document{}, err
	}
	if !found {
		return source.Document{}, fault("holds no text document")
	}
	for _, notes := range []string{"word/footnotes.xml", "word/endnotes.xml"} {
		w.flow.want(gapParagraph)
		if _, err := o.tokens(notes, w.visit); err != nil {
			return source.Document{}, err
		}
	}
	core := coreReader{values: dublinCore{}}
	_, _ = o.tokens("docProps/core.xml", core.visit) // the metadata is optional; values before an error are kept
	dc := core.values
	d := source.Document{Text: w.flow.String()}
	d.Title = oneLine(firstOf(dc.first("title"), w.title, w.heading, titleLine(d.Text), stem(name)))
	d.Authors = splitNames(dc.first("creator"))
	d.DOI = doiIn(d.Text)
	if d.Year = yearOfDate(w.date); d.Year == 0 {
		d.Year = yearIn(d.Text)
	}
	if d.Year == 0 {
		d.Year = yearOfDate(dc.first("created"))
	}
	return d, nil
}

// docxWriter collects the text of a Word file.
type docxWriter struct {
	flow flow
	// The first paragraphs in title, heading and date styles.
	title, heading, date string
	style                string
	paragraph            strings.Builder
	inText               bool
	// cells is the number of open table cells, in which paragraphs are parts of a line.
	cells int
}

func (w *docxWriter) visit(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		w.open(t)
	case xml.EndElement:
		w.close(t.Name.Local)
	case xml.CharData:
		if w.inText {
			w.flow.words(string(t))
			if w.paragraph.Len() < maxTitle {
				w.paragraph.Write(t)
			}
		}
	}
}

func (w *docxWriter) open(e xml.StartElement) {
	switch e.Name.Local {
	case "p":
		w.around()
		w.style = ""
		w.paragraph.Reset()
	case "pStyle":
		w.style = strings.ToLower(attribute(e, "val"))
	case "t":
		w.inText = true
	case "tab":
		w.flow.want(gapSpace)
	case "br", "cr":
		w.flow.want(gapLine)
	case "tc":
		w.cells++
	case "tbl":
		w.flow.want(gapParagraph)
	}
}

// around requests a gap around a paragraph.
func (w *docxWriter) around() {
	if w.cells > 0 {
		w.flow.want(gapSpace)
		return
	}
	w.flow.want(gapParagraph)
}

func (w *docxWriter) close(element string) {
	switch element {
	case "t":
		w.inText = false
	case "p":
		text := strings.TrimSpace(w.paragraph.String())
		switch {
		case w.title == "" && w.style == "title":
			w.title = text
		case w.heading == "" && strings.HasPrefix(w.style, "heading"):
			w.heading = text
		case w.date == "" && w.style == "date":
			w.date = text
		}
		w.around()
	case "tc":
		w.cells--
		w.flow.want(gapCell)
	case "tr":
		w.flow.want(gapLine)
	case "tbl":
		w.flow.want(gapParagraph)
	}
}
