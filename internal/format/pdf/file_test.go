package pdf_test

import (
	"bytes"
	"encoding/ascii85"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/format/budget"
	"carrel/internal/format/pdf"
)

func hexText(b []byte) string { return hex.EncodeToString(b) }

// fuzzExtract reads a file within small limits. Any error is fine; a panic, or text that can't be stored, is not.
func fuzzExtract(t *testing.T, data []byte) {
	t.Helper()
	limits := budget.Limits{Unpacked: 4 << 20, Entries: 1, Depth: 1, Work: 20e6, Memory: 16 << 20, Time: time.Minute}
	text, err := pdf.Extract(data, budget.New(t.Context(), limits, 0, nil), pdf.Limits{Pages: 20, Text: 1 << 16})
	if err == nil && strings.ContainsAny(text.String(), "\x00\ufffd") {
		t.Errorf("text with NUL or a replacement character: %q", text.String())
	}
}

// filtered is a stream that already went through its filters.
func filtered(filters, parameters string, data []byte) object {
	return object(
		fmt.Sprintf("<</Length %d/Filter%s/DecodeParms%s>>stream\n%s\nendstream", len(data), filters, parameters, data),
	)
}

func TestStreamsOfEveryTextFilterAreDecoded(t *testing.T) {
	t.Parallel()
	var in85 bytes.Buffer
	w := ascii85.NewEncoder(&in85)
	_, _ = w.Write([]byte(hello))
	_ = w.Close()
	runs := append([]byte{byte(len(hello) - 1)}, hello...) // one literal run
	for name, contents := range map[string]object{
		"none":                  stream(hello),
		"Flate":                 packed(hello, 1),
		"Flate twice":           packed(hello, 2),
		"ASCIIHex":              filtered("/ASCIIHexDecode", " null", []byte(hexText([]byte(hello))+">")),
		"ASCIIHex abbreviated":  filtered("/AHx", " null", []byte(hexText([]byte(hello))+">")),
		"ASCII85":               filtered("/ASCII85Decode", " null", append(in85.Bytes(), "~>"...)),
		"RunLength":             filtered("/RunLengthDecode", " null", append(runs, 128)),
		"an indirect length":    object("<</Length 7 0 R>>stream\n" + hello + "\nendstream"),
		"data after the stream": object(string(packed(hello, 1)) + " % noise"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			length := object(strconv.Itoa(len(hello)))
			wantText(t, build(catalogue, onePage, thePage, contents, helvetica, "null", length), "Hello, world")
		})
	}
}

// PDF 1.5 packs objects into streams and lists them in a cross-reference stream.
func TestObjectStreamsAreRead(t *testing.T) {
	t.Parallel()
	bodies := []string{string(catalogue), string(onePage), string(thePage), string(helvetica)}
	numbers := []int{1, 2, 3, 5}
	var index, all strings.Builder
	for i, body := range bodies {
		fmt.Fprintf(&index, "%d %d ", numbers[i], all.Len())
		all.WriteString(body + " ")
	}
	objects := index.String() + all.String()
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	contentsAt := b.Len()
	fmt.Fprintf(&b, "4 0 obj\n%s\nendobj\n", packed(hello, 1))
	packedAt := b.Len()
	fmt.Fprintf(
		&b, "7 0 obj\n<</Type/ObjStm/N 4/First %d/Length %d>>stream\n%s\nendstream\nendobj\n", index.Len(),
		len(objects), objects,
	)
	tableAt := b.Len()
	entry := func(kind, at, n int) string { return string([]byte{byte(kind), byte(at >> 8), byte(at), byte(n)}) }
	table := entry(0, 0, 0) + entry(2, 7, 0) + entry(2, 7, 1) + entry(2, 7, 2) + entry(
		1, contentsAt, 0,
	) + entry(2, 7, 3) +
		entry(0, 0, 0) + entry(1, packedAt, 0) + entry(1, tableAt, 0)
	fmt.Fprintf(&b, "8 0 obj\n<</Type/XRef/Size 9/W[1 2 1]/Root 1 0 R/Length %d>>stream\n%s\nendstream\nendobj\n",
		len(table), table)
	fmt.Fprintf(&b, "startxref\n%d\n%%%%EOF\n", tableAt)
	wantText(t, b.Bytes(), "Hello, world")
	// Without the table the objects are found by scanning the file.
	wantText(t, bytes.Replace(b.Bytes(), []byte("startxref"), []byte("startfoo1"), 1), "Hello, world")
}

// An incremental update appends changed objects and a table that points to the previous one.
func TestIncrementalUpdateReplacesAnObject(t *testing.T) {
	t.Parallel()
	old := build(catalogue, onePage, thePage, stream(hello), helvetica)
	var b bytes.Buffer
	b.Write(old)
	at := b.Len()
	fmt.Fprintf(&b, "4 0 obj\n%s\nendobj\n", stream(strings.Replace(hello, "world", "moon", 1)))
	table := b.Len()
	previous := bytes.LastIndex(old, []byte("xref\n0"))
	fmt.Fprintf(
		&b, "xref\n4 1\n%010d 00000 n \ntrailer\n<</Size 6/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", at,
		previous, table,
	)
	wantText(t, b.Bytes(), "Hello, moon")
}

func TestPagesComeInTheOrderOfThePageTree(t *testing.T) {
	t.Parallel()
	data := build(catalogue, "<</Type/Pages/Kids[6 0 R 3 0 R]/Count 3/Resources<</Font<</F 5 0 R>>>>>>",
		"<</Type/Page/Contents 4 0 R>>", stream(show(50, 700, "last")), helvetica,
		"<</Type/Pages/Kids[7 0 R 8 0 R]/Count 2>>", "<</Type/Page/Contents 9 0 R>>",
		"<</Type/Page/Contents[10 0 R 11 0 R]>>",
		stream(show(50, 700, "first")), stream("BT /F 10 Tf 50 700 Td (second"), stream("half) Tj ET"))
	text := extract(t, data)
	if got := strings.Join(text.Pages, "|"); got != "first|second\nhalf|last" && got != "first|secondhalf|last" &&
		got != "first|second half|last" {
		t.Errorf("got %q", got)
	}
}

func TestTextInFormsIsRead(t *testing.T) {
	t.Parallel()
	form := object(
		fmt.Sprintf("<</Subtype/Form/Matrix[1 0 0 1 0 -100]/Length %d>>stream\n%s\nendstream", len(hello), hello),
	)
	wantText(
		t, build(catalogue, onePage, thePage, stream("/X Do "+show(50, 650, "Above")), helvetica, form),
		"Above\n\nHello, world",
	)
}

func TestMetadataIsRead(t *testing.T) {
	t.Parallel()
	packet := stream(`<x><prism:doi>10.1000/182</prism:doi></x>`)
	data := build("<</Type/Catalog/Pages 2 0 R/Metadata 7 0 R>>", onePage, thePage, stream(hello), helvetica,
		"<</Title<FEFF00470072FC00FC>/Author(J\\366rg)/Subject(S)/Keywords(a, b)/CreationDate(D:20190405)>>", packet)
	data = bytes.Replace(data, []byte("/Root"), []byte("/Info 6 0 R/Root"), 1)
	text := extract(t, data)
	if text.Author != "Jörg" || text.Subject != "S" || text.Keywords != "a, b" || text.Created != "D:20190405" ||
		text.DOI != "10.1000/182" {
		t.Errorf("got %+v", text)
	}
	if !strings.HasPrefix(text.Title, "Gr") {
		t.Errorf("title %q", text.Title)
	}
}
