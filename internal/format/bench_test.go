package format

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkJSONL reads documents of about 1 KB from a file.
func BenchmarkJSONL(b *testing.B) {
	const documents = 20_000
	var content bytes.Buffer
	text := strings.Repeat("A sentence with a \\\"quotation\\\" and an \\u00e9. ", 17)
	for i := range documents {
		fmt.Fprintf(&content, `{"id":"doc-%d","title":"The title of number %d","authors":["Ada Lovelace","Alan `+
			`Turing"],"text":"%s","year":%d,`+
			`"url":"https://example.org/%d","doi":"10.1000/%d","venue":"A journal"}`+"\n", i, i, text, 1900+i%120, i, i)
	}
	path := filepath.Join(b.TempDir(), "library.jsonl")
	if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	lib, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(lib.Bytes() / documents)
	b.ReportAllocs()
	n := 0
	for n < b.N {
		for _, err := range lib.Documents(b.Context(), nil) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == b.N {
				break
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkMarkdown parses an ordinary page of notes.
func BenchmarkMarkdown(b *testing.B) {
	content := []byte(
		"---\ntitle: T\n---\n" + strings.Repeat(
			"## Heading\n\nSome *text* with a [link](https://x.org) and `code`.\n\n- a\n- b\n\n", 40,
		),
	)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseMarkdown(testBudget(b), "file.md", content); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHTML parses an ordinary page.
func BenchmarkHTML(b *testing.B) {
	content := []byte(
		"<title>T</title><nav>x</nav>" + strings.Repeat(
			"<h2>Heading</h2><p>Some <i>text</i> with a <a href='https://x.org'>link</a>.</p><ul><li>a<li>b</ul>", 40,
		),
	)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseHTML(testBudget(b), "file.html", content); err != nil {
			b.Fatal(err)
		}
	}
}
