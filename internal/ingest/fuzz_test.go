package ingest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// sound holds what is true of every document, whatever it came from.
func sound(t *testing.T, d Document, err error) {
	t.Helper()
	if err != nil {
		var record *RecordError
		if !errors.As(err, &record) || record.Reason == "" || strings.Contains(record.Reason, "upsets") {
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
	if d.URL != "" && !strings.HasPrefix(strings.ToLower(d.URL), "http") || d.DOI != "" && !strings.HasPrefix(d.DOI, "10.") {
		t.Fatalf("a link that is none: %q %q", d.URL, d.DOI)
	}
}

func TestAPanicOfAParserConcernsItsRecordOnly(t *testing.T) {
	t.Parallel()
	_, err := guarded("line 1", func() (Document, error) { panic("oops") })
	if record, is := errors.AsType[*RecordError](err); !is || record.Place != "line 1" {
		t.Errorf("got %v", err)
	}
}

func FuzzJSONLine(f *testing.F) {
	for _, s := range []string{
		`{"id":"1","title":"T","authors":["A","B"],"text":"x","year":1936,"url":"https://x.org","doi":"10.1000/1"}`,
		`{"id":1e5,"text":"\ud800","year":"12","authors":"a; b and c"}`, `{"id":"\\","x":[{"y":"]"}],"text":"\"\\\""}`,
		`{"\u0069d":null}`, `{}`, `[]`, `"`, `{"id":"1","text":"\u0000"}`, "\xff", `{"id":1,"text":"x","year":-0}`, `{"a":1,}`,
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
		// The standard decoder, which is more lenient, must have seen the same.
		var std map[string]any
		if json.Unmarshal(line, &std) != nil || std["text"] != nil && std["text"] != d.Text || std["title"] != nil && std["title"] != d.Title {
			t.Fatalf("the standard decoder disagrees: %v %+v", std, d)
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{
		"# T\n\n*a* **b** `c` [d](e) ![f](g)\n\n- a\n  - b\n\n> c\n\n|a|b|\n|-|-|\n|1|2|\n", "<div>\n\n<!-- x", "[a]: b\n[c][a]",
		"|a|\n|-|\n|`\\|`|\nb\n|-|\n", "\\\n&#0;&amp;", "```\nx", "- a\n\n      b\n1) c", "~~a~~~", "\t- \t- x", "a\n|-\n|-\n|-", "***a**b*",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) { fuzzFile(t, "file.md", source) })
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{
		`<title>T</title><meta name="date" content="2020"><h1>H</h1><p>a<b>b</b><pre>c</pre><nav>d</nav>`, "<", "<h1", "<!--", "&#0;&#xd800;",
		"<script><!--<script></script>", "<svg><![CDATA[x]]></svg>", "<title>", "</title><header><h1>x</header>", "<plaintext>x", "<textarea><p>",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) { fuzzFile(t, "file.html", source) })
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{
		"---\ntitle: T\nauthors: [a, 'b, c']\ndate: 2020\n---\ntext", "---\nauthor:\n  - name: a\n    x: y\n---\n", "---\n: x\n- \n---", "---\ntitle: '\n...",
		"---\nurl: \"\ndoi: ''\ntitle: |\n  x\n  y\n---", "---\n\ta: b\n---\n", "---\na: [\n---\n", "---\ntitle: \"\"\"\n---\n",
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

// fuzzFile reads the content as if it were that of a file.
func fuzzFile(t *testing.T, name string, content []byte) {
	t.Helper()
	d, err := guarded(name, func() (Document, error) {
		d, err := formatOf(name)(name, content)
		d.ExternalID = name
		return d, err
	})
	sound(t, d, err)
}
