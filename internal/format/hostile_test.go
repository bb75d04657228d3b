package format

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// gigabyte returns a reader of a line of a gigabyte between two texts, generated while it is read.
func gigabyte(before, after string) io.Reader {
	return io.MultiReader(strings.NewReader(before), io.LimitReader(letters{}, 1<<30), strings.NewReader(after))
}

// letters is an endless reader.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for n := copy(p, "x"); n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
	return len(p), nil
}

// outcome reads records and returns their ids and errors.
func outcome(t *testing.T, read recordReader, r io.Reader) (ids, wrong []string) {
	t.Helper()
	err := read(testBudget(t), r, func() {}, func(d source.Document, err error) bool {
		if err == nil {
			ids = append(ids, d.ExternalID)
			return true
		}
		wrong = append(wrong, err.Error())
		_, goesOn := errors.AsType[*RecordError](err)
		return goesOn
	})
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	return ids, wrong
}

// Not parallel, because it measures allocations.
func TestALineOfAGigabyteTakesLittleMemoryAndIsReported(t *testing.T) {
	const most = 500 << 20 // far less than the line; growing buffers count with all their sizes
	for _, c := range []struct {
		name, before, after string
		read                recordReader
		ids, wrong          string
	}{
		{"JSON Lines", `{"id":1,"text":"`, "\n" + `{"id":2,"text":"y"}`, readLines, "2", "longer than 16 MiB"},
		{
			"RIS", "TY  - JOUR\nID  - 1\nTI  - ", "\nER  - \nTY  - JOUR\nID  - 2\nTI  - Good\nER  - \n", readRIS, "2",
			"longer than 16 MiB",
		},
		{
			"mbox", "From a\nSubject: long\n\n", "\n\nFrom b\nMessage-ID: <2>\nSubject: Good\n\ny\n", readMbox, "2",
			"larger than 32 MiB",
		},
		{"CSV", "id,title\n1,\"", "\"\n2,Good\n", readCSV, "", "longer than 16 MiB"},
		{"CSV without columns", "", "\n", readCSV, "", "columns"},
		{"BibTeX", "@misc{1, title={", "}}\n@misc{2, title={Good}}", readBibTeX, "", "larger than 64 MiB"},
		{"CSL", `[{"id":1,"title":"`, `"}]`, readCSL, "", "more than 16 MiB"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ids, wrong := outcome(t, c.read, gigabyte(c.before, c.after))
		runtime.ReadMemStats(&after)
		if strings.Join(ids, " ") != c.ids || len(wrong) != 1 || !strings.Contains(wrong[0], c.wrong) {
			t.Errorf("%s: ids %q, wrong %.200q", c.name, ids, wrong)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%s: %d MiB were allocated", c.name, used>>20)
		}
	}
}

// nested returns a message of nested parts, each with a text.
func nested(depth int) string {
	var b strings.Builder
	b.WriteString("Subject: Deep\n")
	for i := range depth {
		n := strconv.Itoa(i)
		b.WriteString(
			"Content-Type: multipart/mixed; boundary=b" + n + "\n\n--b" + n +
				"\nContent-Type: text/plain\n\ntext at depth " + n + "\n\n--b" + n + "\n",
		)
	}
	b.WriteString("Content-Type: text/plain\n\nthe end\n")
	return b.String()
}

func TestPartsOfAMessageAreReadToADepthAndANumber(t *testing.T) {
	t.Parallel()
	d, err := parseMail(testBudget(t), "", []byte(nested(1000)))
	if err != nil || !strings.Contains(d.Text, "text at depth 7") || strings.Contains(d.Text, "text at depth 8") ||
		strings.Contains(d.Text, "the end") {
		t.Errorf("%q (%v)", d.Text, err)
	}
	many := "Subject: Wide\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat(
		"--b\nContent-Type: text/plain\n\npart\n", 100_000,
	) + "--b--\n"
	d, err = parseMail(testBudget(t), "", []byte(many))
	if n := strings.Count(d.Text, "part"); err != nil || n == 0 || n > maxMailParts {
		t.Errorf("%d parts were read (%v)", n, err)
	}
	headers := "Subject: Headers\n" + strings.Repeat("X: y\n", 1_000_000) + "\ntext"
	if d, err := parseMail(testBudget(t), "", []byte(headers)); err == nil && d.Text != "text" {
		t.Errorf("a million headers: %q", d.Text)
	}
	words := "Subject: " + strings.Repeat("=?utf-8?q?x?= ", 100_000) + "\n\ntext"
	if d, err := guarded("m", func() (source.Document, error) {
		d, err := parseMail(testBudget(t), "", []byte(words))
		d.ExternalID = "m"
		return d, err
	}); err == nil && len(d.Title) > maxTitle*4 {
		t.Errorf("a title of %d bytes", len(d.Title))
	}
}

func TestAFileUnderTheWrongNameIsToldToBeNone(t *testing.T) {
	t.Parallel()
	pdf := "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Type/Catalog>>\nendobj\n%%EOF\n"
	for name, read := range map[string]recordReader{
		"mbox": readMbox, "RIS": readRIS, "BibTeX": readBibTeX, "CSV": readCSV, "CSL": readCSL, "JSON Lines": readLines,
		"RDF": readRDF,
	} {
		ids, wrong := outcome(t, read, strings.NewReader(pdf))
		if len(ids) > 0 || len(wrong) == 0 {
			t.Errorf("a PDF as %s: ids %q, wrong %q", name, ids, wrong)
		}
		if ids, wrong := outcome(t, read, strings.NewReader("")); len(ids) > 0 ||
			name != "mbox" && name != "CSL" && name != "RDF" && len(wrong) > 0 {
			t.Errorf("nothing as %s: ids %q, wrong %q", name, ids, wrong)
		}
	}
	for _, name := range []string{
		"a.eml", "a.msg", "a.docx", "a.epub", "a.pdf", "a.pptx", "a.xlsx", "a.odt", "a.rtf", "a.ipynb", "a.tex",
	} {
		k, _, _ := formatOf(name)
		if d, err := k.one(testBudget(t), name, []byte("\x89PNG\r\n\x1a\n\x00\x00")); err == nil {
			t.Errorf("a picture as %s: %+v", name, d)
		}
	}
}

func TestEntitiesThatGrowAreRefusedInABook(t *testing.T) {
	t.Parallel()
	bomb := `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">`
	for i, from := range "bcdefghij" { // each eight times the one before: a gigabyte in the end
		bomb += "<!ENTITY " + string("cdefghijk"[i]) + ` "` + strings.Repeat("&"+string(from)+";", 8) + `">`
	}
	bomb += "]>"
	parts := map[string]string{
		"META-INF/container.xml": `<container><rootfile full-path="c.opf"/></container>`,
		"c.opf": `<package><dc:title>Book</dc:title><item id="a" href="a.html" ` +
			`media-type="application/xhtml+xml"/><itemref idref="a"/></package>`,
		"a.html": "<p>A page.</p>",
	}
	for _, name := range []string{"META-INF/container.xml", "c.opf", "a.html"} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for part, content := range parts {
			if part == name {
				content = bomb + strings.Replace(
					strings.Replace(content, "A page", "&k; A page", 1), "Book", "&k; Book", 1,
				)
				content = strings.Replace(content, "<container>", "<container>&k;", 1)
			}
			w, err := z.Create(part)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, content); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		d, err := parseEPUB(testBudget(t), "book.epub", b.Bytes())
		if len(d.Text) > 1000 || len(d.Title) > 1000 {
			t.Errorf("%s: grew to %d and %d characters (%v)", name, len(d.Title), len(d.Text), err)
		}
	}
}

// testBudget returns the budget of a small upload.
func testBudget(t testing.TB) *budget.Budget {
	return budget.New(t.Context(), budget.Default, 0, nil)
}
