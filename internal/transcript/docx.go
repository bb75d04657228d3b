package transcript

import (
	"archive/zip"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"time"
)

// The fixed parts of a Word file (ECMA-376).
const (
	xmlHead      = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	wordSpace    = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	relations    = `http://schemas.openxmlformats.org/officeDocument/2006/relationships`
	packageRels  = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	contentTypes = xmlHead + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/word/document.xml" ContentType="` + wordType + `.document.main+xml"/>` +
		`<Override PartName="/word/styles.xml" ContentType="` + wordType + `.styles+xml"/>` +
		`<Override PartName="/word/numbering.xml" ContentType="` + wordType + `.numbering+xml"/>` +
		`<Override PartName="/docProps/core.xml" ` +
		`ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>`
	wordType = `application/vnd.openxmlformats-officedocument.wordprocessingml`
	rootRels = xmlHead + packageRels +
		`<Relationship Id="rId1" Type="` + relations + `/officeDocument" Target="word/document.xml"/>` +
		`<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/` +
		`core-properties" Target="docProps/core.xml"/></Relationships>`
)

// Colours of problem marks and links.
const (
	problemColour = "B3261E"
	linkColour    = "1D5FA8"
)

// docx writes a transcript as a Word file.
type docx struct {
	body strings.Builder
	// links are the addresses of the relationships, from rId10 on. lists are the first numbers of the numbered lists.
	links []string
	lists []int
}

const (
	firstLink   = 10
	firstList   = 2 // the number of the definition of the first numbered list; 1 is that of bullets
	listIndent  = 360
	maxDocxList = 8 // Word has nine levels of lists
)

func writeDOCX(w io.Writer, t Transcript) error {
	var d docx
	d.paragraph("Title", "", plain(t.Title))
	d.blocks(t.document(), 0)
	z := zip.NewWriter(w)
	for _, part := range []struct{ name, content string }{
		{"[Content_Types].xml", contentTypes},
		{"_rels/.rels", rootRels},
		{"docProps/core.xml", coreProperties(t)},
		{"word/document.xml", xmlHead + `<w:document ` + wordSpace + ` xmlns:r="` + relations + `"><w:body>` +
			d.body.String() + `<w:sectPr><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1247" w:right="1247" ` +
			`w:bottom="1247" w:left="1247" w:header="708" w:footer="708" w:gutter="0"/></w:sectPr></w:body></w:document>`},
		{"word/styles.xml", docxStyles()},
		{"word/numbering.xml", d.numbering()},
		{"word/_rels/document.xml.rels", d.relationships()},
	} {
		// Without a time, so that the same transcript is the same file.
		f, err := z.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, part.content); err != nil {
			return err
		}
	}
	return z.Close()
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}

func coreProperties(t Transcript) string {
	created := ""
	if n := len(t.Messages); n > 0 {
		created = `<dcterms:created xsi:type="dcterms:W3CDTF">` + t.Messages[n-1].At.UTC().Format(time.RFC3339) +
			`</dcterms:created>`
	}
	return xmlHead + `<cp:coreProperties ` +
		`xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" ` +
		`xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>` + escaped(t.Title) + `</dc:title>` + created +
		`</cp:coreProperties>`
}

func (d *docx) write(parts ...string) {
	for _, p := range parts {
		_, _ = d.body.WriteString(p)
	}
}

// paragraph writes a paragraph with a style and further properties.
func (d *docx) paragraph(style, properties string, spans []Span) {
	d.write(`<w:p><w:pPr>`)
	if style != "" {
		d.write(`<w:pStyle w:val="`, style, `"/>`)
	}
	d.write(properties, `</w:pPr>`)
	for _, s := range spans {
		d.span(s)
	}
	d.write(`</w:p>`)
}

// blocks writes blocks that are inside of this many lists and quotations.
func (d *docx) blocks(blocks []Block, level int) {
	for _, b := range blocks {
		d.block(b, level, indented(level))
	}
}

func indented(level int) string {
	if level == 0 {
		return ""
	}
	return `<w:ind w:left="` + strconv.Itoa(level*listIndent) + `"/>`
}

// block writes a block. The properties of a list item number its first paragraph.
func (d *docx) block(b Block, level int, properties string) {
	switch b.Kind {
	case Heading:
		d.paragraph("Heading"+strconv.Itoa(b.Level), properties, b.Spans)
	case Code:
		d.paragraph("Code", properties, []Span{{Text: b.Text}})
	case Rule:
		d.paragraph("", `<w:pBdr><w:bottom w:val="single" w:sz="6" w:space="1" w:color="A0A0A0"/></w:pBdr>`+properties, nil)
	case Quotation:
		for _, item := range b.Items {
			d.blocks(item, level+1)
		}
	case BulletList:
		d.list(b, level, 1)
	case NumberedList:
		d.lists = append(d.lists, b.Start)
		d.list(b, level, firstList+len(d.lists)-1)
	case Table:
		d.table(b)
	case Paragraph:
		d.paragraph("", properties, b.Spans)
	}
}

func (d *docx) list(b Block, level, definition int) {
	number := `<w:numPr><w:ilvl w:val="` + strconv.Itoa(min(level, maxDocxList)) + `"/><w:numId w:val="` +
		strconv.Itoa(definition) + `"/></w:numPr>`
	for _, item := range b.Items {
		if len(item) == 0 || item[0].Kind != Paragraph {
			d.paragraph("", number, nil)
		} else {
			d.paragraph("", number, item[0].Spans)
			item = item[1:]
		}
		d.blocks(item, level+1)
	}
}

func (d *docx) table(b Block) {
	if len(b.Rows) == 0 {
		return
	}
	d.write(`<w:tbl><w:tblPr><w:tblStyle w:val="TableGrid"/><w:tblW w:w="5000" w:type="pct"/></w:tblPr><w:tblGrid>`)
	for range b.Rows[0] {
		d.write(`<w:gridCol/>`)
	}
	d.write(`</w:tblGrid>`)
	for i, row := range b.Rows {
		d.write(`<w:tr>`)
		if i == 0 {
			d.write(`<w:trPr><w:tblHeader/></w:trPr>`)
		}
		for _, cell := range row {
			if i == 0 {
				cell = emboldened(cell)
			}
			d.write(`<w:tc><w:tcPr/>`)
			d.paragraph("", `<w:spacing w:after="0"/>`, cell)
			d.write(`</w:tc>`)
		}
		d.write(`</w:tr>`)
	}
	d.write(`</w:tbl>`)
	d.paragraph("", "", nil) // without it, two tables become one
}

func emboldened(spans []Span) []Span {
	out := make([]Span, len(spans))
	for i, s := range spans {
		s.Bold = true
		out[i] = s
	}
	return out
}

// span writes a run of text, with the mark of a problem after it.
func (d *docx) span(s Span) {
	var style strings.Builder
	if s.Code {
		style.WriteString(`<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:cs="Consolas"/>`)
	}
	for _, property := range []struct {
		on   bool
		name string
	}{{s.Bold, "b"}, {s.Italic, "i"}, {s.Strike, "strike"}} {
		if property.on {
			style.WriteString(`<w:` + property.name + `/>`)
		}
	}
	if s.Link == "" {
		d.run(style.String(), s.Text)
	} else {
		d.links = append(d.links, s.Link)
		d.write(`<w:hyperlink r:id="rId`, strconv.Itoa(firstLink+len(d.links)-1), `">`)
		d.run(style.String()+`<w:color w:val="`+linkColour+`"/><w:u w:val="single"/>`, s.Text)
		d.write(`</w:hyperlink>`)
	}
	if mark := s.Mark(); mark != "" {
		d.run(`<w:b/><w:color w:val="`+problemColour+`"/>`, " "+mark)
	}
}

func (d *docx) run(style, text string) {
	d.write(`<w:r><w:rPr>`, style, `</w:rPr>`)
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			d.write(`<w:br/>`)
		}
		for j, part := range strings.Split(line, "\t") {
			if j > 0 {
				d.write(`<w:tab/>`)
			}
			if part != "" {
				d.write(`<w:t xml:space="preserve">`, escaped(part), `</w:t>`)
			}
		}
	}
	d.write(`</w:r>`)
}

func (d *docx) relationships() string {
	var b strings.Builder
	b.WriteString(xmlHead + packageRels +
		`<Relationship Id="rId1" Type="` + relations + `/styles" Target="styles.xml"/>` +
		`<Relationship Id="rId2" Type="` + relations + `/numbering" Target="numbering.xml"/>`)
	for i, link := range d.links {
		b.WriteString(`<Relationship Id="rId` + strconv.Itoa(firstLink+i) + `" Type="` + relations + `/hyperlink" Target="` +
			escaped(link) + `" TargetMode="External"/>`)
	}
	return b.String() + `</Relationships>`
}

// numbering defines the bullets, and each numbered list with its first number.
func (d *docx) numbering() string {
	var b strings.Builder
	b.WriteString(xmlHead + `<w:numbering ` + wordSpace + `>`)
	for id, format := range []string{"bullet", "decimal"} {
		b.WriteString(`<w:abstractNum w:abstractNumId="` + strconv.Itoa(id) + `"><w:multiLevelType w:val="multilevel"/>`)
		for level := range maxDocxList + 1 {
			text := "%" + strconv.Itoa(level+1) + "."
			if id == 0 {
				text = "•"
			}
			b.WriteString(`<w:lvl w:ilvl="` + strconv.Itoa(level) + `"><w:start w:val="1"/><w:numFmt w:val="` + format +
				`"/><w:lvlText w:val="` + text + `"/><w:lvlJc w:val="left"/><w:pPr><w:ind w:left="` +
				strconv.Itoa((level+1)*listIndent) + `" w:hanging="` + strconv.Itoa(listIndent) + `"/></w:pPr></w:lvl>`)
		}
		b.WriteString(`</w:abstractNum>`)
	}
	b.WriteString(`<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>`)
	for i, start := range d.lists {
		b.WriteString(`<w:num w:numId="` + strconv.Itoa(firstList+i) + `"><w:abstractNumId w:val="1"/>`)
		for level := range maxDocxList + 1 {
			b.WriteString(`<w:lvlOverride w:ilvl="` + strconv.Itoa(level) + `"><w:startOverride w:val="` +
				strconv.Itoa(start) + `"/></w:lvlOverride>`)
		}
		b.WriteString(`</w:num>`)
	}
	return b.String() + `</w:numbering>`
}

// docxStyles defines the styles under the names that Word and LibreOffice show.
func docxStyles() string {
	var b strings.Builder
	b.WriteString(xmlHead + `<w:styles ` + wordSpace + `><w:docDefaults><w:rPrDefault><w:rPr>` +
		`<w:rFonts w:ascii="Calibri" w:hAnsi="Calibri" w:cs="Calibri" w:eastAsia="Calibri"/><w:sz w:val="22"/></w:rPr>` +
		`</w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after="120" w:line="276" w:lineRule="auto"/></w:pPr>` +
		`</w:pPrDefault></w:docDefaults>` +
		`<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>`)
	heading := func(id, name, outline, size string) {
		b.WriteString(`<w:style w:type="paragraph" w:styleId="` + id + `"><w:name w:val="` + name +
			`"/><w:basedOn w:val="Normal"/><w:next w:val="Normal"/><w:pPr><w:keepNext/>` +
			`<w:spacing w:before="240" w:after="80"/>` +
			outline + `</w:pPr><w:rPr><w:b/><w:sz w:val="` + size + `"/></w:rPr></w:style>`)
	}
	heading("Title", "Title", "", "40")
	for i, size := range []string{"36", "28", "26", "24", "22", "22"} {
		heading("Heading"+strconv.Itoa(i+1), "heading "+strconv.Itoa(i+1),
			`<w:outlineLvl w:val="`+strconv.Itoa(i)+`"/>`, size)
	}
	b.WriteString(`<w:style w:type="paragraph" w:customStyle="1" w:styleId="Code"><w:name w:val="Code"/>` +
		`<w:basedOn w:val="Normal"/><w:pPr><w:shd w:val="clear" w:color="auto" w:fill="F3F3F0"/>` +
		`<w:spacing w:line="240" w:lineRule="auto"/></w:pPr><w:rPr>` +
		`<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:cs="Consolas"/><w:sz w:val="19"/></w:rPr></w:style>` +
		`<w:style w:type="table" w:styleId="TableGrid"><w:name w:val="Table Grid"/><w:tblPr><w:tblBorders>`)
	for _, side := range []string{"top", "left", "bottom", "right", "insideH", "insideV"} {
		b.WriteString(`<w:` + side + ` w:val="single" w:sz="4" w:space="0" w:color="A0A0A0"/>`)
	}
	return b.String() + `</w:tblBorders></w:tblPr></w:style></w:styles>`
}
