package format

import (
	"encoding/xml"
	"strconv"
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
	main := o.mainPart("word/document.xml")
	relations := o.relations(main)
	w := &docxWriter{
		styles:  readDocxStyles(o, related(relations, "styles", "word/styles.xml")),
		numbers: readDocxNumbers(o, related(relations, "numbering", "word/numbering.xml")),
		counts:  map[string]int{},
	}
	found, err := o.tokens(main, w.visit)
	if err != nil {
		return source.Document{}, err
	}
	if !found {
		return source.Document{}, fault("holds no text document")
	}
	for _, kind := range []string{"footnotes", "endnotes"} {
		w.flow.want(gapParagraph)
		if _, err := o.tokens(related(relations, kind, "word/"+kind+".xml"), w.visit); err != nil {
			return source.Document{}, err
		}
	}
	d := source.Document{Text: w.flow.String(), Year: yearOfDate(w.date)}
	o.coreProperties().describe(&d, firstOf(w.title, w.heading), name)
	return d, nil
}

// docxWriter collects the text of a Word file.
type docxWriter struct {
	flow    flow
	styles  map[string]docxStyle
	numbers docxNumbers
	// counts is the number of items so far, by list and level.
	counts map[string]int
	// The first paragraphs in title, heading and date styles.
	title, heading, date string
	style                docxStyle
	paragraph            strings.Builder
	inText, begun        bool
	// afterItem is set if the last text was a list item.
	afterItem bool
	// skipped is the number of open elements in one that is left out.
	skipped int
	// choices holds, for each open alternative content, the length of the text before it.
	choices []int
}

// docxSkipped are elements whose text is not part of the document: deleted and moved text, and readings of characters.
var docxSkipped = map[string]bool{"del": true, "moveFrom": true, "rt": true}

func (w *docxWriter) visit(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		if w.skipped > 0 || docxSkipped[t.Name.Local] || t.Name.Local == "Fallback" && w.chosen() {
			w.skipped++
			return
		}
		w.open(t)
	case xml.EndElement:
		if w.skipped > 0 {
			w.skipped--
			return
		}
		w.close(t.Name.Local)
	case xml.CharData:
		if w.inText && w.skipped == 0 {
			w.begin()
			w.flow.words(string(t))
			if w.paragraph.Len() < maxTitle {
				w.paragraph.Write(t)
			}
		}
	}
}

// chosen reports whether the preferred alternative of some content has written text, so that the other is left out.
func (w *docxWriter) chosen() bool {
	n := len(w.choices)
	return n > 0 && w.length() > w.choices[n-1]
}

func (w *docxWriter) length() int { return w.flow.innermost().b.Len() }

func (w *docxWriter) open(e xml.StartElement) {
	switch e.Name.Local {
	case "p":
		w.flow.want(gapParagraph)
		w.style, w.begun = docxStyle{}, false
		w.paragraph.Reset()
	case "pStyle":
		w.style = w.styleOf(attribute(e, "val"))
	case "outlineLvl":
		if level, err := strconv.Atoi(attribute(e, "val")); err == nil && level < 9 {
			w.style.level = level + 1
		}
	case "numId":
		w.style.list = attribute(e, "val")
	case "ilvl":
		w.style.depth, _ = strconv.Atoi(attribute(e, "val")) // 0 if it is no number
	case "t":
		w.inText = true
	case "tab", "ptab":
		w.flow.want(gapSpace)
	case "noBreakHyphen":
		w.flow.words("-")
	case "br", "cr":
		w.flow.want(gapLine)
	case "tbl":
		w.flow.openTable()
	case "tr":
		w.flow.openRow()
	case "tc":
		w.flow.openCell()
	case "AlternateContent":
		w.choices = append(w.choices, w.length())
	}
}

// begin writes the mark of a heading or list item before the first text of a paragraph.
func (w *docxWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	defer func() { w.afterItem = w.style.isItem() && w.style.level == 0 }()
	switch {
	case w.style.level > 0:
		w.flow.openHeading(w.style.level)
	case w.style.isItem():
		w.flow.tighten(w.afterItem)
		w.flow.item(w.style.depth, w.numbers.next(w.counts, w.style.list, w.style.depth))
	}
}

func (w *docxWriter) close(element string) {
	switch element {
	case "t":
		w.inText = false
	case "p":
		w.closeParagraph()
	case "tc":
		w.flow.closeCell()
	case "tr":
		w.flow.closeRow()
	case "tbl":
		w.flow.closeTable()
	case "AlternateContent":
		if n := len(w.choices); n > 0 {
			w.choices = w.choices[:n-1]
		}
	}
}

func (w *docxWriter) closeParagraph() {
	text := strings.TrimSpace(w.paragraph.String())
	switch {
	case text == "":
	case w.title == "" && w.style.name == "title":
		w.title = text
	case w.heading == "" && w.style.level > 0:
		w.heading = text
	case w.date == "" && w.style.name == "date":
		w.date = text
	}
	if w.style.level > 0 {
		w.flow.closeHeading()
	}
	w.flow.want(gapParagraph)
	w.style, w.begun = docxStyle{}, false
}
