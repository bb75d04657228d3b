package format

import (
	"encoding/xml"
	"strconv"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// parseODF reads a text, a spreadsheet or a presentation in OpenDocument format.
func parseODF(b *budget.Budget, name string, data []byte) (source.Document, error) {
	o, leave, err := openOffice(b, data)
	if err != nil {
		return source.Document{}, err
	}
	defer leave()
	if o.isEncrypted() {
		return source.Document{}, errPassword
	}
	w := &odfWriter{}
	found, err := o.tokens("content.xml", w.visit)
	if err != nil {
		return source.Document{}, err
	}
	if !found {
		return source.Document{}, fault("holds no text document")
	}
	core := coreReader{values: dublinCore{}}
	_, _ = o.tokens("meta.xml", core.visit) // the metadata is optional; values before an error are kept
	d := source.Document{Text: w.flow.String(), Type: w.kind}
	core.values.describe(&d, firstOf(w.title.String(), w.heading.String()), name)
	return d, nil
}

// isEncrypted reports whether the manifest lists encrypted parts (OpenDocument 1.3, part 2, section 3.4).
func (o *office) isEncrypted() bool {
	encrypted := false
	_, _ = o.tokens("META-INF/manifest.xml", func(t xml.Token) { // a damaged manifest lists none
		e, ok := t.(xml.StartElement)
		encrypted = encrypted || ok && e.Name.Local == "encryption-data"
	})
	return encrypted
}

// odfWriter collects the text of an OpenDocument file.
type odfWriter struct {
	flow flow
	kind string
	// title is the first paragraph in a title style, heading the first heading.
	title, heading      flow
	inTitle, inHeading  bool
	paragraphs, skipped int
	pages, notes        int
	noteBegins          bool
	// repeated is how often the current cell is repeated, due the number of empty cells before the next one.
	repeated, due int
}

// odfSkipped are elements whose text is not part of the document.
var odfSkipped = map[string]bool{
	"tracked-changes": true, "annotation": true, "note-citation": true, "forms": true, "scripts": true,
	"automatic-styles": true, "font-face-decls": true, "page-number": true, "sequence-decls": true,
	"notes": true, "desc": true, "ruby-text": true, "date-time-decl": true, "footer-decl": true, "settings": true,
}

func (w *odfWriter) visit(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		if w.skipped > 0 || odfSkipped[t.Name.Local] {
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
		if w.paragraphs > 0 && w.skipped == 0 {
			w.write(string(t))
		}
	}
}

func (w *odfWriter) write(s string) {
	w.flow.words(s)
	if w.inTitle && w.title.b.Len() < maxHeading {
		w.title.words(s)
	}
	if w.inHeading && w.heading.b.Len() < maxHeading {
		w.heading.words(s)
	}
}

func (w *odfWriter) open(e xml.StartElement) {
	switch e.Name.Local {
	case "spreadsheet":
		w.kind = "spreadsheet"
	case "presentation":
		w.kind = "presentation"
	case "page": // a slide
		if w.pages++; w.pages > 1 {
			w.flow.want(gapPage)
		}
	case "h":
		level, err := strconv.Atoi(attribute(e, "outline-level"))
		if err != nil {
			level = 1
		}
		w.paragraphs++
		w.inHeading = w.heading.b.Len() == 0
		w.flow.openHeading(level)
	case "p":
		w.openParagraph(attribute(e, "style-name"))
	case "s", "tab":
		w.flow.want(gapSpace)
	case "line-break":
		w.flow.want(gapLine)
	case "list":
		w.flow.openList(0)
	case "list-item":
		w.flow.openItem()
	case "note-body":
		w.notes++
		w.noteBegins = true
		w.write(" (")
	case "table":
		w.openTable(attribute(e, "name"))
	case "table-row":
		w.flow.openRow()
		w.due = 0
	case "table-cell", "covered-table-cell":
		w.openCell(e)
	}
}

func (w *odfWriter) openParagraph(style string) {
	w.paragraphs++
	if w.notes > 0 {
		if !w.noteBegins {
			w.flow.want(gapSpace)
		}
		w.noteBegins = false
		return
	}
	w.flow.want(gapParagraph)
	if style == "Title" && w.title.b.Len() == 0 {
		w.inTitle = true
		w.flow.openHeading(1)
	}
}

// openTable begins a table. The sheets of a spreadsheet are pages with headings.
func (w *odfWriter) openTable(name string) {
	if w.kind == "spreadsheet" {
		if w.pages++; w.pages > 1 {
			w.flow.want(gapPage)
		}
		w.flow.openHeading(2)
		w.flow.words(name)
		w.flow.closeHeading()
	}
	w.flow.openTable()
}

// openCell begins a cell. Empty cells are repeated up to the end of the sheet, so they are written only when a cell
// with text follows.
func (w *odfWriter) openCell(e xml.StartElement) {
	for ; w.due > 0; w.due-- {
		w.flow.openCell()
	}
	w.flow.openCell()
	w.repeated, _ = strconv.Atoi(attribute(e, "number-columns-repeated")) // 0 if it is missing
}

func (w *odfWriter) close(element string) {
	switch element {
	case "h":
		w.paragraphs--
		w.inHeading = false
		w.flow.closeHeading()
	case "p":
		w.paragraphs--
		if w.notes > 0 {
			return
		}
		if w.inTitle {
			w.inTitle = false
			w.flow.closeHeading()
		}
		w.flow.want(gapParagraph)
	case "note-body":
		w.notes--
		w.flow.innermost().due = gapNone
		w.write(")")
	case "list":
		w.flow.closeList()
	case "list-item":
		w.flow.want(gapLine)
	case "table":
		w.flow.closeTable()
	case "table-row":
		w.flow.closeRow()
	case "table-cell", "covered-table-cell":
		w.closeCell()
	}
}

func (w *odfWriter) closeCell() {
	w.flow.closeCell()
	table, _ := w.flow.owner()
	if table == nil || w.repeated <= 1 || w.repeated > maxColumn {
		return
	}
	if cells := table.table.cells; len(cells) > 0 && cells[len(cells)-1] == "" {
		w.due = w.repeated - 1
	}
	w.repeated = 0
}
