package format

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"

	"carrel/internal/format/budget"
	"carrel/internal/lazyregexp"
	"carrel/internal/source"
)

const (
	// maxColumn limits the columns of a sheet that are read.
	maxColumn = 500
	// memoryShared is the memory of a shared string beyond its text.
	memoryShared = 40
)

// parseXLSX reads a workbook (Office Open XML). Each sheet is a page with a heading.
func parseXLSX(b *budget.Budget, name string, data []byte) (source.Document, error) {
	o, leave, err := openOffice(b, data)
	if err != nil {
		return source.Document{}, err
	}
	defer leave()
	main := o.mainPart("xl/workbook.xml")
	sheets, found, err := o.listed(main, "sheet")
	if err != nil {
		return source.Document{}, err
	}
	if !found {
		return source.Document{}, fault("holds no workbook")
	}
	relations := o.relations(main)
	book := &workbook{dates: readDateStyles(o, related(relations, "styles", "xl/styles.xml"))}
	if err := book.readShared(o, related(relations, "sharedStrings", "xl/sharedStrings.xml")); err != nil {
		return source.Document{}, err
	}
	names := book.readNames(o, main)
	var text strings.Builder
	for i, sheet := range sheets {
		w := &sheetWriter{book: book}
		if i < len(names) {
			w.flow.openHeading(2)
			w.flow.words(names[i])
			w.flow.closeHeading()
		}
		if _, err := o.tokens(sheet, w.visit); err != nil {
			return source.Document{}, err
		}
		if i > 0 {
			text.WriteString(pageBreak)
		}
		if w.rows > 0 {
			text.WriteString(w.flow.String())
		}
		if text.Len() > maxText {
			break // the document exceeds the limit and is rejected
		}
	}
	d := source.Document{Text: strings.Trim(text.String(), pageBreak), Type: "spreadsheet"}
	o.coreProperties().describe(&d, stem(name), name)
	return d, nil
}

// workbook holds the parts that all sheets use.
type workbook struct {
	shared []string
	// dates marks the cell styles that show a number as a date.
	dates    []bool
	date1904 bool
	// size is the length of the cells read so far. Many cells may share one long string.
	size int
}

func (k *workbook) readNames(o *office, main string) (names []string) {
	_, _ = o.tokens(main, func(t xml.Token) { // read before without an error
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case e.Name.Local == "sheet" && len(names) < maxSlides:
			names = append(names, oneLine(attribute(e, "name")))
		case e.Name.Local == "workbookPr":
			k.date1904 = attribute(e, "date1904") == "1" || attribute(e, "date1904") == "true"
		}
	})
	return names
}

func (k *workbook) readShared(o *office, part string) error {
	var text strings.Builder
	inText, phonetic := false, 0
	_, err := o.tokens(part, func(t xml.Token) {
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "si":
				text.Reset()
			case "rPh":
				phonetic++
			case "t":
				inText = phonetic == 0
			}
		case xml.CharData:
			if inText {
				text.Write(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "rPh":
				phonetic--
			case "t":
				inText = false
			case "si":
				o.b.Hold(text.Len() + memoryShared)
				k.shared = append(k.shared, text.String())
			}
		}
	})
	return err
}

var dateFormat = lazyregexp.New(`(?i)[ymdhs]`)

// literalFormat matches the parts of a number format that are no codes: quoted text, colours, escaped characters.
var literalFormat = lazyregexp.New(`"[^"]*"|\[[^\]]*\]|\\.|_.|General`)

// readDateStyles returns which cell styles show dates.
func readDateStyles(o *office, part string) (dates []bool) {
	formats := map[string]bool{}
	inCells := false
	_, _ = o.tokens(part, func(t xml.Token) { // without styles, numbers are numbers
		e, ok := t.(xml.StartElement)
		if !ok {
			if end, is := t.(xml.EndElement); is && end.Name.Local == "cellXfs" {
				inCells = false
			}
			return
		}
		switch e.Name.Local {
		case "numFmt":
			if code := attribute(e, "formatCode"); len(formats) < maxStyles && len(code) < maxTitle {
				formats[attribute(e, "numFmtId")] = dateFormat.MatchString(literalFormat.ReplaceAllString(code, ""))
			}
		case "cellXfs":
			inCells = true
		case "xf":
			if inCells && len(dates) < 10*maxStyles {
				id := attribute(e, "numFmtId")
				n, _ := strconv.Atoi(id) // 0 is no date
				dates = append(dates, n >= 14 && n <= 22 || n >= 45 && n <= 47 || formats[id])
			}
		}
	})
	return dates
}

// sheetWriter collects the rows of a sheet.
type sheetWriter struct {
	book  *workbook
	flow  flow
	rows  int
	cells []string
	// The current cell.
	column      int
	kind, style string
	value       strings.Builder
	inValue     bool
	phonetic    int
}

func (w *sheetWriter) visit(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		w.open(t)
	case xml.CharData:
		if w.inValue && w.phonetic == 0 {
			w.value.Write(t)
		}
	case xml.EndElement:
		w.close(t.Name.Local)
	}
}

func (w *sheetWriter) open(e xml.StartElement) {
	switch e.Name.Local {
	case "sheetData":
		w.flow.openTable()
	case "row":
		w.cells = w.cells[:0]
		w.column = -1
	case "c":
		w.column = columnOf(attribute(e, "r"), w.column+1)
		w.kind, w.style = attribute(e, "t"), attribute(e, "s")
		w.value.Reset()
	case "rPh":
		w.phonetic++
	case "v", "t":
		w.inValue = true
	}
}

func (w *sheetWriter) close(element string) {
	switch element {
	case "v", "t":
		w.inValue = false
	case "rPh":
		w.phonetic--
	case "c":
		if text := w.text(); text != "" && w.column < maxColumn {
			for len(w.cells) < w.column {
				w.cells = append(w.cells, "")
			}
			w.cells = append(w.cells[:w.column], text)
		}
	case "row":
		w.writeRow()
	case "sheetData":
		w.flow.closeTable()
	}
}

func (w *sheetWriter) writeRow() {
	if len(w.cells) == 0 {
		return
	}
	for _, cell := range w.cells {
		w.book.size += len(cell)
	}
	if w.book.size > maxText+maxXMLToken {
		return // the document exceeds the limit and is rejected
	}
	w.rows++
	w.flow.openRow()
	for _, cell := range w.cells {
		w.flow.openCell()
		w.flow.words(cell)
		w.flow.closeCell()
	}
	w.flow.closeRow()
}

// text returns the value of the current cell as it is shown.
func (w *sheetWriter) text() string {
	value := w.value.String()
	switch w.kind {
	case "s":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n >= len(w.book.shared) {
			return ""
		}
		return w.book.shared[n]
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[value]
	case "e":
		return ""
	case "", "n":
		return w.number(value)
	}
	return value
}

func (w *sheetWriter) number(value string) string {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return ""
	}
	if style, err := strconv.Atoi(w.style); err == nil && style >= 0 && style < len(w.book.dates) &&
		w.book.dates[style] && f >= 0 && f < 3e6 {
		return w.book.date(f)
	}
	if len(value) > 12 {
		// Binary fractions such as 0.30000000000000004 are shown rounded.
		return strconv.FormatFloat(f, 'g', 12, 64)
	}
	return value
}

// date formats a serial date: days since 30 December 1899, or since 1904 in old files of Macs.
func (k *workbook) date(days float64) string {
	start := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if k.date1904 {
		start = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	whole, part := math.Modf(days)
	at := start.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*86400)) * time.Second)
	switch {
	case whole == 0:
		return at.Format("15:04:05")
	case part == 0:
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02 15:04")
}

// columnOf returns the column of a cell reference such as "AB12", counted from 0.
func columnOf(reference string, fallback int) int {
	n := 0
	for i := 0; i < len(reference) && i < 4; i++ {
		c := reference[i]
		if c < 'A' || c > 'Z' {
			break
		}
		n = 26*n + int(c-'A') + 1
	}
	if n == 0 {
		return fallback
	}
	return n - 1
}
