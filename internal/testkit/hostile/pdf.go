package hostile

import (
	"bytes"
	"fmt"
	"strings"
)

// object is the body of a PDF object.
type object string

// file returns a PDF file of objects; the first is the catalogue.
func file(objects ...object) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

const (
	catalogue = object("<</Type/Catalog/Pages 2 0 R>>")
	onePage   = object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
	thePage   = object("<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>")
	helvetica = object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	begin     = "BT /F 12 Tf 50 700 Td "
)

// deflated returns a stream that is compressed several times. Its checksum is missing, because readers ignore it.
func deflated(more string, t text, layers int) object {
	filters, data := "", ""
	for i := range layers {
		if i > 0 {
			t = text{unit: data, times: 1}
		}
		raw, _, _ := t.deflate()
		filters, data = filters+"/FlateDecode", "\x78\x9c"+string(raw)
	}
	return object(fmt.Sprintf("<</Length %d/Filter[%s]%s>>stream\n%s\nendstream", len(data), filters, more, data))
}

// once returns a text without repetition.
func once(s string) text { return text{unit: s, times: 1} }

// drawings returns forms that draw each other ten times, twelve levels deep.
func drawings() []byte {
	return file(
		catalogue, onePage, thePage, deflated("", once("/X Do "), 1), helvetica,
		deflated("/Subtype/Form", text{unit: "/X Do ", times: 10}, 1),
	)
}

// Glyphs returns a PDF of a few megabytes with a page of so many characters that layout needs much memory.
func Glyphs() []byte {
	return file(catalogue, onePage, thePage, deflated(
		"", text{unit: begin + "(Hello, world) Tj ET\n", times: mib}, 1,
	), helvetica,
		object(fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", 2*mib, strings.Repeat("x", 2*mib))))
}

// Heavy returns a PDF of 2.4 MB that unpacks to the limit on every page.
func Heavy() []byte {
	pages, all := "<</Type/Pages/Kids[", []object{catalogue, "", helvetica}
	for i := range 40 {
		pages += fmt.Sprintf("%d 0 R ", 4+2*i)
		all = append(all, object(fmt.Sprintf("<</Type/Page/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>", 5+2*i)),
			deflated("", text{unit: begin + fmt.Sprintf("[(page %d) -500 (of many) 1 2 3 4] TJ ET\n", i), times: 300_000}, 1))
	}
	all[1] = object(pages + "]/Count 40>>")
	return file(all...)
}

func pdfs() []Case {
	page := func(contents ...object) []byte {
		return file(append([]object{catalogue, onePage, thePage}, contents...)...)
	}
	return append([]Case{
		{
			"a PDF of a page of 512 MB of spaces", "spaces.pdf",
			func() []byte { return page(deflated("", text{unit: " ", times: 512 * mib}, 1), helvetica) }, memory,
		},
		{
			"a PDF packed three times", "layers.pdf",
			func() []byte { return page(deflated("", text{unit: " ", times: 256 * mib}, 3), helvetica) }, memory,
		},
		{"a PDF of drawings that draw themselves", "drawings.pdf", drawings, work},
		{"a PDF of large drawings in drawings", "forms.pdf", func() []byte {
			all := []object{catalogue, onePage, thePage, deflated("", once("/X Do "), 1), helvetica}
			for i := range 12 {
				more := fmt.Sprintf("/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>", 7+i)
				all = append(all, deflated(more, text{unit: " ", times: 30 * mib, after: "/X Do "}, 1))
			}
			return file(all...)
		}, memory},
		{"a PDF of 40 pages of heavy programs", "heavy.pdf", Heavy, "has a text of more than 5 MiB|" + work},
		{"a PDF of a million characters on a page", "glyphs.pdf", Glyphs, memory},
		{"a PDF of one array of numbers", "array.pdf", func() []byte {
			return page(deflated("", text{before: begin + "[", unit: "0 ", times: 10 * mib}, 1), helvetica)
		}, memory},
		{"a PDF of one long string", "string.pdf", func() []byte {
			return page(deflated("", text{before: begin + "(", unit: "x", times: 20 * mib}, 1), helvetica)
		}, memory},
		{"a PDF of a million pieces on one line", "pieces.pdf", func() []byte {
			var b strings.Builder
			b.WriteString("BT /F 0.2 Tf ")
			for i := range 300_000 {
				fmt.Fprintf(&b, "1 0 0 1 %d 700 Tm (a) Tj ", i*3)
			}
			return page(deflated("", once(b.String()), 1), helvetica)
		}, "|" + work},
		{"a PDF of pages in pages", "tree.pdf", func() []byte {
			all := []object{catalogue}
			for i := range 200_000 {
				all = append(all, object(fmt.Sprintf("<</Type/Pages/Kids[%d 0 R %d 0 R]/Count 9>>", i+3, i+3)))
			}
			return file(all...)
		}, "not a PDF file"},
		{"a PDF of a huge table of objects", "table.pdf", hugeTable, memory},
	}, pdfObjects()...)
}

// hugeTable returns a PDF whose cross-reference stream has millions of rows.
func hugeTable() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	start := b.Len()
	entries := text{unit: "\x01\x00\x00\x00\x09\x00\x00", times: 20_000_000}
	fmt.Fprintf(&b, "1 0 obj\n%s\nendobj\n%%%%EOF startxref\n%d\n%%%%EOF\n",
		deflated("/Type/XRef/W[1 4 2]/Size 20000000/Root 2 0 R", entries, 1), start)
	return b.Bytes()
}

func pdfObjects() []Case {
	return []Case{
		{"a PDF of large object streams", "packs.pdf", func() []byte {
			all := []object{catalogue, onePage, thePage, deflated("", once(begin+"(Hello) Tj ET"), 1), helvetica}
			for i := range 200 {
				all = append(
					all,
					deflated(
						"/Type/ObjStm/N 1/First 10",
						text{before: fmt.Sprintf("%-10s", fmt.Sprint(1000+i, " 0")), unit: "0 ", times: 5 * mib}, 1,
					),
				)
			}
			data := file(all...)
			return bytes.Replace(data, []byte("startxref"), []byte("startfoo1"), 1) // so that the whole file is scanned
		}, unpacked},
		{"a PDF of fonts with large maps", "maps.pdf", func() []byte {
			program, fonts := begin, ""
			all := []object{catalogue, onePage, "", "", helvetica}
			for i := range 200 {
				fonts += fmt.Sprintf("/F%d %d 0 R", i, 6+2*i)
				program += fmt.Sprintf("/F%d 12 Tf <0041> Tj ", i)
				all = append(all, object(fmt.Sprintf("<</Type/Font/Subtype/Type0/ToUnicode %d 0 R>>", 7+2*i)),
					deflated("", once("1 beginbfrange <0000> <FFFF> <0041> endbfrange "), 1))
			}
			all[2] = object("<</Type/Page/Contents 4 0 R/Resources<</Font<<" + fonts + ">>>>>>")
			all[3] = deflated("", once(program), 1)
			return file(all...)
		}, memory},
		{"a PDF of a map that repeats a long text", "repeats.pdf", func() []byte {
			unicodes := text{before: "1 beginbfrange <0000> <FFFF> <", unit: "0041", times: 100_000, after: "> endbfrange "}
			return file(catalogue, onePage, thePage, deflated("", once(begin+"<0041> Tj ET"), 1),
				"<</Type/Font/Subtype/Type0/ToUnicode 6 0 R>>", deflated("", unicodes, 1))
		}, ""},
		{"a PDF of giant rows of pixels", "rows.pdf", func() []byte {
			all := []object{catalogue, onePage, "<</Type/Page/Contents["}
			for i := range 5000 {
				all[2] += object(fmt.Sprintf("%d 0 R ", 4+i))
				all = append(
					all,
					deflated(
						"/DecodeParms[<</Predictor 12/Columns 1048576/Colors 32/BitsPerComponent 16>>]", once("\x00 "),
						1,
					),
				)
			}
			all[2] += "]>>"
			return file(all...)
		}, "no text"},
		{"a PDF of objects that are never closed", "open.pdf", func() []byte {
			return []byte("%PDF-1.4\n" + strings.Repeat("1 0 obj [0\n2 0 obj <</Type/Catalog/Pages 1 0 R/A[\n", 20_000))
		}, "not a PDF file"},
		{"a PDF of streams without an end", "endless.pdf", func() []byte {
			var b strings.Builder
			b.WriteString("%PDF-1.4\n")
			for i := range 60_000 {
				fmt.Fprintf(&b, "%d 0 obj <</Type/ObjStm/First 5/N 1>>stream\n", i+1)
			}
			return []byte(b.String())
		}, work},
		{"a PDF of widths without end", "widths.pdf", func() []byte {
			return file(catalogue, onePage, thePage, deflated("", once(begin+"<0041> Tj ET"), 1),
				"<</Type/Font/Subtype/Type0/DescendantFonts[6 0 R]>>",
				object("<</W["+strings.Repeat("0 7 0 R ", 50_000)+"]>>"),
				object("["+strings.Repeat("1 ", 500_000)+"]"))
		}, work},
	}
}

// Large returns a PDF of 2.4 MB with text on a page of the largest accepted size.
func Large() []byte {
	return file(catalogue, onePage, thePage, deflated(
		"",
		text{
			before: begin + "(Hello) Tj ", unit: "% noise that is no text, and passed over by a reader\n",
			times: 25 * mib / 53, after: " ET",
		},
		1,
	),
		helvetica, object(fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", 2*mib, strings.Repeat("x", 2*mib))))
}

// Objects returns a PDF of 2.4 MB whose objects need many times its size in memory.
func Objects() []byte {
	return file(catalogue, onePage, object("<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/A["+strings.Repeat(
		"0 ", 600_000,
	)+"]/B["+
		strings.Repeat("<</A 1>>", 80_000)+"]>>>>"), deflated("", once(begin+"(Hello) Tj ET"), 1), helvetica)
}
