package transcript

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/format"
	"carrel/internal/thread"
)

// sample has every kind of block, a problem, a citation and several scripts.
func sample() Transcript {
	text := "# Origins & <limits>\n\nCodd wrote *it* in **1970** [1]. Nobody knows.\n\n" +
		"- Ελληνικά\n  - Кириллица\n- ~~old~~ `x<y`\n\n" +
		"3. three\n4. four\n\n| name | year |\n|---|---|\n| Codd | 1970 |\n| Żółć | 1986 |\n\n```go\nif x < y {\n\treturn\n}\n```\n\n" +
		"> said\n\n---\n\n" + strings.Repeat("A long sentence that fills the line and needs to be broken somewhere. ", 120)
	start := strings.Index(text, "Nobody knows.")
	return Transcript{
		Title: "On models – “quoted”",
		Messages: []Message{
			{Question: true, At: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC), text: "Who wrote it?\nAnd when?"},
			{
				At: time.Date(2026, 11, 18, 9, 1, 0, 0, time.UTC), text: text, Notes: []string{"This reply is partial."},
				checks: []thread.Check{{Start: start, End: start + len("Nobody knows."), State: thread.Unsupported}},
				Quotes: []Quote{{N: 1, Work: 1, Page: 377, Text: "Future users of large data banks"}}, Verdicts: "1 not supported.",
				Problems: []ProblemList{{
					Head: "Not supported by the cited quotes:", Sentences: []string{"“Nobody knows.”: No quote."},
				}},
			},
		},
		Works: []string{`Edgar F. Codd (1970). *A Relational Model*. [doi:10.1145/362384](https://doi.org/10.1145/362384)`},
	}
}

// wanted are texts that a reader of the files must find, in this order.
var wanted = []string{
	"On models – “quoted”", "You, 2026-11-18 09:00 UTC", "Who wrote it?", "And when?", "Origins & <limits>",
	"Codd wrote it in 1970",
	"Nobody knows.", "[? not supported]", "Ελληνικά", "Кириллица", "x<y", "Codd", "Żółć", "if x < y {", "said",
	"This reply is partial.", "Future users of large data banks", "work 1, p. 377", "1 not supported.", "No quote.",
	"Bibliography",
	"Edgar F. Codd (1970). A Relational Model", "doi:10.1145/362384",
}

func written(t *testing.T, tr Transcript, f Format) []byte {
	t.Helper()
	var b, again bytes.Buffer
	if err := errors.Join(tr.Write(&b, f), tr.Write(&again, f)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("the same transcript is written differently")
	}
	if dir := os.Getenv("TRANSCRIPT_DIR"); dir != "" {
		if err := os.WriteFile(dir+"/transcript."+f.Extension(), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// checkText reads a file with the importer of documents.
func checkText(t *testing.T, name string, file []byte, wanted []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	library, err := format.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for doc, err := range library.Documents(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		text += doc.Title + "\n" + doc.Text
	}
	flat := strings.Join(strings.Fields(text), " ")
	at := 0
	for _, w := range wanted {
		i := strings.Index(flat[at:], w)
		if i < 0 {
			t.Fatalf("%s: no %q after %d in\n%s", name, w, at, flat[:min(len(flat), 1500)])
		}
		at += i
	}
}

func TestWordFilesAreReadable(t *testing.T) {
	t.Parallel()
	file := written(t, sample(), DOCX)
	checkText(t, "transcript.docx", file, wanted)
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range z.File {
		f, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(f)
		for {
			if _, err = d.Token(); err != nil {
				break
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", part.Name, err)
		}
	}
}

func TestPDFFilesAreReadable(t *testing.T) {
	t.Parallel()
	file := written(t, sample(), PDF)
	checkText(t, "transcript.pdf", file, wanted)
	if bytes.Count(file, []byte("/Type /Page ")) < 3 {
		t.Error("a long answer is on fewer than three pages")
	}
	if bytes.Contains(file, []byte(missingNote)) || len(file) > 200_000 {
		t.Errorf("the file has %d bytes", len(file))
	}
}

func TestPDFKeepsCharactersThatItsFontLacks(t *testing.T) {
	t.Parallel()
	tr := Transcript{Title: "日本語", Messages: []Message{{Question: true, text: "שלום 🚀 " + strings.Repeat("長", 300)}}}
	checkText(t, "transcript.pdf", written(t, tr, PDF), []string{"日本語", "🚀", "長長", "which are shown as boxes"})
}

// FuzzFiles checks that every answer can be written and read.
func FuzzFiles(f *testing.F) {
	f.Add("| a |\n|---|\n| " + strings.Repeat("x", 3000) + " |")
	f.Add("- \n-\n1. \n\n>\n\n```\n")
	f.Add("a\u0000\ufffe\U0010ffff[1]")
	f.Add(sample().Messages[1].text)
	f.Fuzz(func(t *testing.T, text string) {
		tr := Transcript{Title: text, Messages: []Message{{text: text}}}
		for _, format := range []Format{DOCX, PDF} {
			var b bytes.Buffer
			if err := tr.Write(&b, format); err != nil {
				t.Error(err)
			}
		}
	})
}
