package pdf_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"carrel/internal/format/pdf"
)

// writer writes a file object by object and remembers the offsets, for files that build can't express.
type writer struct {
	bytes.Buffer
	at map[int]int
}

func newWriter(header string) *writer {
	w := &writer{at: map[int]int{}}
	w.WriteString(header)
	return w
}

func (w *writer) object(num int, body object) {
	w.at[num] = w.Len()
	fmt.Fprintf(w, "%d 0 obj\n%s\nendobj\n", num, body)
}

// helloObjects writes a page that says "Hello, world".
func (w *writer) helloObjects() {
	w.object(1, catalogue)
	w.object(2, onePage)
	w.object(3, thePage)
	w.object(4, stream(hello))
	w.object(5, helvetica)
}

// table writes subsections of a cross-reference table, each starting at an object number, and the end of the file.
func (w *writer) table(trailer string, sections ...[]int) []byte {
	start := w.Len()
	w.WriteString("xref\n")
	for _, numbers := range sections {
		fmt.Fprintf(w, "%d %d\n", numbers[0], len(numbers))
		for _, num := range numbers {
			if at, ok := w.at[num]; ok {
				fmt.Fprintf(w, "%010d 00000 n \n", at)
			} else {
				w.WriteString("0000000000 65535 f \n")
			}
		}
	}
	fmt.Fprintf(w, "trailer\n<</Size 9 %s>>\nstartxref\n%d\n%%%%EOF\n", trailer, start)
	return w.Bytes()
}

// row is a row of a cross-reference stream with fields of 1, 2 and 1 bytes.
func row(kind, value, last int) string {
	return string([]byte{byte(kind), byte(value >> 8), byte(value), byte(last)})
}

func TestCrossReferenceTablesMayHaveSubsections(t *testing.T) {
	t.Parallel()
	w := newWriter("%PDF-1.4\n")
	w.helloObjects()
	wantText(t, w.table("/Root 1 0 R", []int{0, 1}, []int{2}, []int{3, 4, 5}), "Hello, world")
}

// A file whose tables are unusable is scanned for objects.
func TestFilesWithBrokenCrossReferencesAreRead(t *testing.T) {
	t.Parallel()
	good := build(catalogue, onePage, thePage, stream(hello), helvetica)
	replace := func(old, with string) []byte { return bytes.Replace(good, []byte(old), []byte(with), 1) }
	table := bytes.LastIndex(good, []byte("xref\n0"))
	for name, data := range map[string][]byte{
		"no startxref":                replace("startxref", "startnada"),
		"startxref without a number":  replace("startxref\n", "startxref\nnone "),
		"startxref past the end":      replace("startxref\n", "startxref\n9"),
		"a negative startxref":        replace("startxref\n", "startxref\n-"),
		"startxref in an object":      replace(fmt.Sprintf("startxref\n%d", table), "startxref\n30"),
		"a table without entries":     append(bytes.Clone(good[:table]), "xref\n0 6\n"...),
		"a table of words":            replace("xref\n0 6", "xref\nzero six"),
		"a table without a trailer":   replace("trailer", "trialer"),
		"numbers that start at one":   replace("xref\n0 6", "xref\n1 6"),
		"junk before the header":      append([]byte("HTTP/1.1 200 OK\r\n\r\n"), good...),
		"cut before the table":        good[:table],
		"a trailer without a root":    replace("/Root 1 0 R", ""),
		"a root that is not there":    replace("/Root 1 0 R", "/Root 99 0 R"),
		"a root without pages":        replace("/Root 1 0 R", "/Root 5 0 R"),
		"a previous table at the end": replace("/Root", "/Prev 999999/Root"),
		"line ends lost in transfer":  bytes.ReplaceAll(good, []byte(" \n"), []byte("\n")),
		"line ends doubled":           bytes.ReplaceAll(good, []byte("endobj\n"), []byte("endobj\r\n")),
		"no white space after obj":    bytes.ReplaceAll(good, []byte(" obj\n"), []byte(" obj")),
		"a cut last object":           append(bytes.Clone(good[:table]), "6 0 obj\n<</Title(\\"...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, data, "Hello, world")
		})
	}
}

func TestScanUsesTheLastObjectWithANumber(t *testing.T) {
	t.Parallel()
	w := newWriter("%PDF-1.4\n")
	w.helloObjects()
	w.object(4, stream(strings.Replace(hello, "world", "moon", 1)))
	wantText(t, w.Bytes(), "Hello, moon")
}

func TestScanIgnoresWordsThatLookLikeObjects(t *testing.T) {
	t.Parallel()
	w := newWriter("%PDF-1.4\n")
	w.helloObjects()
	w.WriteString("% x4 0 obj (no) endobj\n% 4 0 objects\n% 4obj\n% obj\n% 0 obj\n% a4 0 obj\n")
	wantText(t, w.Bytes(), "Hello, world")
}

// objectStream packs bodies into an object stream.
func objectStream(bodies map[int]object, order ...int) object {
	var index, all strings.Builder
	for _, num := range order {
		fmt.Fprintf(&index, "%d %d ", num, all.Len())
		all.WriteString(string(bodies[num]) + " ")
	}
	data := index.String() + all.String()
	return object(fmt.Sprintf("<</Type/ObjStm/N %d/First %d/Length %d>>stream\n%s\nendstream",
		len(order), index.Len(), len(data), data))
}

// An update may append a new version of an object in another object stream. Without a usable table the last stream
// of the file has to win, on every run.
func TestScanUsesTheLastObjectStreamWithAnObject(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := newWriter("%PDF-1.5\n")
		w.object(1, catalogue)
		w.object(2, onePage)
		w.object(5, helvetica)
		w.object(4, stream(show(50, 700, "old")))
		w.object(6, stream(show(50, 700, "new")))
		page := func(contents int) object {
			return object(fmt.Sprintf("<</Type/Page/Contents %d 0 R/Resources<</Font<</F 5 0 R>>>>>>", contents))
		}
		w.object(20, objectStream(map[int]object{3: page(4)}, 3))
		w.object(10, objectStream(map[int]object{3: page(6)}, 3))
		wantText(t, w.Bytes(), "new")
	}
}

func TestScanUsesTheLastCatalogue(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := newWriter("%PDF-1.4\n")
		w.object(8, "<</Type/Catalog/Pages 7 0 R>>")
		w.object(7, "<</Type/Pages/Kids[]/Count 0>>")
		w.helloObjects()
		wantText(t, w.Bytes(), "Hello, world")
	}
}

// tableStream appends a cross-reference stream with its own dictionary entries, and the end of the file.
func (w *writer) tableStream(num int, entries, rows string) []byte {
	start := w.Len()
	w.object(num, object(fmt.Sprintf("<</Type/XRef %s/Length %d>>stream\n%s\nendstream", entries, len(rows), rows)))
	fmt.Fprintf(w, "startxref\n%d\n%%%%EOF\n", start)
	return w.Bytes()
}

func TestCrossReferenceStreams(t *testing.T) {
	t.Parallel()
	rows := func(w *writer, numbers ...int) string {
		var b strings.Builder
		for _, num := range numbers {
			b.WriteString(row(1, w.at[num], 0))
		}
		return b.String()
	}
	for name, end := range map[string]func(w *writer) []byte{
		"all objects from zero": func(w *writer) []byte {
			return w.tableStream(8, "/Size 6/W[1 2 1]/Root 1 0 R", row(0, 0, 0)+rows(w, 1, 2, 3, 4, 5))
		},
		"an index of two ranges": func(w *writer) []byte {
			return w.tableStream(8, "/Size 6/W[1 2 1]/Index[4 2 1 3]/Root 1 0 R", rows(w, 4, 5, 1, 2, 3))
		},
		"rows without a type": func(w *writer) []byte { // a missing type means an object in use
			var b strings.Builder
			for num := 1; num <= 5; num++ {
				b.Write([]byte{byte(w.at[num] >> 8), byte(w.at[num])})
			}
			return w.tableStream(8, "/Size 6/W[0 2 0]/Index[1 5]/Root 1 0 R", b.String())
		},
		"more rows than the index": func(w *writer) []byte {
			return w.tableStream(8, "/Size 6/W[1 2 1]/Index[1 5]/Root 1 0 R", rows(w, 1, 2, 3, 4, 5)+row(1, 7, 7))
		},
		"fewer rows than the index": func(w *writer) []byte {
			return w.tableStream(8, "/Size 6/W[1 2 1]/Index[1 500]/Root 1 0 R", rows(w, 1, 2, 3, 4, 5))
		},
		"impossible widths": func(w *writer) []byte { // the objects are found by a scan
			return w.tableStream(8, "/Size 6/W[1 99 1]/Root 1 0 R", rows(w, 1, 2, 3, 4, 5))
		},
		"no widths": func(w *writer) []byte {
			return w.tableStream(8, "/Size 6/Root 1 0 R", rows(w, 1, 2, 3, 4, 5))
		},
		"widths of zero": func(w *writer) []byte {
			return w.tableStream(8, "/Size 6/W[0 0 0]/Root 1 0 R", rows(w, 1, 2, 3, 4, 5))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter("%PDF-1.5\n")
			w.helloObjects()
			wantText(t, end(w), "Hello, world")
		})
	}
}

// A hybrid file has a table for old readers and a stream with the packed objects for new ones.
func TestHybridFilesAreRead(t *testing.T) {
	t.Parallel()
	w := newWriter("%PDF-1.5\n")
	w.object(1, catalogue)
	w.object(3, thePage)
	w.object(4, stream(hello))
	w.object(5, helvetica)
	w.object(7, objectStream(map[int]object{2: onePage}, 2))
	at := w.Len()
	w.tableStream(8, "/Size 9/W[1 2 1]/Index[2 1]", row(2, 7, 0))
	wantText(t, w.table(fmt.Sprintf("/Root 1 0 R/XRefStm %d", at), []int{0, 1}, []int{3, 4, 5}, []int{7}), "Hello, world")
}

// The dictionary of a cross-reference stream is the trailer, also if its offset is wrong.
func TestMetadataSurvivesABrokenCrossReferenceStream(t *testing.T) {
	t.Parallel()
	w := newWriter("%PDF-1.5\n")
	w.helloObjects()
	w.object(6, "<</Title(A title)>>")
	data := w.tableStream(8, "/Size 9/W[1 2 1]/Root 1 0 R/Info 6 0 R", row(0, 0, 0))
	if got := extract(t, bytes.Replace(data, []byte("startxref\n"), []byte("startxref\n1"), 1)); got.Title != "A title" {
		t.Errorf("title %q", got.Title)
	}
}

// Without its key the text of an encrypted file would be gibberish.
func TestEncryptionIsNoticedInABrokenFile(t *testing.T) {
	t.Parallel()
	w := newWriter("%PDF-1.5\n")
	w.helloObjects()
	data := w.tableStream(8, "/Size 9/W[1 2 1]/Root 1 0 R/Encrypt<</Filter/Adobe.Secret>>", row(0, 0, 0))
	data = bytes.Replace(data, []byte("startxref\n"), []byte("startxref\n1"), 1)
	if _, err := pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits); !errors.Is(err, pdf.ErrEncrypted) {
		t.Errorf("got %v, want ErrEncrypted", err)
	}
}

func TestObjectStreamsWithWrongNumbers(t *testing.T) {
	t.Parallel()
	const body = "3 0 <</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>"
	for name, c := range map[string]struct {
		entries string
		want    error
	}{
		"right":                      {"/N 1/First 4", nil},
		"more objects than promised": {"/N 0/First 4", pdf.ErrNotPDF},
		"fewer objects":              {"/N 100000/First 4", nil},
		"a start past the end":       {"/N 1/First 4000", pdf.ErrNotPDF},
		"a negative start":           {"/N 1/First -1", pdf.ErrNotPDF},
		"no numbers":                 {"", pdf.ErrNotPDF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter("%PDF-1.5\n")
			w.object(1, catalogue)
			w.object(2, onePage)
			w.object(4, stream(hello))
			w.object(5, helvetica)
			w.object(7, object(fmt.Sprintf("<</Type/ObjStm %s/Length %d>>stream\n%s\nendstream", c.entries, len(body), body)))
			rows := row(0, 0, 0) + row(1, w.at[1], 0) + row(1, w.at[2], 0) + row(2, 7, 0) + row(1, w.at[4], 0) +
				row(1, w.at[5], 0) + row(0, 0, 0) + row(1, w.at[7], 0)
			data := w.tableStream(8, "/Size 8/W[1 2 1]/Root 1 0 R", rows)
			text, err := pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits)
			if !errors.Is(err, c.want) || err == nil && text.String() != "Hello, world" {
				t.Errorf("%q, %v, want %v", text.String(), err, c.want)
			}
		})
	}
}

// The length of a stream is often wrong; the word endstream is not.
func TestStreamLengths(t *testing.T) {
	t.Parallel()
	body := func(entry, end string) object { return object("<<" + entry + ">>stream\n" + hello + end) }
	for name, contents := range map[string]object{
		"right":                   body(fmt.Sprintf("/Length %d", len(hello)), "\nendstream"),
		"missing":                 body("", "\nendstream"),
		"too short":               body("/Length 5", "\nendstream"),
		"too long":                body("/Length 99999", "\nendstream"),
		"negative":                body("/Length -1", "\nendstream"),
		"huge":                    body("/Length 9999999999999999999", "\nendstream"),
		"of a missing object":     body("/Length 99 0 R", "\nendstream"),
		"a name":                  body("/Length/L", "\nendstream"),
		"no end of line":          body(fmt.Sprintf("/Length %d", len(hello)), "endstream"),
		"carriage return":         object(fmt.Sprintf("<</Length %d>>stream\r\n%s\r\nendstream", len(hello), hello)),
		"no endstream, no endobj": body("", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, build(catalogue, onePage, thePage, contents, helvetica), "Hello, world")
		})
	}
}

func FuzzCrossReferences(f *testing.F) {
	w := newWriter("")
	w.helloObjects()
	objects := w.String()
	f.Add("xref\n0 1\n0000000000 65535 f \n1 1\n0000000009 00000 n \ntrailer<</Root 1 0 R/Prev 9>>", 500)
	f.Add("trailer<</Root 1 0 R>>trailer<</Root 9 0 R>>", 1)
	f.Add("8 0 obj<</Type/XRef/W[1 2 1]/Index[0 9]/Root 1 0 R/Length 8>>"+
		"stream\n\x01\x00\x09\x00\x02\x00\x07\x00\nendstream", 700)
	f.Add("7 0 obj<</Type/ObjStm/N 2/First 8/Length 20>>stream\n1 0 2 4 <<>>[7 0 R]\nendstream endobj", 0)
	f.Fuzz(func(t *testing.T, end string, start int) {
		fuzzExtract(t, []byte("%PDF-1.5\n"+objects+end+fmt.Sprintf("\nstartxref\n%d\n%%%%EOF", start)))
	})
}
