package format

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/source"
)

// sound checks the invariants of every document and error.
func sound(t *testing.T, d source.Document, err error) {
	t.Helper()
	if err != nil {
		var record *RecordError
		if !errors.As(err, &record) || record.Reason == "" || strings.Contains(record.Reason, "parser failed") {
			t.Fatalf("not a plain record error: %v", err)
		}
		return
	}
	for _, s := range append([]string{d.ExternalID, d.Title, d.Text, d.URL, d.DOI, d.Venue, d.Type}, d.Authors...) {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Fatalf("a string that can't be kept: %q", s)
		}
	}
	if d.ExternalID == "" || d.Title == "" && d.Text == "" || d.Year < 0 || d.Year > maxYear {
		t.Fatalf("an unsound document: %+v", d)
	}
	if d.URL != "" && !strings.HasPrefix(strings.ToLower(d.URL), "http") ||
		d.DOI != "" && !strings.HasPrefix(d.DOI, "10.") {
		t.Fatalf("a link that is none: %q %q", d.URL, d.DOI)
	}
}

func TestAPanicOfAParserConcernsItsRecordOnly(t *testing.T) {
	t.Parallel()
	_, err := guarded("line 1", func() (source.Document, error) { panic("oops") })
	if record, is := errors.AsType[*RecordError](err); !is || record.Place != "line 1" {
		t.Errorf("got %v", err)
	}
}

func FuzzJSONLine(f *testing.F) {
	for _, s := range []string{
		`{"id":"1","title":"T","authors":["A","B"],"text":"x","year":1936,"url":"https://x.org","doi":"10.1000/1"}`,
		`{"id":1e5,"text":"\ud800","year":"12","authors":"a; b and c"}`, `{"id":"\\","x":[{"y":"]"}],"text":"\"\\\""}`,
		`{"\u0069d":null}`, `{}`, `[]`, `"`, `{"id":"1","text":"\u0000"}`, "\xff", `{"id":1,"text":"x","year":-0}`,
		`{"a":1,}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = []byte(strings.Trim(string(line), " \t\r\n"))
		if len(line) == 0 {
			return
		}
		d, err := record(1, line, nil, make(idSet))
		sound(t, d, err)
		if err != nil {
			return
		}
		// encoding/json, which is more lenient, must agree.
		var std map[string]any
		if json.Unmarshal(line, &std) != nil || std["text"] != nil && std["text"] != d.Text ||
			std["title"] != nil && std["title"] != d.Title {
			t.Fatalf("the standard decoder disagrees: %v %+v", std, d)
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{
		"# T\n\n*a* **b** `c` [d](e) ![f](g)\n\n- a\n  - b\n\n> c\n\n|a|b|\n|-|-|\n|1|2|\n", "<div>\n\n<!-- x",
		"[a]: b\n[c][a]",
		"|a|\n|-|\n|`\\|`|\nb\n|-|\n", "\\\n&#0;&amp;", "```\nx", "- a\n\n      b\n1) c", "~~a~~~", "\t- \t- x",
		"a\n|-\n|-\n|-", "***a**b*",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) { fuzzFile(t, "file.md", source) })
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{
		`<title>T</title><meta name="date" content="2020"><h1>H</h1><p>a<b>b</b><pre>c</pre><nav>d</nav>`, "<", "<h1", "<!--",
		"&#0;&#xd800;",
		"<script><!--<script></script>", "<svg><![CDATA[x]]></svg>", "<title>", "</title><header><h1>x</header>",
		"<plaintext>x", "<textarea><p>", "<h1>0</C>0", "<x-a><y-b>0</x-a></y-b></z>1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) { fuzzFile(t, "file.html", source) })
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{
		"---\ntitle: T\nauthors: [a, 'b, c']\ndate: 2020\n---\ntext", "---\nauthor:\n  - name: a\n    x: y\n---\n",
		"---\n: x\n- \n---", "---\ntitle: '\n...",
		"---\nurl: \"\ndoi: ''\ntitle: |\n  x\n  y\n---", "---\n\ta: b\n---\n", "---\na: [\n---\n", "---\ntitle: \"\"\"\n" +
			"---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		fm, body := cutFrontMatter(string(source))
		if !strings.HasSuffix(string(source), body) || fm == nil && body != string(source) {
			t.Fatalf("the text is not the rest: %q of %q", body, source)
		}
		fuzzFile(t, "file.md", source)
	})
}

// fuzzFile parses the content of a file with this name.
func fuzzFile(t *testing.T, name string, content []byte) {
	t.Helper()
	d, err := guarded(name, func() (source.Document, error) {
		k, _, _ := formatOf(name)
		d, err := k.one(testBudget(t), name, content)
		d.ExternalID = name
		return d, err
	})
	sound(t, d, err)
}

// fuzzRecords parses a file of many records.
func fuzzRecords(t *testing.T, read recordReader, content []byte) {
	t.Helper()
	n := 0
	err := read(testBudget(t), bytes.NewReader(content), func() {}, func(d source.Document, err error) bool {
		sound(t, d, err)
		n++
		return n < 1000
	})
	if _, is := errors.AsType[*RecordError](err); err != nil && !is {
		t.Fatalf("ended with %v", err)
	}
}

func FuzzBibTeX(f *testing.F) {
	for _, s := range []string{
		"@article{a, title={A {B} \\\"o}, author=\"X, Y and Z\", year=1999, journal = j # \" x\"}", "@string{j = {J}}",
		"@comment{x} @book(b, title={x})",
		"@article{a, title={x\n@book{b, title={y}}", "@a{,}", "@a{b,c}", "@", "@a{\\'{\\i},t={\\", "@x{y,title=\"\\\"{}\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzRecords(t, readBibTeX, b) })
}

func FuzzRIS(f *testing.F) {
	for _, s := range []string{
		"TY  - JOUR\nTI  - T\nAU  - L, A\nPY  - 1999/01/02\nER  - \n", "ER  - \nTY  - \nTI-", "TY  - X\nmore\nTI  - \xff",
		"TY  - A\nDO  - 10.1000/x\nDO  -",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzRecords(t, readRIS, b) })
}

func FuzzCSL(f *testing.F) {
	for _, s := range []string{`[{"id":1,"title":["T"],"issued":{"date-parts":[["1999",1]]},"author":[{"family":"L",` +
		`"given":"A"}]}]`, `{"items":[{}]}`, `{"id":"x"}`, `[1,{"id":{}}]`, `[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzRecords(t, readCSL, b) })
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"id,title,text\n1,a,b\n", "title;year\n\"a;b\";1999\n\"", "\xef\xbb\xbftitle\tx\nq\tw\n", "title\n\xff\n", ",\n,",
		"title,title\na,b,c",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzRecords(t, readCSV, b) })
}

func FuzzMbox(f *testing.F) {
	const m = "Subject: =?utf-8?q?x=C3=A4?=\nFrom: A <a@b>\nDate: Mon, 2 Jan 2006 15:04:05 -0700\n" +
		"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html; charset=latin1\n\n<p>a\n--x--\n"
	for _, s := range []string{
		"From a\n" + m + "\nFrom b\n" + m, "From x\n\n>From y\n", "x", "From ",
		"From a\nContent-Transfer-Encoding: base64\n\n!!\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzRecords(t, readMbox, b)
		fuzzFile(t, "file.eml", b)
	})
}

func FuzzArchive(f *testing.F) {
	for _, names := range [][]string{
		{"a.txt", "b/c.jsonl"}, {"a.txt", "a.txt"}, {"a", "a/b.txt"}, {"../a.txt", "/b.md", "c\\d.txt"}, {"a.zip", ".b.txt"},
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, name := range names {
			w, err := z.Create(name)
			if err != nil {
				f.Fatal(err)
			}
			if _, err := w.Write([]byte(`{"id":1,"text":"x"}`)); err != nil {
				f.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.zip")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		lib, err := Open(path)
		if err != nil {
			var told *core.Error
			if !errors.As(err, &told) {
				t.Fatalf("an archive is refused without a reason for people: %v", err)
			}
			return
		}
		n := 0
		for d, err := range lib.Documents(t.Context(), nil) {
			sound(t, d, err)
			if n++; n > 1000 {
				return
			}
		}
	})
}

func FuzzOffice(f *testing.F) {
	for _, name := range []string{"pandoc.docx", "libreoffice.docx", "pandoc.epub"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, name := range []string{"file.docx", "file.pptx", "file.xlsx", "file.odt"} {
			fuzzFile(t, name, b)
		}
		fuzzFile(t, "file.epub", b)
	})
}

func FuzzRTF(f *testing.F) {
	for _, s := range []string{
		`{\rtf1\ansi\ansicpg1252{\fonttbl{\f1\fcharset128 A;}}{\info{\title T}}` +
			`{\stylesheet{\s1 heading 1;}}\s1 a\par\'e9\u8364?}`,
		`{\rtf1\trowd\intbl a\cell\row\pard b{\*\x c}\bin99999 }`,
		`{\rtf1\u-10179?\u55357?\uc9\u1}}}}`, `{\rtf1\'`, `{\rtf1\`,
		`{\rtf1\nestcell\nestrow\cell\row\ls1 x\footnote y\outlinelevel3 z}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFile(t, "file.rtf", b) })
}

func FuzzTeX(f *testing.F) {
	for _, s := range []string{
		`\title{T}\author{A\and B}\begin{document}\section{S}a\\b\begin{tabular}{l}x&y\\\end{tabular}\end{document}`,
		`\footnote{\footnote{\footnote{`, `\item\begin{itemize}\item[`, `\begin{verbatim}x`, `\`, `\href{a}{b`, `%\n&\cite{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFile(t, "file.tex", b) })
}

func FuzzNotebook(f *testing.F) {
	for _, s := range []string{
		`{"cells":[{"cell_type":"code","source":["a"]},{"cell_type":"heading","level":9,"source":"b"}]}`,
		`{"worksheets":[{"cells":[{"input":"x"}]}]}`, `{"cells":[{}]}`, `[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFile(t, "file.ipynb", b) })
}

func FuzzRDF(f *testing.F) {
	for _, s := range []string{
		`<R><A about="x"><itemType>book</itemType><title>T</title><isPartOf resource="x"/></A></R>`, `<R><A>`, `<`, `<R/>`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzRecords(t, readRDF, b) })
}
