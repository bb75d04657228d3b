package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// textSize is the size of a Markdown or HTML file.
const textSize = 20 << 10

// writeTexts writes Markdown and HTML files from a file of records, alternately, and returns their number and size.
// It repeats the records if there are too few.
func writeTexts(lines, dir string, total int64) (files int, size int64, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, 0, err
	}
	for size < total {
		before := size
		if files, size, err = writePass(lines, dir, total, files, size); err != nil {
			return 0, 0, err
		}
		if size == before {
			return 0, 0, errors.New("the records hold no texts")
		}
	}
	return files, size, nil
}

// writePass reads the records once.
func writePass(lines, dir string, total int64, files int, size int64) (int, int64, error) {
	in, err := os.Open(lines)
	if err != nil {
		return 0, 0, err
	}
	defer in.Close()
	records := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	var gathered []record
	length := 0
	for size < total {
		var r record
		err := records.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		gathered, length = append(gathered, r), length+len(r.Text)
		if length < textSize {
			continue
		}
		name, text := fmt.Sprintf("%06d.md", files), markdownOf(gathered)
		if files%2 == 1 {
			name, text = fmt.Sprintf("%06d.html", files), htmlOf(gathered)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return 0, 0, err
		}
		files, size = files+1, size+int64(len(text))
		gathered, length = gathered[:0], 0
	}
	return files, size, nil
}

// markdownOf renders an article with front matter, sections, emphasis and lists.
func markdownOf(records []record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %q\nyear: %d\n---\n", records[0].Title, max(records[0].Year, 1))
	for _, r := range records {
		fmt.Fprintf(&b, "\n## %s\n\n*%s*\n\n%s\n\n- see [%s](https://example.org/%s)\n", r.Title,
			strings.Join(r.Authors, ", "), r.Text, r.Title, r.ID)
	}
	return b.String()
}

// htmlOf renders the same article as a web page with navigation and footer.
func htmlOf(records []record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><html><head><title>%s</title><style>p { margin: 1em }</style><script>let x = 1 < "+
		"2;</script></head><body><nav><a href=/>Home</a></nav><main>\n", html.EscapeString(records[0].Title))
	for _, r := range records {
		fmt.Fprintf(&b, "<section><h2>%s</h2><p class=by><em>%s</em></p><p>%s</p></section>\n",
			html.EscapeString(r.Title), html.EscapeString(strings.Join(r.Authors, ", ")), html.EscapeString(r.Text))
	}
	b.WriteString("</main><footer>End</footer></body></html>\n")
	return b.String()
}
