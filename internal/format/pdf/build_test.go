package pdf_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
)

// object is the body of an object in a file that build writes.
type object string

func packed(program string, filters int) object {
	data := []byte(program)
	names := ""
	for range filters {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		_, _ = w.Write(data)
		_ = w.Close()
		data, names = b.Bytes(), names+"/FlateDecode "
	}
	return object(fmt.Sprintf("<</Length %d/Filter[%s]>>stream\n%s\nendstream", len(data), names, data))
}

// build writes a file of objects 1, 2, 3, …; the first is the catalogue.
func build(objects ...object) []byte {
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
	helvetica = object("<</Type/Font/Subtype/Type1/BaseFont/Sample/Encoding/WinAnsiEncoding>>")
)

func stream(program string) object {
	return object(fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(program), program))
}

const hello = "BT /F 12 Tf 50 700 Td (Hello, world) Tj ET"

// onePageOf builds a file of one page that draws program with the font F.
func onePageOf(font object, program string, more ...object) []byte {
	return build(append([]object{catalogue, onePage, thePage, stream(program), font, "null"}, more...)...)
}

// show draws a string with the font F at a place, in 10 points. Without widths a character of a simple font is 5 points
// wide.
func show(x, y int, text string) string {
	escaped := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text)
	return fmt.Sprintf("BT /F 10 Tf %d %d Td (%s) Tj ET\n", x, y, escaped)
}

// wantText fails the test unless the file has this text.
func wantText(t *testing.T, data []byte, want string) {
	t.Helper()
	if got := extract(t, data).String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
