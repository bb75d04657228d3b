package transcript

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"unicode/utf16"
)

// pdfFile is a PDF file being written (ISO 32000-1). Objects are numbered from 1 in the order in which they are added.
type pdfFile struct {
	bytes.Buffer
	offsets []int
}

func newPDFFile() *pdfFile {
	p := &pdfFile{}
	p.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	return p
}

// reserve returns the number of an object that is written later with set.
func (p *pdfFile) reserve() int {
	p.offsets = append(p.offsets, 0)
	return len(p.offsets)
}

func (p *pdfFile) set(number int, content string) {
	p.offsets[number-1] = p.Len()
	fmt.Fprintf(p, "%d 0 obj\n%s\nendobj\n", number, content)
}

func (p *pdfFile) object(content string) int {
	number := p.reserve()
	p.set(number, content)
	return number
}

// stream adds a compressed stream with further entries of its dictionary.
func (p *pdfFile) stream(entries string, data []byte) int {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data) // a bytes.Buffer does not fail
	_ = z.Close()
	return p.object(fmt.Sprintf("<< /Length %d /Filter /FlateDecode %s >>\nstream\n%s\nendstream", b.Len(), entries,
		b.String()))
}

// finish writes the cross-reference table and the trailer.
func (p *pdfFile) finish(catalog, info int) []byte {
	start := p.Len()
	fmt.Fprintf(p, "xref\n0 %d\n0000000000 65535 f \n", len(p.offsets)+1)
	for _, offset := range p.offsets {
		fmt.Fprintf(p, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(p, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n",
		len(p.offsets)+1, catalog, info, start)
	return p.Bytes()
}

// pdfText returns a text string in UTF-16.
func pdfText(text string) string {
	var b strings.Builder
	b.WriteString("<FEFF")
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, "%04X", unit)
	}
	b.WriteByte('>')
	return b.String()
}

// pdfURI returns an address as a literal string.
func pdfURI(address string) string {
	return "(" + strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(address) + ")"
}
