package format

import (
	"encoding/xml"
	"strconv"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// maxSlides limits the slides of a presentation and the sheets of a workbook.
const maxSlides = 5000

// pageBreak separates slides and sheets, as it separates the pages of a PDF.
const pageBreak = "\f"

// parsePPTX reads a presentation (Office Open XML). Each slide is a page with its notes.
func parsePPTX(b *budget.Budget, name string, data []byte) (source.Document, error) {
	o, leave, err := openOffice(b, data)
	if err != nil {
		return source.Document{}, err
	}
	defer leave()
	main := o.mainPart("ppt/presentation.xml")
	slides, found, err := o.listed(main, "sldId")
	if err != nil {
		return source.Document{}, err
	}
	if !found {
		return source.Document{}, fault("holds no presentation")
	}
	var text strings.Builder
	title := ""
	for i, slide := range slides {
		s, err := readSlide(o, slide)
		if err != nil {
			return source.Document{}, err
		}
		if i > 0 {
			text.WriteString(pageBreak)
		}
		text.WriteString(s.flow.String())
		title = firstOf(title, s.title.String())
		if text.Len() > maxText {
			break // the document exceeds the limit and is rejected
		}
	}
	d := source.Document{Text: strings.TrimRight(text.String(), pageBreak), Type: "presentation"}
	o.coreProperties().describe(&d, title, name)
	return d, nil
}

// listed returns the parts that a main part lists in elements with this name, in their order.
func (o *office) listed(main, element string) (parts []string, found bool, err error) {
	targets := map[string]string{}
	for _, r := range o.relations(main) {
		targets[r.id] = r.target
	}
	found, err = o.tokens(main, func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != element || len(parts) >= maxSlides {
			return
		}
		for _, a := range e.Attr {
			if target := targets[a.Value]; a.Name.Local == "id" && target != "" {
				parts = append(parts, target)
				break
			}
		}
	})
	return parts, found, err
}

// readSlide returns the text of a slide, of the diagrams on it, and of its notes.
func readSlide(o *office, part string) (*slideWriter, error) {
	s := &slideWriter{}
	if _, err := o.tokens(part, s.visit); err != nil {
		return nil, err
	}
	for _, r := range o.relations(part) {
		switch r.kind {
		case "diagramData":
			s.flow.want(gapParagraph)
			if _, err := o.tokens(r.target, s.visit); err != nil {
				return nil, err
			}
		case "notesSlide":
			notes := &slideWriter{isNotes: true}
			if _, err := o.tokens(r.target, notes.visit); err != nil {
				return nil, err
			}
			if text := notes.flow.String(); text != "" {
				s.flow.want(gapParagraph)
				s.flow.verbatim("Notes: " + text)
			}
		}
	}
	return s, nil
}

// slideWriter collects the text of a slide.
type slideWriter struct {
	flow    flow
	title   flow
	isNotes bool
	// placeholder is the type of the current shape, "-" for none.
	placeholder string
	level       int
	inText      bool
	begun       bool
	afterItem   bool
	skipped     int
	choices     []int
}

// slideFurniture are placeholders that repeat on all slides.
var slideFurniture = map[string]bool{"sldNum": true, "dt": true, "ftr": true, "hdr": true, "sldImg": true}

func (w *slideWriter) visit(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		if n := len(w.choices); w.skipped > 0 ||
			t.Name.Local == "Fallback" && n > 0 && w.flow.innermost().b.Len() > w.choices[n-1] {
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
		if w.inText && w.skipped == 0 && !slideFurniture[w.placeholder] {
			w.write(string(t))
		}
	}
}

func (w *slideWriter) open(e xml.StartElement) {
	switch e.Name.Local {
	case "sp", "graphicFrame":
		w.placeholder = "-"
	case "ph":
		w.placeholder = attribute(e, "type")
	case "p":
		w.flow.want(gapParagraph)
		w.level, w.begun = 0, false
	case "pPr":
		w.level, _ = strconv.Atoi(attribute(e, "lvl")) // 0 if it is missing
	case "t":
		w.inText = true
	case "br":
		w.flow.want(gapLine)
	case "tab":
		w.flow.want(gapSpace)
	case "tbl":
		w.flow.openTable()
	case "tr":
		w.flow.openRow()
	case "tc":
		w.flow.openCell()
	case "AlternateContent":
		w.choices = append(w.choices, w.flow.innermost().b.Len())
	}
}

func (w *slideWriter) isTitle() bool {
	return !w.isNotes && (w.placeholder == "title" || w.placeholder == "ctrTitle")
}

// isItem reports whether the paragraphs of the current shape are items of a list.
func (w *slideWriter) isItem() bool {
	return !w.isNotes && (w.placeholder == "" || w.placeholder == "body" || w.placeholder == "obj" || w.level > 0)
}

func (w *slideWriter) write(s string) {
	if !w.begun {
		w.begun = true
		switch {
		case w.isTitle():
			w.flow.openHeading(2)
			w.afterItem = false
		case w.isItem():
			w.flow.tighten(w.afterItem)
			w.flow.item(w.level, 0)
			w.afterItem = true
		default:
			w.afterItem = false
		}
	}
	w.flow.words(s)
	if w.isTitle() {
		w.title.words(s)
	}
}

func (w *slideWriter) close(element string) {
	switch element {
	case "t":
		w.inText = false
	case "p":
		if w.isTitle() {
			w.flow.closeHeading()
			w.title.want(gapSpace)
		}
		w.flow.want(gapParagraph)
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
