package format_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"carrel/internal/format"
	"carrel/internal/source"
)

// lines writes a JSON Lines file and opens it.
func lines(t *testing.T, content string) *format.Library {
	t.Helper()
	return open(t, filepath.Join(write(t, map[string]string{"library.jsonl": content}), "library.jsonl"))
}

func count(n int) *int { return &n }

func TestAJSONLineBecomesADocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		want source.Document
	}{
		{
			`{"id":"a/1","title":"T","authors":["A","B"],"text":"x\n\"y\" \u00e4 \ud83d\ude00","year":1936,` +
				`"url":"https://x.org/a?b","doi":"10.1000/182","venue":"V","type":"article"}`,
			source.Document{
				ExternalID: "a/1", Title: "T", Authors: []string{"A", "B"}, Text: "x\n\"y\" ä 😀", Year: 1936,
				URL: "https://x.org/a?b", DOI: "10.1000/182", Venue: "V", Type: "article",
			},
		},
		{`{"id":7.50,"text":"x"}`, source.Document{ExternalID: "7.50", Text: "x"}},
		{`{"id":-1e3,"title":"x"}`, source.Document{ExternalID: "-1e3", Title: "x"}},
		{
			` { "id" : "1" , "text" : "x" , "more" : { "id" : [ "]}" , { } ] } , "year" : null } `,
			source.Document{ExternalID: "1", Text: "x"},
		},
		{`{"\u0069d":"1","text":"x","ID":"2","Title":"no","x\\":"\\"}`, source.Document{ExternalID: "1", Text: "x"}},
		{
			`{"id":"1","text":"x","title":null,"authors":null,"url":null,"doi":null,"venue":null,"type":null}`,
			source.Document{ExternalID: "1", Text: "x"},
		},
		{
			`{"id":"1","text":"x","authors":"Ada Lovelace; Alan Turing;and Grace Hopper;"}`,
			source.Document{
				ExternalID: "1", Text: "x", Authors: []string{"Ada Lovelace", "Alan Turing", "Grace Hopper"},
			},
		},
		{
			`{"id":"1","text":"x","authors":"Lovelace, Ada and Sandy Anderson"}`,
			source.Document{ExternalID: "1", Text: "x", Authors: []string{"Lovelace, Ada", "Sandy Anderson"}},
		},
		{
			`{"id":"1","text":"x","authors":[" A \n B ","",null]}`,
			source.Document{ExternalID: "1", Text: "x", Authors: []string{"A B"}},
		},
		{`{"id":"1","text":"x","year":"1984"}`, source.Document{ExternalID: "1", Text: "x", Year: 1984}},
		{`{"id":"1","text":"x","year":1984.0}`, source.Document{ExternalID: "1", Text: "x", Year: 1984}},
		{`{"id":"1","text":"x","year":0}`, source.Document{ExternalID: "1", Text: "x"}},
		{`{"id":"1","text":"x","year":" "}`, source.Document{ExternalID: "1", Text: "x"}},
		{`{"id":"1","text":"x","year":9999}`, source.Document{ExternalID: "1", Text: "x", Year: 9999}},
		{
			`{"id":"1","text":"x","url":"javascript:alert(1)","doi":"none","openAccessUrl":"ftp://x.org/a"}`,
			source.Document{ExternalID: "1", Text: "x"},
		},
		{
			`{"id":"1","text":"x","publishedAt":"1970-06-01","citationCount":12500,"openAccessUrl":"https://x.org/a.pdf"}`,
			source.Document{
				ExternalID: "1", Text: "x", Year: 1970, PublishedAt: "1970-06-01", CitationCount: count(12500),
				OpenAccessURL: "https://x.org/a.pdf",
			},
		},
		{
			`{"id":"1","text":"x","publishedAt":"0987-12-31T23:59:59.5+01:00"}`,
			source.Document{ExternalID: "1", Text: "x", Year: 987, PublishedAt: "0987-12-31T23:59:59.5+01:00"},
		},
		{
			`{"id":"1","text":"x","publishedAt":" 1970-06-01 ","year":1969}`,
			source.Document{ExternalID: "1", Text: "x", Year: 1969, PublishedAt: "1970-06-01"},
		},
		{
			`{"id":"1","text":"x","publishedAt":"1970-06-01","year":0}`,
			source.Document{ExternalID: "1", Text: "x", Year: 1970, PublishedAt: "1970-06-01"},
		},
		{
			`{"id":"1","text":"x","publishedAt":"","citationCount":" ","openAccessUrl":""}`,
			source.Document{ExternalID: "1", Text: "x"},
		},
		{
			`{"id":"1","text":"x","publishedAt":null,"citationCount":null,"openAccessUrl":null}`,
			source.Document{ExternalID: "1", Text: "x"},
		},
		{
			`{"id":"1","text":"x","citationCount":0}`,
			source.Document{ExternalID: "1", Text: "x", CitationCount: count(0)},
		},
		{
			`{"id":"1","text":"x","citationCount":"7"}`,
			source.Document{ExternalID: "1", Text: "x", CitationCount: count(7)},
		},
		{
			`{"id":"1","text":"x","citationCount":1e9}`,
			source.Document{ExternalID: "1", Text: "x", CitationCount: count(1e9)},
		},
	} {
		docs, wrong := read(t, lines(t, c.line))
		if len(docs) != 1 || !reflect.DeepEqual(docs[0], c.want) {
			t.Errorf("%s\n got %+v, wrong %v\nwant %+v", c.line, docs, wrong, c.want)
		}
	}
}

func TestABadJSONLineIsReportedWithItsReason(t *testing.T) {
	t.Parallel()
	const (
		noDate  = "has a publishedAt that is neither a date (2006-01-02) nor a time (2006-01-02T15:04:05Z) of RFC 3339"
		noCount = "has a citationCount that is not a whole number from 0 to 1000000000"
	)
	long := strings.Repeat("😀", 512)
	for line, want := range map[string]string{
		`{"id":"1","text":"x"`:                "is not valid JSON (it ends too early)",
		`{"id":"1",text:"x"}`:                 "is not valid JSON (at byte 11)",
		`{"id":"1","text":"x"} {}`:            "is not valid JSON (at byte 23)",
		`{"id":"1","text":"a` + "\x01" + `"}`: "is not valid JSON (at byte 20)",
		strings.Repeat("[", 20_000):           "is not valid JSON (at byte 10001)",
		`[{"id":"1"}]`:                        "is not a JSON object",
		`"x"`:                                 "is not a JSON object",
		`null`:                                "is not a JSON object",
		`{}`:                                  "has no id",
		`{"id":"","text":"x"}`:                "has no id",
		`{"id":"  ","text":"x"}`:              "has no id",
		`{"id":null,"text":"x"}`:              "has no id",
		`{"id":true,"text":"x"}`:              "has an id that is neither a string nor a number",
		`{"id":["1"],"text":"x"}`:             "has an id that is neither a string nor a number",
		`{"id":"1"}`:                          "has neither a title nor a text",
		`{"id":"1","title":" ","text":"\n"}`:  "has neither a title nor a text",
		`{"id":"1","text":5}`:                 "has a text that is not a string",
		`{"id":"1","title":{}}`:               "has a title that is not a string",
		`{"id":"1","text":"x","url":false}`:   "has a url that is not a string",
		`{"id":"1","text":"x","authors":5}`: "has authors that are neither a list of strings nor " +
			"a string",
		`{"id":"1","text":"x","authors":[{}]}`: "has authors that are neither a list of strings nor " +
			"a string",
		`{"id":"1","text":"x","year":10000}`:                        "has a year that is not a whole number from 1 to 9999",
		`{"id":"1","text":"x","year":-1}`:                           "has a year that is not a whole number from 1 to 9999",
		`{"id":"1","text":"x","year":1.5}`:                          "has a year that is not a whole number from 1 to 9999",
		`{"id":"1","text":"x","year":1e999}`:                        "has a year that is not a whole number from 1 to 9999",
		`{"id":"1","text":"x","year":"NaN"}`:                        "has a year that is not a whole number from 1 to 9999",
		`{"id":"1","text":"x","year":"soon"}`:                       "has a year that is not a whole number from 1 to 9999",
		`{"id":"1","text":"x","year":[]}`:                           "has a year that is not a whole number from 1 to 9999",
		`{"id":"1","text":"x","publishedAt":1970}`:                  "has a publishedAt that is not a string",
		`{"id":"1","text":"x","publishedAt":"1970"}`:                noDate,
		`{"id":"1","text":"x","publishedAt":"1970-02-30"}`:          noDate,
		`{"id":"1","text":"x","publishedAt":"0000-01-01"}`:          noDate,
		`{"id":"1","text":"x","publishedAt":"1970-06-01 10:00"}`:    noDate,
		`{"id":"1","text":"x","publishedAt":"1970-06-01T1:00:00Z"}`: noDate,
		`{"id":"1","text":"x","publishedAt":"1970-06-01\u0000"}`:    noDate,
		`{"id":"1","text":"x","citationCount":-1}`:                  noCount,
		`{"id":"1","text":"x","citationCount":1.5}`:                 noCount,
		`{"id":"1","text":"x","citationCount":1000000001}`:          noCount,
		`{"id":"1","text":"x","citationCount":"many"}`:              noCount,
		`{"id":"1","text":"x","citationCount":true}`:                noCount,
		`{"id":"1","text":"x","citationCount":"NaN"}`:               noCount,
		`{"id":"1","text":"x","openAccessUrl":[]}`:                  "has an openAccessUrl that is not a string",
		`{"id":"1","text":"x","publishedAt":"","publishedAt":""}`:   "has publishedAt twice",
		`{"id":"1","text":"x","text":"y"}`:                          "has text twice",
		`{"id":"1","text":"a\u0000b"}`:                              "holds a NUL character",
		`{"id":"a\u0000","text":"b"}`:                               "holds a NUL character",
		`{"id":"1","text":"b","authors":["\u0000"]}`:                "holds a NUL character",
		`{"id":"1","text":"b","authors":"a\u0000"}`:                 "holds a NUL character",
		`{"id":"1","text":"b","type":"\u0000"}`:                     "holds a NUL character",
		"{\"id\":\"1\",\"text\":\"\xff\"}":                          "is not valid UTF-8",
		`{"id":"` + long + `x","text":"x"}`:                         "has an id of more than 512 characters",
		`{"id":"1","title":"` + long + long + long + long + `"}`:    "has a title of more than 2000 characters",
		`{"id":"1","text":"` + strings.Repeat("x", 5<<20+1) + `"}`:  "has a text of more than 5 MiB",
	} {
		docs, wrong := read(t, lines(t, line))
		if len(docs) != 0 || !slices.Equal(wrong, []string{"line 1 " + want}) {
			t.Errorf("%.80s\n got %v %v\nwant %s", line, docs, wrong, want)
		}
	}
}

func TestLimitsOfAJSONLineAreInclusive(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("😀", 500)
	docs, wrong := read(
		t,
		lines(
			t,
			`{"id":"`+long+`abcdefghijkl","title":"`+long+long+long+long+`","text":"`+strings.Repeat("x", 5<<20)+`"}`,
		),
	)
	if len(docs) != 1 {
		t.Error(wrong)
	}
}

func TestReadingGoesOnAfterABadLine(t *testing.T) {
	t.Parallel()
	content := "\xef\xbb\xbf" + `{"id":"1","text":"x"}` + "\r\n" +
		"\n   \t\n" +
		"not json\n" +
		`{"id":"long","text":"` + strings.Repeat("x", 16<<20) + "\"}\n" +
		`{"id":"2","text":"x"}` + "\n" +
		`{"id":"1","text":"another"}` + "\n" +
		`{"id":"3","year":"?","text":"x"}` + "\n" +
		`{"id":"3","text":"x"}`
	docs, wrong := read(t, lines(t, content))
	want := []string{
		"line 4 is not valid JSON (at byte 2)",
		"line 5 is longer than 16 MiB",
		"line 7 repeats the id of line 1",
		"line 8 has a year that is not a whole number from 1 to 9999",
	}
	if ids(docs) != "1 2 3" || !slices.Equal(wrong, want) {
		t.Errorf("got %s, wrong %q", ids(docs), wrong)
	}
}

func TestAByteOrderMarkIsTakenAtTheStartOnly(t *testing.T) {
	t.Parallel()
	_, wrong := read(t, lines(t, `{"id":"1","text":"x"}`+"\n\xef\xbb\xbf"+`{"id":"2","text":"x"}`))
	if !slices.Equal(wrong, []string{"line 2 is not valid JSON (at byte 1)"}) {
		t.Errorf("got %q", wrong)
	}
}

func TestAZippedFileIsReadAndADamagedOneEndsTheReading(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	for i := range 1000 {
		fmt.Fprintf(w, `{"id":%d,"text":"x%d"}`+"\n", i, i*i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{
		"a.jsonl.gz": zipped.String(), "a.ndjson": `{"id":"1","text":"x"}`,
		"cut.jsonl.gz": zipped.String()[:zipped.Len()/2], "fake.jsonl.gz": "not zipped",
	})
	if docs, wrong := read(t, open(t, filepath.Join(dir, "a.jsonl.gz"))); len(docs) != 1000 || len(wrong) > 0 {
		t.Errorf("zipped: %d documents, wrong %v", len(docs), wrong)
	}
	if docs, _ := read(t, open(t, filepath.Join(dir, "a.ndjson"))); len(docs) != 1 {
		t.Errorf("ndjson: %d documents", len(docs))
	}
	for _, name := range []string{"cut.jsonl.gz", "fake.jsonl.gz"} {
		var last error
		for _, err := range open(t, filepath.Join(dir, name)).Documents(t.Context(), nil) {
			last = err
		}
		if last == nil {
			t.Errorf("%s: read without an error", name)
		}
	}
}

func TestJSONLinesAtHandAreReadAsThoseOfAFile(t *testing.T) {
	t.Parallel()
	var got []string
	for d, err := range format.JSONL(
		t.Context(), strings.NewReader(`{"id":"1","text":"x"}`+"\nx\n"+`{"id":"2","text":"x"}`),
	) {
		got = append(got, fmt.Sprint(d.ExternalID, err))
	}
	if want := []string{"1<nil>", "line 2 is not valid JSON (at byte 1)", "2<nil>"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Not parallel: it measures memory.
func TestALargeFileIsReadWithLittleMemory(t *testing.T) {
	const documents = 100_000
	path := filepath.Join(t.TempDir(), "large.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("some text ", 40)
	var b bytes.Buffer
	for i := range documents {
		fmt.Fprintf(&b, `{"id":"doc-%d","title":"Title %d","authors":["A"],"text":"%s","year":2001}`+"\n", i, i, filler)
		if b.Len() > 1<<20 || i == documents-1 {
			if _, err := f.Write(b.Bytes()); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	lib := open(t, path)
	before := heap()
	var peak uint64
	n := 0
	for _, err := range lib.Documents(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%20_000 == 0 {
			peak = max(peak, heap())
		}
	}
	// The hashes of the ids are the only thing that grows; ten times their net size leaves room for the map.
	const most = documents * 24 * 10
	if n != documents || peak > before+most {
		t.Errorf("%d documents of %d MiB held %d KiB, want at most %d", n, lib.Bytes()>>20, (peak-before)>>10, most>>10)
	}
}

// heap returns the bytes in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
