package format_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"carrel/internal/format"
	"carrel/internal/source"
)

// one returns the only document of a library.
func one(t *testing.T, path string) source.Document {
	t.Helper()
	docs, wrong := read(t, open(t, path))
	if len(docs) != 1 || len(wrong) != 0 {
		t.Fatalf("%s: %d documents, wrong: %v", path, len(docs), wrong)
	}
	return docs[0]
}

func TestDocumentsOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pandoc.docx", "libreoffice.docx", "pandoc.epub"} {
		d := one(t, filepath.Join("testdata", name))
		if d.Title != "On Pandoc and its Formats" || d.Year != 2019 && name != "libreoffice.docx" {
			t.Errorf("%s: title %q, year %d", name, d.Title, d.Year)
		}
		if len(d.Authors) == 0 || d.Authors[0] != "Ada Lovelace" {
			t.Errorf("%s: authors %q", name, d.Authors)
		}
		for _, want := range []string{
			"First heading\n", "emphasis, an affluent ligature", "Ada | 1815", "Grüße, 你好, naïve café",
			"The note at the foot.",
		} {
			if !strings.Contains(d.Text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, d.Text)
			}
		}
	}
	if d := one(t, filepath.Join("testdata", "pandoc.docx")); d.DOI != "10.5555/pandoc.1" {
		t.Errorf("DOI %q", d.DOI)
	}
}

func TestAPaperSaysItsTitleAuthorsYearAndDOIOnItsFirstPage(t *testing.T) {
	t.Parallel()
	d := one(t, filepath.Join("pdf", "testdata", "two-columns.pdf"))
	want := source.Document{
		ExternalID: "two-columns.pdf", Title: "Reading Order in Two Columns",
		Authors: []string{"Ada Lovelace", "Alan Turing"},
		Year:    2021, DOI: "10.1234/carrel.2021.77", Text: d.Text,
	}
	if !reflect.DeepEqual(d, want) {
		d.Text = ""
		t.Errorf("got %+v", d)
	}
	if strings.Count(d.Text, "\f") != 13 {
		t.Errorf("%d form feeds between 14 pages", strings.Count(d.Text, "\f"))
	}
}

// codd is one reference, which testdata has in every bibliography format.
var codd = source.Document{
	ExternalID: "codd1970", Title: "A Relational Model of Data for Large Shared Data Banks",
	Authors: []string{"Edgar F. Codd"}, Year: 1970,
	DOI: "10.1145/362384.362685", Venue: "Communications of the ACM", Type: "article",
	Text: "Future users of large data banks must be protected — so Gödel said.",
}

func TestBibliographiesGiveTheSameReferences(t *testing.T) {
	t.Parallel()
	bib, err := os.ReadFile(filepath.Join("testdata", "refs.bib"))
	if err != nil {
		t.Fatal(err)
	}
	csl, err := os.ReadFile(filepath.Join("testdata", "pandoc-csl.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{
		"a.bib": string(bib), "a.json": string(csl),
		"a.ris": "TY  - JOUR\r\nID  - codd1970\r\nTI  - A Relational Model of Data for Large\r\nShared Data Banks\r\n" +
			"AU  - Codd, Edgar F.\r\n" +
			"JO  - Communications of the ACM\r\nPY  - 1970\r\nDO  - https://doi.org/10.1145/362384.362685\r\nAB  - " +
			codd.Text + "\r\nER  - \r\n",
		"a.csv": "Key,Title,Author,Publication Year,DOI,Publication Title,Item Type,Abstract\n" +
			`codd1970,"` + codd.Title +
			`","Codd, Edgar F.",1970,10.1145/362384.362685,Communications of the ACM,journalArticle,"` + codd.Text +
			"\"\n",
	})
	for _, name := range []string{"a.bib", "a.json", "a.ris", "a.csv"} {
		docs, wrong := read(t, open(t, filepath.Join(dir, name)))
		if len(wrong) > 0 || len(docs) == 0 {
			t.Fatalf("%s: %v", name, wrong)
		}
		got := docs[0]
		if name == "a.csv" && got.Authors[0] == "Codd, Edgar F." {
			got.Authors[0] = "Edgar F. Codd" // a table keeps names as they are
		}
		// Pandoc writes sentences.
		got.Title = strings.ReplaceAll(strings.ToLower(got.Title), "relational", "Relational")
		want := codd
		want.Title = strings.ReplaceAll(strings.ToLower(want.Title), "relational", "Relational")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
	docs, _ := read(t, open(t, filepath.Join(dir, "a.bib")))
	second := docs[1]
	if !reflect.DeepEqual(second.Authors, []string{"Paul Erdős", "Évariste Galois", "Barnes and Noble, Inc."}) &&
		len(second.Authors) != 3 {
		t.Errorf("authors %q", second.Authors)
	}
	if second.Title != "On í and ø, 50% more" || second.Text != "Keywords: sets, logic" ||
		second.Type != "conference-paper" {
		t.Errorf("got %+v", second)
	}
}

func TestABrokenEntryLeavesTheOthers(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.bib": "@article{a, title={open\n@article{b, title={B}}\n@article{b, title={again}}\n@article{c, title = }\n" +
			"@misc{d, title={D}}",
		"a.ris":  "TY  - JOUR\nTI  - \nER  - \nTY  - JOUR\nTI  - Good\n",
		"a.json": `[{"id":"a","title":"A"},7,{"id":"a","title":"again"},{"id":"b","title":"B"}]`,
		"a.csv":  "id,title\n1,One\n1,again\n,\x00\xff\n2,Two\n",
	})
	for name, want := range map[string]struct {
		ids   string
		wrong int
	}{"a.bib": {"b d", 3}, "a.ris": {"Good", 1}, "a.json": {"a b", 2}, "a.csv": {"1 2", 2}} {
		docs, wrong := read(t, open(t, filepath.Join(dir, name)))
		if ids(docs) != want.ids || len(wrong) != want.wrong {
			t.Errorf("%s: %q, wrong %q", name, ids(docs), wrong)
		}
	}
}

const message = "From: =?utf-8?q?Ada_L=C3=B6velace?= <ada@example.org>\r\nSubject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\n" +
	"Message-ID: <1@example.org>\r\n" +
	"Date: Fri, 05 Apr 2019 10:00:00 +0200\r\nContent-Type: multipart/mixed; boundary=out\r\n\r\n--out\r\n" +
	"Content-Type: multipart/alternative; boundary=in\r\n\r\n" +
	"--in\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" +
	"Sch=F6ne Gr=FC=DFe\r\n" +
	"--in\r\nContent-Type: text/html\r\n\r\n<p>not this\r\n--in--\r\n--out\r\nContent-Type: text/plain\r\n" +
	"Content-Disposition: attachment; filename=x.dat\r\n\r\nnor this\r\n--out--\r\n"

func TestMailIsReadFromFilesAndMailboxes(t *testing.T) {
	t.Parallel()
	second := strings.ReplaceAll(strings.ReplaceAll(message, "<1@", "<2@"), "\r\n", "\n")
	dir := write(t, map[string]string{
		"a.eml": message,
		"a.mbox": "From ada Fri\n" + strings.ReplaceAll(
			message, "\r\n", "\n",
		) + "\n>From here on\n\nFrom ada Sat\n" + second,
		"b.mbox": "no mail",
	})
	mail, wrong := read(t, open(t, filepath.Join(dir, "a.eml")))
	want := source.Document{
		ExternalID: "a.eml", Title: "Grüße", Authors: []string{"Ada Lövelace"}, Year: 2019,
		PublishedAt: "2019-04-05T08:00:00Z", Type: "email", Text: "Schöne Grüße",
	}
	if !reflect.DeepEqual(mail, []source.Document{want}) || len(wrong) != 1 { // x.dat
		t.Errorf("got %+v, wrong %q", mail, wrong)
	}
	docs, wrong := read(t, open(t, filepath.Join(dir, "a.mbox")))
	if ids(docs) != "1@example.org 2@example.org" || len(wrong) != 2 {
		t.Errorf("%q, wrong %q", ids(docs), wrong)
	}
	if _, wrong := read(t, open(t, filepath.Join(dir, "b.mbox"))); len(wrong) != 1 {
		t.Errorf("a file without mail: %q", wrong)
	}
}

// archive writes a zip file.
func archive(t *testing.T, path string, files map[string]string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, content := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAnArchiveIsReadAsAFolderIs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "all.zip")
	archive(t, path, map[string]string{
		"notes/a.md": "# A", "refs.bib": "@misc{k, title={K}}", "no.exe": "x", "inner.zip": "PK", ".hidden.md": "x",
		"bad.pdf": "x", "rows.jsonl": `{"id":1,"text":"x"}` + "\nx",
		"../out.md": "# Out",
	})
	docs, wrong := read(t, open(t, path))
	got := " " + ids(docs) + " "
	for _, want := range []string{" notes/a.md ", " refs.bib#k ", " rows.jsonl#1 "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	for _, want := range []string{
		"rows.jsonl, line 2 is not", "inner.zip is an archive inside", "no.exe is skipped, because",
	} {
		if len(wrong) != 4 || !strings.Contains(strings.Join(wrong, " "), want) {
			t.Errorf("wrong: %q", wrong)
		}
	}
}

func TestHostileFilesAreReportedWithTheirReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	zeros := strings.Repeat("0", 80<<20)
	archive(t, filepath.Join(dir, "bomb.docx"), map[string]string{"word/document.xml": "<w:p>" + zeros})
	archive(t, filepath.Join(dir, "bomb.epub"), map[string]string{
		"META-INF/container.xml": `<container><rootfile full-path="c.opf"/></container>`,
		"c.opf": `<package><item id="a" href="a.html" media-type="application/xhtml+xml"/><itemref ` +
			`idref="a"/></package>`,
		"a.html": zeros,
	})
	archive(t, filepath.Join(dir, "entities.docx"), map[string]string{
		"word/document.xml": `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><w:p><w:t>&b;</w:t></w:p>`,
	})
	archive(t, filepath.Join(dir, "deep.docx"), map[string]string{"word/document.xml": strings.Repeat("<w:p>", 1<<20)})
	archive(t, filepath.Join(dir, "empty.docx"), map[string]string{"x": "x"})
	archive(t, filepath.Join(dir, "bomb.zip"), map[string]string{"a.txt": zeros, "b.txt": "fine"})
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 17 { // a line of more than is read
		_, _ = w.Write([]byte(zeros[:1<<20]))
	}
	_, _ = w.Write([]byte("\n" + `{"id":1,"text":"after it"}`))
	_ = w.Close()
	for name, content := range map[string]string{
		"wrong.pdf": "<html>not a PDF", "wrong.docx": "%PDF-1.4", "wrong.epub": "PK", "wrong.txt": "%PDF\x00\xff",
		"long.jsonl.gz": packed.String(),
		"open.csv":      "title\n\"" + zeros[:18<<20], "deep.json": strings.Repeat("[", 1<<20),
		"head.csv": "no,names\n1,2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"bomb.docx": "a tag or text of more than 1 MiB", "bomb.epub": "a part of more than 20 MiB",
		"entities.docx": "XML that is damaged",
		"deep.docx":     "nested deeper than 1,000 levels",
		"empty.docx":    "no text document", "bomb.zip": "larger than 20 MiB", "wrong.pdf": "not a PDF",
		"wrong.docx": "not match its extension",
		"wrong.epub": "not match its extension", "wrong.txt": "UTF-8", "long.jsonl.gz": "longer than 16 MiB",
		"open.csv":  "longer than 16 MiB",
		"deep.json": "stops being JSON", "head.csv": "names no column",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, wrong := read(t, open(t, filepath.Join(dir, name)))
			if len(wrong) != 1 || !strings.Contains(wrong[0], want) {
				t.Errorf("want %q, got %q", want, wrong)
			}
		})
	}
}

func TestATableOfUnknownColumnsKeepsThemInItsText(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.tsv": "title\tcolour\nRose\tred\n"})
	d := one(t, filepath.Join(dir, "a.tsv"))
	if d.Text != "colour: red" || d.ExternalID != "row 1" {
		out, _ := json.Marshal(d)
		t.Error(string(out))
	}
}

func TestReadsKnowsTheFormats(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"A.PDF": true, "a.jsonl.gz": true, "a.zip": true, "a.exe": false, "a.pdf.gz": false, "": false,
	} {
		if got := format.Reads(name); got != want {
			t.Error(fmt.Sprint(name, got))
		}
	}
}
