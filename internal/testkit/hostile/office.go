package hostile

import (
	"fmt"
	"strings"
)

const relationships = `<Relationships><Relationship Id="r0" Type="x/%s" Target="%s"/></Relationships>`

func workbook(sheet, shared text) []byte {
	return zipped(
		part{name: "xl/workbook.xml", content: `<workbook><sheets><sheet name="S" r:id="r0"/></sheets></workbook>`},
		part{name: "xl/_rels/workbook.xml.rels", content: fmt.Sprintf(relationships, "worksheet", "s.xml")},
		part{name: "xl/s.xml", long: sheet},
		part{name: "xl/sharedStrings.xml", long: shared},
	)
}

// office returns hostile files of office programs and of formats for authors.
func office() []Case {
	return []Case{
		{"a workbook whose cells share one long string", "shared.xlsx", func() []byte {
			return workbook(
				text{before: "<s><sheetData>", unit: `<row><c t="s"><v>0</v></c></row>`, times: mib, after: "</sheetData></s>"},
				text{before: "<sst><si><t>", unit: "word ", times: mib / 8, after: "</t></si></sst>"},
			)
		}, "has a text of more than 5 MiB|" + work},
		{"a workbook of many strings", "strings.xlsx", func() []byte {
			return workbook(
				text{unit: "<s><sheetData/></s>", times: 1},
				text{before: "<sst>", unit: "<si><t>a</t></si>", times: 8 * mib, after: "</sst>"},
			)
		}, "import-memory-mib|" + work},
		{"a presentation that shows one slide 5,000 times", "same.pptx", func() []byte {
			return zipped(
				part{
					name: "ppt/presentation.xml",
					long: text{before: "<p>", unit: `<sldId id="1" r:id="r0"/>`, times: 5000, after: "</p>"},
				},
				part{name: "ppt/_rels/presentation.xml.rels", content: fmt.Sprintf(relationships, "slide", "s.xml")},
				part{name: "ppt/s.xml", long: text{before: "<s>", unit: "<a:p><a:r/></a:p>", times: mib, after: "</s>"}},
			)
		}, work + "|" + unpacked},
		{"a text of tables in tables", "tables.odt", func() []byte {
			return zipped(part{name: "content.xml", long: text{
				unit: "<table><table-row><table-cell>", times: 300,
				after: "<p>x</p>" + strings.Repeat("</table-cell></table-row></table>", 300),
			}})
		}, ""},
		{
			"rich text of a million groups", "groups.rtf",
			func() []byte { return []byte(`{\rtf1 text` + strings.Repeat(`{\i a}`, mib) + "}") }, "",
		},
		{
			"rich text nested a million deep", "deep.rtf",
			func() []byte { return []byte(`{\rtf1 text` + strings.Repeat("{", mib)) }, "nested deeper",
		},
		{"LaTeX of arguments that are not closed", "open.tex", func() []byte {
			return []byte(strings.Repeat(`\section{`, mib))
		}, work},
		{"LaTeX of footnotes in footnotes", "notes.tex", func() []byte {
			return []byte("text " + strings.Repeat(`\footnote{`, mib) + strings.Repeat("}", mib))
		}, "|" + work},
		{"a notebook of nested lists", "deep.ipynb", func() []byte {
			return []byte(`{"cells":` + strings.Repeat("[", mib))
		}, "not a Jupyter notebook"},
	}
}
