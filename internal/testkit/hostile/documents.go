package hostile

import (
	"fmt"
	"strings"
)

// Items returns Markdown whose syntax tree needs more than a hundred times its size.
func Items() []byte { return []byte(strings.Repeat("* a\n", mib/4-1)) }

// ManyParts returns a Word file of n parts.
func ManyParts(n int) []byte { return overlapping(n, "x") }

func docx(body text) []byte { return zipped(part{name: "word/document.xml", long: body}) }

func epub(pack text, chapters ...part) []byte {
	return zipped(append([]part{
		{name: "META-INF/container.xml", content: `<container><rootfile full-path="c.opf"/></container>`},
		{name: "c.opf", long: pack},
	}, chapters...)...)
}

func documents() []Case {
	return append([]Case{
		{"a Word file of entities that grow", "laughs.docx", func() []byte {
			bomb := `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">`
			for i := range 20 {
				bomb += fmt.Sprintf(`<!ENTITY %c "%s">`, 'b'+i, strings.Repeat(fmt.Sprintf("&%c;", 'a'+i), 10))
			}
			return docx(text{unit: bomb + "]><w:p><w:t>&t;</w:t></w:p>", times: 1})
		}, "damaged"},
		{
			"a Word file nested five million deep", "deep.docx",
			func() []byte { return docx(text{unit: "<w:p>", times: 5 * mib}) }, "nested deeper",
		},
		{"a Word file with a tag of five million attributes", "attributes.docx", func() []byte {
			return docx(text{before: "<w:p", unit: ` a=""`, times: 5 * mib, after: "/>"})
		}, "a tag or text of more than 1 MiB"},
		{"a Word file of tables in tables", "tables.docx", func() []byte {
			return docx(
				text{
					unit: "<w:tbl><w:tr><w:tc>", times: 300,
					after: "<w:p><w:t>x</w:t></w:p>" + strings.Repeat("</w:tc></w:tr></w:tbl>", 300),
				},
			)
		}, ""},
		{"a Word file of 800 MB of empty paragraphs", "paragraphs.docx", func() []byte {
			return docx(
				text{before: "<w:body>", unit: "<w:p><w:r></w:r></w:p>", times: 800 * mib / 22, after: "</w:body>"},
			)
		}, work},
		{"a Word file of 300,000 parts", "parts.docx", func() []byte { return ManyParts(300_000) }, entries},
		{"a book of a million chapters", "spine.epub", func() []byte {
			return epub(text{
				before: "<package>",
				unit:   `<item id="a" href="a.html" media-type="application/xhtml+xml"/><itemref idref="a"/>`,
				times:  mib,
				after:  "</package>",
			}, part{name: "a.html", content: "<p>A chapter.</p>"})
		}, "|" + work},
		{"a book whose chapters are one file under many names", "same.epub", func() []byte {
			pack := "<package>"
			for i := range 5000 {
				pack += fmt.Sprintf(
					`<item id="i%d" href="%s./a.html" media-type="text/html"/><itemref idref="i%d"/>`, i,
					strings.Repeat("./", i%40), i,
				)
			}
			return epub(
				text{unit: pack + "</package>", times: 1},
				part{name: "a.html", long: text{unit: "<p><b></b></p>", times: mib}},
			)
		}, work},
		{
			"a page nested a million deep", "deep.html",
			func() []byte { return []byte(strings.Repeat("<b>", mib) + "text") }, "",
		},
		{"a page with a tag of four million attributes", "attributes.html", func() []byte {
			return []byte("<meta" + strings.Repeat(" a", 4*mib) + ">text")
		}, "has a text of more than 5 MiB"},
	}, markdowns()...)
}

func markdowns() []Case {
	return []Case{
		{
			"Markdown of links that are never closed", "links.md",
			func() []byte { return []byte(strings.Repeat("[a](", mib/4-1)) }, "|" + work,
		},
		{"Markdown of brackets in brackets", "brackets.md", func() []byte {
			return []byte(strings.Repeat("[", mib/2) + strings.Repeat("]", mib/2-1))
		}, "|" + work},
		{
			"Markdown of quotes in quotes", "quotes.md",
			func() []byte { return []byte(strings.Repeat(">", mib) + "text") }, "",
		},
		{"Markdown of a wide table", "table.md", func() []byte {
			return []byte(
				strings.Repeat(
					"|a", 100_000,
				) + "|\n" + strings.Repeat("|-", 100_000) + "|\n" + strings.Repeat("|\n", 10_000),
			)
		}, ""},
		{
			"Markdown of emphasis", "emphasis.md",
			func() []byte { return []byte(strings.Repeat("*a* **b** ", mib/11)) }, "|" + work,
		},
		{"Markdown of a million list items", "items.md", Items, "|" + work},
	}
}
