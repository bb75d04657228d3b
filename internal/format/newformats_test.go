package format

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"carrel/internal/source"
)

// relationsOf returns a part of relationships, given as pairs of type and target.
func relationsOf(pairs ...string) string {
	out := "<Relationships>"
	for i := 0; i < len(pairs); i += 2 {
		out += fmt.Sprintf(`<Relationship Id="r%d" Type="http://x/%s" Target="%s"/>`, i/2, pairs[i], pairs[i+1])
	}
	return out + "</Relationships>"
}

func shape(kind, text string) string {
	placeholder := ""
	if kind != "" {
		placeholder = `<p:nvSpPr><p:nvPr><p:ph type="` + kind + `"/></p:nvPr></p:nvSpPr>`
	}
	var paragraphs string
	for line := range strings.SplitSeq(text, "\n") {
		level := len(line) - len(strings.TrimLeft(line, "\t"))
		paragraphs += fmt.Sprintf(`<a:p><a:pPr lvl="%d"/><a:r><a:t>%s</a:t></a:r></a:p>`, level, strings.TrimSpace(line))
	}
	return "<p:sp>" + placeholder + "<p:txBody>" + paragraphs + "</p:txBody></p:sp>"
}

func TestSlidesAreReadInOrderWithTheirNotes(t *testing.T) {
	t.Parallel()
	data := zipped(
		t, "_rels/.rels", relationsOf("officeDocument", "ppt/presentation.xml"),
		"ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r1"/><p:sldId id="257" r:id="r0"/>`+
			`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", relationsOf("slide", "slides/slide1.xml", "slide", "slides/slide2.xml"),
		"ppt/slides/slide1.xml", "<p:sld>"+shape("title", "Second")+`<p:graphicFrame><a:tbl><a:tr><a:tc>`+shape("", "a")+
			`</a:tc><a:tc>`+shape("", "b")+`</a:tc></a:tr></a:tbl></p:graphicFrame></p:sld>`,
		"ppt/slides/slide2.xml", "<p:sld>"+shape("ctrTitle", "Moths")+shape("body", "one\n\tdeeper\ntwo")+
			shape("sldNum", "7")+
			shape("", "A box.")+"</p:sld>",
		"ppt/slides/_rels/slide2.xml.rels", relationsOf("notesSlide", "../notesSlides/n.xml"),
		"ppt/notesSlides/n.xml", "<p:notes>"+shape("sldImg", "x")+shape("body", "Say hello.")+"</p:notes>",
		"docProps/core.xml", "<p><dc:title>PowerPoint Presentation</dc:title><dc:creator>Ada</dc:creator></p>",
	)
	d, err := parsePPTX(testBudget(t), "talk.pptx", data)
	want := "## Moths\n\n- one\n  - deeper\n- two\n\nA box.\n\nNotes: Say hello.\f## Second\n\n| a | b |"
	if err != nil || d.Text != want || d.Title != "Moths" || d.Authors[0] != "Ada" {
		t.Errorf("%q %q (%v)", d.Title, d.Text, err)
	}
}

func TestSheetsAreReadAsTables(t *testing.T) {
	t.Parallel()
	data := zipped(
		t, "xl/workbook.xml", `<workbook><sheets><sheet name="Stations" r:id="r0"/><sheet name="Empty" r:id="r1"/>`+
			`</sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", relationsOf("worksheet", "worksheets/s1.xml", "worksheet", "worksheets/s2.xml",
			"sharedStrings", "strings.xml", "styles", "styles.xml"),
		"xl/strings.xml", `<sst><si><t>Name</t></si><si><r><t>Nor</t></r><r><t>th</t></r><rPh><t>no</t></rPh></si></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;day&quot; 0.0"/>`+
			`<numFmt numFmtId="165" formatCode="yyyy\-mm\-dd"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>`+
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="165"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
		"xl/worksheets/s1.xml", `<worksheet><sheetData><row><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Since`+
			`</t></is></c></row><row/><row><c r="A3" t="s"><v>1</v></c><c r="B3" s="2"><v>0.30000000000000004</v></c>`+
			`<c r="C3" s="1"><v>43560</v></c><c r="D3" t="b"><v>1</v></c></row></sheetData></worksheet>`,
		"xl/worksheets/s2.xml", `<worksheet><sheetData/></worksheet>`,
	)
	d, err := parseXLSX(testBudget(t), "Stations of 2019.xlsx", data)
	want := "## Stations\n\n| Name |  | Since |\n| --- | --- | --- | --- |\n| North | 0.3 | 2019-04-05 | TRUE |"
	if err != nil || d.Text != want || d.Title != "Stations of 2019" {
		t.Errorf("%q %q (%v)", d.Title, d.Text, err)
	}
}

func TestOpenDocumentTextsKeepTheirStructure(t *testing.T) {
	t.Parallel()
	body := func(kind, s string) string {
		return `<office:document-content><office:body><office:` + kind + `>` + s + `</office:` + kind + `></office:body>` +
			`</office:document-content>`
	}
	meta := `<office:meta><dc:title>A Survey of Moths</dc:title><dc:creator>Ada; Alan</dc:creator>` +
		`<meta:creation-date>2019-04-05T10:00:00</meta:creation-date></office:meta>`
	data := zipped(t, "meta.xml", meta, "content.xml", body("text", `<text:tracked-changes><text:p>gone</text:p>`+
		`</text:tracked-changes><text:h text:outline-level="2">3. Section</text:h><text:p>Station<text:s/>by `+
		`<text:span>station</text:span><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.`+
		`</text:p></text:note-body></text:note>.</text:p><text:list><text:list-item><text:p>one</text:p></text:list-item>`+
		`<text:list-item><text:p>two</text:p></text:list-item></text:list><table:table><table:table-row><table:table-cell>`+
		`<text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>`+
		`</table:table>`))
	d, err := parseODF(testBudget(t), "a.odt", data)
	want := source.Document{
		Title: "A Survey of Moths", Authors: []string{"Ada", "Alan"}, Year: 2019,
		Text: "## 3. Section\n\nStation by station (A note.).\n\n- one\n- two\n\n| a | b |",
	}
	if err != nil || d.Text != want.Text || d.Title != want.Title || d.Year != want.Year ||
		!reflect.DeepEqual(d.Authors, want.Authors) {
		t.Errorf("%+v (%v)", d, err)
	}
	sheet := zipped(t, "content.xml", body("spreadsheet", `<table:table table:name="S">`+
		`<table:table-row><table:table-cell>`+
		`<text:p>a</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"/><table:table-cell>`+
		`<text:p>b</text:p></table:table-cell><table:table-cell table:number-columns-repeated="1020"/></table:table-row>`+
		`</table:table>`))
	if d, err := parseODF(testBudget(t), "a.ods", sheet); err != nil || d.Text != "## S\n\n| a |  |  | b |  |" {
		t.Errorf("%q (%v)", d.Text, err)
	}
	locked := zipped(t, "content.xml", "xx", "META-INF/manifest.xml", `<m><file-entry><encryption-data/></file-entry></m>`)
	if _, err := parseODF(testBudget(t), "a.odt", locked); err != errPassword { //nolint:errorlint // a constant
		t.Errorf("a protected file: %v", err)
	}
}

func TestRichTextIsRead(t *testing.T) {
	t.Parallel()
	const head = `{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}}` +
		`{\stylesheet{\s0 Normal;}{\s1\b heading 1;}}{\info{\title Moths at night}{\author Ada}{\creatim\yr2018\mo4}}` +
		`{\*\generator X;}`
	for name, c := range map[string]struct{ body, want string }{
		"characters": {`caf\'e9 \u8364? \u-10179?\u-8704? a\~b {\f1 \'cf\'f0\'e8} \{x\}`, "café € 😀 a b При {x}"},
		"paragraphs": {`one\par two\line three\par`, "one\n\ntwo\nthree"},
		"headings":   {`station.\par\pard\s1 3. Section\par\pard Text.`, "station.\n\n# 3. Section\n\nText."},
		"lists": {
			`a\par\pard\ls1 {\listtext\'b7\tab}one\par {\listtext\'b7\tab}two\par\pard b`,
			"a\n\n- one\n- two\n\nb",
		},
		"tables": {
			`\trowd\intbl a\cell b\cell\row\trowd\intbl 1\cell 2\cell\row\pard after`,
			"| a | b |\n| --- | --- |\n| 1 | 2 |\n\nafter",
		},
		"left out":    {`a{\pict 0011}{\header x}{\*\unknown y}{\v hidden}{\deleted gone}b`, "ab"},
		"fields":      {`{\field{\*\fldinst HYPERLINK "x"}{\fldrslt link}} text`, "link text"},
		"binary data": {`a\bin5 {{{{{b`, "ab"},
		"cut off":     {`a{b{\i c`, "abc"},
	} {
		d, err := parseRTF(testBudget(t), "a.rtf", []byte(head+c.body+"}"))
		if err != nil || d.Text != c.want {
			t.Errorf("%s: %q (%v)", name, d.Text, err)
		}
		if d.Title != "Moths at night" || d.Authors[0] != "Ada" || d.Year != 2018 {
			t.Errorf("%s: %q %q %d", name, d.Title, d.Authors, d.Year)
		}
	}
	deep := `{\rtf1 ` + strings.Repeat("{", 5000)
	if _, err := parseRTF(testBudget(t), "a.rtf", []byte(deep)); err == nil {
		t.Error("groups of any depth are read")
	}
}

func TestNotebooksAreRead(t *testing.T) {
	t.Parallel()
	const data = `{"cells":[{"cell_type":"markdown","source":["# Moths\n","\n","Some *text*."]},
		{"cell_type":"code","source":"import moth\nmoth.fly()","outputs":[{"text":"no"}]},
		{"cell_type":"raw","source":7}],"metadata":{"authors":[{"name":"Ada"}]},"nbformat":4}`
	d, err := parseNotebook(testBudget(t), "a.ipynb", []byte(data))
	want := "# Moths\n\nSome text.\n\nimport moth\nmoth.fly()"
	if err != nil || d.Text != want || d.Title != "Moths" || len(d.Authors) != 1 {
		t.Errorf("%+v (%v)", d, err)
	}
	for _, bad := range []string{"{}", "[]", `{"cells":{}}`, "x"} {
		if _, err := parseNotebook(testBudget(t), "a.ipynb", []byte(bad)); err == nil {
			t.Errorf("%s is a notebook", bad)
		}
	}
}

func TestLaTeXIsRead(t *testing.T) {
	t.Parallel()
	const data = `\documentclass{article} % comment
\newcommand{\x}{no}
\title{On \emph{M\"oths}}
\author{Ada Lovelace\thanks{x} \and Alan Turing\\University}
\date{April 2019}
\begin{document}
\maketitle
\begin{abstract}
Moths are \textbf{seen}~\cite{a,b} at 50\% of lamps.
\end{abstract}
\section*{First part}\label{s}
Text with $x^2$ and a note\footnote{A \emph{note}.} here.
It goes on, see \href{https://x.org}{the site}.

Second paragraph.
\begin{itemize}
\item one
\item two
\end{itemize}
\begin{table}
\begin{tabular}{ll}
a & b \\
1 & 2
\end{tabular}
\caption{Counts}
\end{table}
\begin{verbatim}
x  = \y
\end{verbatim}
\end{document} after`
	d, err := parseTeX(testBudget(t), "a.tex", []byte(data))
	want := "## Abstract\n\nMoths are seen at 50% of lamps.\n\n## First part\n\n" +
		"Text with x^2 and a note (A note.) here. " +
		"It goes on, see the site.\n\nSecond paragraph.\n\n- one\n- two\n\n" +
		"| a | b |\n| --- | --- |\n| 1 | 2 |\n\nCounts\n\n" +
		"x  = \\y"
	if err != nil || d.Text != want {
		t.Errorf("got  %q\nwant %q (%v)", d.Text, want, err)
	}
	if d.Title != "On Möths" || strings.Join(d.Authors, "|") != "Ada Lovelace|Alan Turing" || d.Year != 2019 {
		t.Errorf("%q %q %d", d.Title, d.Authors, d.Year)
	}
}

func TestZoteroLibrariesAreRead(t *testing.T) {
	t.Parallel()
	const data = `<rdf:RDF xmlns:rdf="r" xmlns:z="z" xmlns:dc="d" xmlns:dcterms="t" xmlns:bib="b" xmlns:foaf="f"
	xmlns:link="l">
	<bib:Article rdf:about="#item_1"><z:itemType>journalArticle</z:itemType><dcterms:isPartOf rdf:resource="urn:issn:1"/>
	<bib:authors><rdf:Seq><rdf:li><foaf:Person><foaf:surname>Codd</foaf:surname><foaf:givenName>Edgar F.</foaf:givenName>
	</foaf:Person></rdf:li></rdf:Seq></bib:authors><link:link rdf:resource="#item_2"/><dc:title>A Model of Data</dc:title>
	<dcterms:abstract>Future users.</dcterms:abstract><dc:date>1970-06-01</dc:date><dc:subject>data</dc:subject>
	<dc:subject><z:AutomaticTag><rdf:value>banks</rdf:value></z:AutomaticTag></dc:subject>
	<dc:identifier><dcterms:URI><rdf:value>https://x.org/1</rdf:value></dcterms:URI></dc:identifier></bib:Article>
	<z:Attachment rdf:about="#item_2"><z:itemType>attachment</z:itemType><dc:title>PDF</dc:title></z:Attachment>
	<bib:Journal rdf:about="urn:issn:1"><dc:title>Communications</dc:title><dc:identifier>DOI 10.1145/1</dc:identifier>
	</bib:Journal></rdf:RDF>`
	docs, wrong := records(t, readRDF, data)
	if len(wrong) > 0 || len(docs) != 1 {
		t.Fatalf("%+v %q", docs, wrong)
	}
	d := docs[0]
	if d.ExternalID != "#item_1" || d.Title != "A Model of Data" || d.Year != 1970 || d.Venue != "Communications" ||
		d.DOI != "10.1145/1" || d.URL != "https://x.org/1" || d.Type != "article" || d.Authors[0] != "Edgar F. Codd" ||
		d.Text != "Future users.\n\nKeywords: data, banks" {
		t.Errorf("%+v", d)
	}
}
