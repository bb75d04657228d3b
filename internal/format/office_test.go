package format

import (
	"archive/zip"
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"carrel/internal/source"
)

// zipped packs parts, given as pairs of name and content.
func zipped(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(parts[i+1]))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// word packs a Word file with this body and further parts.
func word(t *testing.T, body string, parts ...string) []byte {
	t.Helper()
	document := `<w:document xmlns:w="w"><w:body>` + body + `</w:body></w:document>`
	return zipped(t, append([]string{"word/document.xml", document}, parts...)...)
}

// par is a Word paragraph with a style.
func par(style, text string) string {
	return fmt.Sprintf(`<w:p><w:pPr><w:pStyle w:val="%s"/></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, style, text)
}

// listItem is a Word paragraph in a list.
func listItem(level int, text string) string {
	return fmt.Sprintf(
		`<w:p><w:pPr><w:numPr><w:ilvl w:val="%d"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`,
		level, text,
	)
}

func TestWordTextKeepsItsStructure(t *testing.T) {
	t.Parallel()
	cell := func(s string) string { return "<w:tc>" + par("", s) + "</w:tc>" }
	for name, c := range map[string]struct{ body, want string }{
		"paragraphs": {par("", "one") + par("", "two"), "one\n\ntwo"},
		"runs": {
			`<w:p><w:r><w:t>sp</w:t></w:r><w:r><w:t>lit </w:t></w:r><w:r><w:t>word</w:t></w:r></w:p>`, "split word",
		},
		"tabs and breaks": {`<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>`, "a b\nc"},
		"a table": {
			`<w:tbl><w:tr>` + cell("a") + cell("b") + `</w:tr><w:tr>` + cell("1") + cell("2") + `</w:tr></w:tbl>`,
			"| a | b |\n| --- | --- |\n| 1 | 2 |",
		},
		"two in a cell": {
			`<w:tbl><w:tr><w:tc>` + par("", "a") + par("", "b") + `</w:tc>` + cell("c") + `</w:tr></w:tbl>`, "| a b | c |",
		},
		"deleted text": {
			`<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>`, "kept",
		},
		"moved text": {
			`<w:p><w:moveFrom><w:r><w:t>old place</w:t></w:r></w:moveFrom><w:r><w:t>a </w:t></w:r>` +
				`<w:moveTo><w:r><w:t>new place</w:t></w:r></w:moveTo></w:p>`, "a new place",
		},
		"alternatives": {
			`<w:p><w:r><mc:AlternateContent><mc:Choice><w:t>box</w:t></mc:Choice><mc:Fallback><w:t>box</w:t></mc:Fallback>` +
				`</mc:AlternateContent><mc:AlternateContent><mc:Choice><w:drawing/></mc:Choice><mc:Fallback><w:t>, old</w:t>` +
				`</mc:Fallback></mc:AlternateContent></w:r></w:p>`, "box, old",
		},
		"a section after a sentence": {
			par("", "Station by station.") + par("Heading2", "3. Section") + par("", "Text."),
			"Station by station.\n\n## 3. Section\n\nText.",
		},
		"an empty heading": {par("", "a") + par("Heading1", "") + par("", "b"), "a\n\nb"},
		"list items": {
			par("", "Before") + listItem(0, "a") + listItem(0, "b") + listItem(1, "c") + par("", "After"),
			"Before\n\n- a\n- b\n  - c\n\nAfter",
		},
		"a nested table": {
			`<w:tbl><w:tr><w:tc><w:tbl><w:tr>` + cell("in") + cell("ner") + `</w:tr></w:tbl>` + par("", "") +
				`</w:tc></w:tr></w:tbl>`, "| in | ner |",
		},
		"field codes":      {`<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7</w:t></w:r></w:p>`, "7"},
		"entities":         {par("", "a &amp; b &lt;c&gt; &#228;"), "a & b <c> ä"},
		"empty paragraphs": {par("", "a") + par("", "") + par("", " ") + par("", "b"), "a\n\nb"},
		"nothing":          {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parseDOCX(testBudget(t), "file.docx", word(t, c.body))
			if err != nil || d.Text != c.want {
				t.Errorf("got %q, %v, want %q", d.Text, err, c.want)
			}
		})
	}
}

func TestWordMetadata(t *testing.T) {
	t.Parallel()
	properties := func(s string) []string {
		return []string{
			"docProps/core.xml", `<cp:coreProperties xmlns:dc="dc" xmlns:dcterms="t">` + s + `</cp:coreProperties>`,
		}
	}
	for name, c := range map[string]struct {
		body  string
		parts []string
		want  source.Document
	}{
		"properties": {
			par("Title", "Style"), properties("<dc:title>Core</dc:title><dc:creator>Ada; " +
				"Alan</dc:creator><dcterms:created>2019-04-05T00:00:00Z</dcterms:created>"),
			source.Document{Title: "Core", Authors: []string{"Ada", "Alan"}, Year: 2019, Text: "# Style"},
		},
		"a title style": {par("Heading1", "H") + par("Title", "T"), nil, source.Document{Title: "T", Text: "# H\n\n# T"}},
		"a heading":     {par("", "intro.") + par("Heading1", "H"), nil, source.Document{Title: "H", Text: "intro.\n\n# H"}},
		"a first line":  {par("", "First line"), nil, source.Document{Title: "First line", Text: "First line"}},
		"only the name": {par("", "A sentence."), nil, source.Document{Title: "file", Text: "A sentence."}},
		"a date style": {
			par("Title", "T") + par("Date", "5 April 2018"), properties("<dcterms:created>2019</dcterms:created>"),
			source.Document{Title: "T", Year: 2018, Text: "# T\n\n5 April 2018"},
		},
		"a printed year": {
			par("Title", "T") + par("", "© 2017 Ada"), properties("<dcterms:created>2019</dcterms:created>"),
			source.Document{Title: "T", Year: 2017, Text: "# T\n\n© 2017 Ada"},
		},
		"a printed DOI": {
			par("Title", "T") + par("", "doi: 10.1000/1."), nil,
			source.Document{Title: "T", DOI: "10.1000/1", Text: "# T\n\ndoi: 10.1000/1."},
		},
		"damaged metadata": {
			par("Title", "T"),
			[]string{"docProps/core.xml", "<x><dc:creator>Ada</dc:creator><"},
			source.Document{Title: "T", Authors: []string{"Ada"}, Text: "# T"},
		},
		"notes at the end": {
			par("Title", "T"),
			[]string{"word/footnotes.xml", "<w:footnotes>" + par("", "Note.") + "</w:footnotes>"},
			source.Document{Title: "T", Text: "# T\n\nNote."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parseDOCX(testBudget(t), "dir/file.docx", word(t, c.body, c.parts...))
			if err != nil || !reflect.DeepEqual(d, c.want) {
				t.Errorf("got %+v, %v\nwant %+v", d, err, c.want)
			}
		})
	}
}

const container = `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`

// book packs a book whose manifest and spine list the given items.
func book(t *testing.T, metadata, manifest, spine string, parts ...string) []byte {
	t.Helper()
	opf := `<package xmlns:dc="dc"><metadata>` + metadata + `</metadata><manifest>` + manifest + `</manifest><spine>` +
		spine + `</spine></package>`
	return zipped(t, append([]string{"META-INF/container.xml", container, "OEBPS/book.opf", opf}, parts...)...)
}

func item(id, href string) string {
	return fmt.Sprintf(`<item id="%s" href="%s" media-type="application/xhtml+xml"/>`, id, href)
}

func TestBooksAreReadInTheOrderOfTheirSpine(t *testing.T) {
	t.Parallel()
	chapters := []string{
		"OEBPS/a.xhtml", "<h1>A</h1><p>one", "OEBPS/b.xhtml", "<p>two", "OEBPS/sub/c d.xhtml", "<p>three",
		"OEBPS/x.css", "p{}", "OEBPS/latin.xhtml", "<p>\xe4",
	}
	all := item("a", "a.xhtml") + item("b", "b.xhtml") + item("c", "sub/c%20d.xhtml") + item("gone", "gone.xhtml") +
		item("latin", "latin.xhtml") + `<item id="x" href="x.css" media-type="text/css"/>`
	for name, c := range map[string]struct{ spine, want string }{
		"in order":            {`<itemref idref="a"/><itemref idref="b"/>`, "# A\n\none\n\ntwo"},
		"another order":       {`<itemref idref="b"/><itemref idref="a"/>`, "two\n\n# A\n\none"},
		"an escaped name":     {`<itemref idref="c"/>`, "three"},
		"twice":               {`<itemref idref="b"/><itemref idref="b"/>`, "two"},
		"a missing chapter":   {`<itemref idref="gone"/><itemref idref="b"/>`, "two"},
		"not in the manifest": {`<itemref idref="nope"/><itemref idref="b"/>`, "two"},
		"not a page":          {`<itemref idref="x"/><itemref idref="b"/>`, "two"},
		"another encoding":    {`<itemref idref="latin"/><itemref idref="b"/>`, "ä\n\ntwo"},
		"an empty spine":      {``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parseEPUB(testBudget(t), "file.epub", book(t, "", all, c.spine, chapters...))
			if err != nil || d.Text != c.want || d.Type != "book" {
				t.Errorf("got %q, %v, want %q", d.Text, err, c.want)
			}
		})
	}
}

func TestBookMetadata(t *testing.T) {
	t.Parallel()
	metadata := `<dc:title> A
		Title </dc:title><dc:creator>Ada Lovelace</dc:creator><dc:creator>Alan Turing</dc:creator>
		<dc:publisher>Press</dc:publisher><dc:date>1999-01-02</dc:date><dc:identifier>urn:isbn:978</dc:identifier>
		<dc:identifier>doi:10.1000/1</dc:identifier>`
	got, err := parseEPUB(testBudget(t), "file.epub",
		book(t, metadata, item("a", "a.xhtml"), `<itemref idref="a"/>`, "OEBPS/a.xhtml", "<p>Text"))
	want := source.Document{
		Title: "A Title", Authors: []string{"Ada Lovelace", "Alan Turing"}, Venue: "Press", Year: 1999,
		DOI: "10.1000/1", Type: "book", Text: "Text",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestDamagedOfficeFilesAreRefused(t *testing.T) {
	t.Parallel()
	whole := word(t, par("", "text"))
	for name, c := range map[string]struct {
		read documentParser
		data []byte
		want string
	}{
		"not a zip":   {parseDOCX, []byte("text"), "does not match its extension, or is damaged"},
		"cut":         {parseDOCX, whole[:len(whole)/2], "does not match its extension, or is damaged"},
		"no document": {parseDOCX, zipped(t, "word/styles.xml", "<x/>"), "holds no text document"},
		"damaged XML": {parseDOCX, word(t, "<w:p><w:t>x</w:p>"), "holds XML that is damaged"},
		"a declared entity": {
			parseDOCX, zipped(t, "word/document.xml", `<!DOCTYPE x [<!ENTITY a "b">]><w:p><w:t>&a;</w:t></w:p>`),
			"holds XML that is damaged",
		},
		"a spreadsheet":       {parseDOCX, zipped(t, "xl/workbook.xml", "<x/>"), "holds no text document"},
		"a book without list": {parseEPUB, zipped(t, "META-INF/container.xml", container), "holds no book"},
		"no container":        {parseEPUB, zipped(t, "mimetype", "application/epub+zip"), "holds no book"},
		"Word as a book":      {parseEPUB, whole, "holds no book"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d, err := c.read(testBudget(t), "file", c.data); err == nil || err.Error() != c.want {
				t.Errorf("got %+v, %v, want %q", d, err, c.want)
			}
		})
	}
}

func TestPDFMetadataAndFirstPage(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]int{
		"D:20190405120000+02'00'": 2019, "D:20190405120000Z": 2019, "D:20190405": 2019, "D:2019": 2019,
		"20190405120000": 2019, "2019-04-05": 2019, "D:": 0, "": 0, "D:00000101000000Z": 0, "yesterday": 0,
	} {
		if got := yearOfPDFDate(given); got != want {
			t.Errorf("%q: got %d, want %d", given, got, want)
		}
	}
	for title, want := range map[string]bool{
		"On Computable Numbers": true, "Untitled": false, "untitled-1": false, "Microsoft Word - thesis": false,
		"thesis.dvi": false, "Document1": false, "paper": false, "1234": false, "abc": false, "": false, "Über": true,
		"Paper Tigers": true, "final.docx": false,
	} {
		if got := saysSomething(title); got != want {
			t.Errorf("title %q: got %v", title, got)
		}
	}
}

func TestDOIsOfAFirstPage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"doi:10.1000/182":               "10.1000/182",
		"DOI 10.1000/182, published":    "10.1000/182",
		"https://doi.org/10.1000/a(b).": "10.1000/a(b",
		"[doi.org/10.1000/182]":         "10.1000/182",
		"see 10.1000/182":               "", // not labelled: it may be a reference
		"doi: none":                     "",
		"text":                          "",
		strings.Repeat("x", firstLook) + "doi:10.1000/182":      "",
		strings.Repeat("x ", firstLook/2-7) + "doi:10.1000/182": "", // cut in the middle
	} {
		if got := doiIn(text); got != want {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

func TestYearsOfAFirstPage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Copyright 2015 by the author":             2015,
		"© The Authors 2016":                       2016,
		"(c) 1999 ACM":                             1999,
		"Received 3 May 2011":                      2011,
		"Accepted: 2012-04-05":                     2012,
		"Berlin, March 2013":                       2013,
		"March 4, 2014":                            2014,
		"arXiv:1706.03762v5 [cs.CL] 6 Dec 2017":    2017,
		"Proceedings of the 5th Workshop, 2009":    2009,
		"Vol. 13, No. 6, 1970":                     1970,
		"In 1970 Codd described":                   0, // a year in the text
		"page 2015":                                0,
		"Received 3 May 2011. © 2012":              2012, // the copyright is more reliable
		strings.Repeat("x", firstLook) + " © 2012": 0,
		"Copyright 12345":                          0,
		"May 1850":                                 0, // before scholarly PDFs
	} {
		if got := yearIn(text); got != want {
			t.Errorf("%.40q: got %d, want %d", text, got, want)
		}
	}
}

func TestAuthorsBelowTheTitle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, title, want string }{
		"one line":    {"Title\nAda Lovelace, Alan M. Turing\nAbstract", "Title", "Ada Lovelace|Alan M. Turing"},
		"a line each": {"Title\n\nAda Lovelace\nAlan Turing\nUniversity of X", "Title", "Ada Lovelace|Alan Turing"},
		"with marks":  {"Title\nAda Lovelace1,*, Alan Turing†2", "Title", "Ada Lovelace|Alan Turing"},
		"and": {
			"Title\nAda Lovelace and Alan Turing & Grace Hopper", "Title", "Ada Lovelace|Alan Turing|Grace Hopper",
		},
		"particles": {
			"Title\nLudwig van Beethoven, Jean-Luc O’Brien", "Title", "Ludwig van Beethoven|Jean-Luc O’Brien",
		},
		"a long title":    {"A Title over\nTwo Lines\nAda Lovelace", "A Title over Two Lines", "Ada Lovelace"},
		"a subtitle":      {"Title\nan introduction for all\nAda Lovelace\nx", "Title", "Ada Lovelace"},
		"an institute":    {"Title\nInstitute of Physics", "Title", ""},
		"a single word":   {"Title\nAbstract\nIntroduction", "Title", ""},
		"a sentence":      {"Title\nThis is a text about numbers.", "Title", ""},
		"no such title":   {"Other\nAda Lovelace", "Title", ""},
		"no title":        {"Ada Lovelace", "", ""},
		"too far below":   {"Title\n" + strings.Repeat("some text.\n", 20) + "Ada Lovelace", "Title", ""},
		"accented names":  {"Title\nÉvariste Galois, Øystein Ore", "Title", "Évariste Galois|Øystein Ore"},
		"in part no name": {"Title\nAda Lovelace, Dept. of X", "Title", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(authorsBelow(c.text, c.title), "|"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWordFilesAreReadByTheirRelationshipsAndStyles(t *testing.T) {
	t.Parallel()
	const relation = `<Relationship Id="r%d" Type="http://x/relationships/%s" Target="%s"/>`
	relations := func(pairs ...string) string {
		out := "<Relationships>"
		for i := 0; i < len(pairs); i += 2 {
			out += fmt.Sprintf(relation, i, pairs[i], pairs[i+1])
		}
		return out + "</Relationships>"
	}
	data := zipped(
		t, "_rels/.rels", relations("core-properties", "/props/p.xml", "officeDocument", "/text/main.xml"),
		"text/_rels/main.xml.rels", relations("styles", "look.xml", "numbering", "../lists.xml", "footnotes", "notes.xml"),
		"props/p.xml", "<p><dc:title>Microsoft Word - draft.docx</dc:title><dc:creator>Ada</dc:creator></p>",
		"text/look.xml", `<w:styles>`+
			`<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>`+
			`<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="berschrift1"/></w:style>`+
			`<w:style w:type="paragraph" w:styleId="Steps"><w:name w:val="Steps"/><w:pPr><w:numPr><w:numId w:val="7"/>`+
			`</w:numPr></w:pPr></w:style></w:styles>`,
		"lists.xml", `<w:numbering><w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>`+
			`</w:abstractNum><w:num w:numId="7"><w:abstractNumId w:val="2"/></w:num></w:numbering>`,
		"text/notes.xml", "<w:footnotes>"+par("", "A note.")+"</w:footnotes>",
		"text/main.xml", "<w:document>"+par("Mine", "Überschrift")+par("Steps", "one")+par("Steps", "two")+"</w:document>",
		"word/document.xml", "<w:document>"+par("", "another file")+"</w:document>",
	)
	d, err := parseDOCX(testBudget(t), "draft.docx", data)
	want := "# Überschrift\n\n1. one\n2. two\n\nA note."
	if err != nil || d.Text != want || d.Title != "Überschrift" || len(d.Authors) != 1 {
		t.Errorf("%q %q %q (%v)", d.Title, d.Authors, d.Text, err)
	}
}

func TestProtectedAndOldOfficeFilesAreNamedAsSuch(t *testing.T) {
	t.Parallel()
	head := "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600)
	for name, c := range map[string]struct{ data, want string }{
		"protected": {head + "E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00", "password"},
		"old":       {head + "W\x00o\x00r\x00d\x00D\x00o\x00c\x00", "old Office format"},
	} {
		_, err := parseDOCX(testBudget(t), "a.docx", []byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
