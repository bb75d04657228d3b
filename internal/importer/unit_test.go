package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/task"
)

func TestReportsAddUpTheResultsOfFiles(t *testing.T) {
	t.Parallel()
	var r Report
	for _, o := range []fileResult{
		{Name: "a", Size: 10, Documents: DocumentCounts{Added: 2, Updated: 1}},
		{Name: "b", Size: 5, Unchanged: true},
		{Name: "c", Size: 1, Error: "Can't be opened."},
		{Name: "d", Removed: true, Documents: DocumentCounts{Deleted: 3}},
		{
			Name: "e", Size: 4, Problems: []string{"line 1: x", "line 2: y"}, Skipped: 5,
			Documents: DocumentCounts{Unchanged: 1},
		},
	} {
		r.add(o)
	}
	want := Report{
		Files: FileCounts{Done: 5, Unchanged: 1, Failed: 1, Removed: 1}, Bytes: ByteCounts{Done: 20},
		Documents: DocumentCounts{Added: 2, Updated: 1, Unchanged: 1, Deleted: 3},
		Errors:    []Problem{{"c", "Can't be opened."}, {"e", "line 1: x"}, {"e", "line 2: y"}},
		Failed:    6, // the file and the five records, of which two are shown
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

func TestReportsShowTheFirstProblemsAndCountAll(t *testing.T) {
	t.Parallel()
	var o fileResult
	var r Report
	for i := range 3 * maxReportedProblems {
		o.skip(fmt.Sprintf("line %d: is not valid JSON", i+1))
	}
	r.add(o)
	if len(o.Problems) != maxReportedProblems || o.Skipped != 3*maxReportedProblems ||
		len(r.Errors) != maxReportedProblems || r.Failed != 3*maxReportedProblems {
		t.Errorf("%d problems of %d, %d errors of %d", len(o.Problems), o.Skipped, len(r.Errors), r.Failed)
	}
}

func TestRemainingTimeIsEstimatedFromTheBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done, total, extra int64
		took               time.Duration
		want               int
	}{
		{50, 100, 0, 10 * time.Second, 10},
		{25, 100, 25, 10 * time.Second, 10}, // within a file
		{99, 100, 0, 10 * time.Second, 1},   // never 0, which means unknown
		{50, 100, 0, time.Millisecond, 0},   // too early
		{0, 100, 0, time.Minute, 0},
		{100, 100, 0, time.Minute, 0},
		{120, 100, 0, time.Minute, 0},
		{0, 0, 0, time.Minute, 0},
		{1, 1 << 60, 0, time.Hour, 1_000_000},
	} {
		r := Report{Bytes: ByteCounts{Done: c.done, Total: c.total}, ETASeconds: 77}
		if r.estimate(c.took, c.extra); r.ETASeconds != c.want {
			t.Errorf("%d+%d of %d bytes in %s: %d seconds, want %d", c.done, c.extra, c.total, c.took, r.ETASeconds, c.want)
		}
	}
}

func TestNamesOfUploadsAreCleaned(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"a.txt": "a.txt", "dir/a.txt": "dir/a.txt", "/etc/a.txt": "etc/a.txt", "../../a.txt": "a.txt",
		`C:\docs\a.txt`: "C:/docs/a.txt", "./a.txt": "a.txt", "a//b.txt": "a/b.txt", "dir/../a.txt": "a.txt",
		"ä ö.PDF": "ä ö.PDF", "a.jsonl.gz": "a.jsonl.gz",
	} {
		if got, err := cleanName(given); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", given, got, err, want)
		}
	}
	for given, code := range map[string]string{
		"": "invalid_request", "/": "invalid_request", "..": "invalid_request", "a\n.txt": "invalid_request",
		"a\xff.txt": "invalid_request", strings.Repeat("a", maxName) + ".txt": "invalid_request",
		"a.exe": "unsupported_media_type", "a": "unsupported_media_type", "a.txt.gz": "unsupported_media_type",
	} {
		if got, err := cleanName(given); err == nil || core.AsError(err).Code != code {
			t.Errorf("%.20q: got %q, %v, want the code %s", given, got, err, code)
		}
	}
}

func TestScratchFilesKeepTheirExtension(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a.txt", "dir/a.pdf", strings.Repeat("ä", 190) + ".docx", strings.Repeat("x", 399) + ".gz",
		"😀" + strings.Repeat("é", 120) + ".md",
	} {
		got := scratchPath("/scratch", name)
		if filepath.Dir(got) != "/scratch" || filepath.Ext(got) != filepath.Ext(name) || !utf8.ValidString(got) ||
			len(filepath.Base(got)) > maxScratchName {
			t.Errorf("%.20q is stored as %q", name, got)
		}
	}
}

// Ids of records are unique in a source: those of other files are prefixed with the name of their file.
func TestIDsOfDocumentsDependOnTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file localFile
		own  string
		want string
	}{
		{localFile{name: "a.md", path: "/s/a.md"}, "a.md", "a.md"},
		{localFile{name: "https://x.org/p", path: "/s/page.html"}, "page.html", "https://x.org/p"},
		{localFile{name: "all.zip", path: "/s/all.zip"}, "dir/a.md", "all.zip/dir/a.md"},
		{localFile{name: "all.zip", path: "/s/all.zip", keepIDs: true}, "r.jsonl#1", "all.zip/r.jsonl#1"},
		{localFile{name: "r.jsonl", path: "/s/r.jsonl"}, "1", "r.jsonl#1"},
		{localFile{name: "r.jsonl.gz", path: "/s/r.jsonl.gz", keepIDs: true}, "1", "1"},
	} {
		if got := (&fileReader{file: c.file}).id(c.own); got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.file.name, c.own, got, c.want)
		}
	}
}

func TestChangedFilesAreFoundByVersionAndSize(t *testing.T) {
	t.Parallel()
	known := map[string]File{
		"same": {Name: "same", Version: "v1", Size: 5}, "newer": {Name: "newer", Version: "v1", Size: 5},
		"longer": {Name: "longer", Version: "v1", Size: 5}, "unversioned": {Name: "unversioned", Size: 5},
		"gone": {Name: "gone", Version: "v1"},
	}
	var q syncQueue
	for _, f := range []localFile{
		{name: "same", version: "v1", size: 5},
		{name: "newer", version: "v2", size: 5},
		{name: "unversioned", size: 5},
		{name: "longer", version: "v1", size: 6},
		{name: "new", version: "v1", size: 7},
	} {
		q.compare(known, f)
	}
	var changed []string
	for _, f := range q.changed {
		changed = append(changed, f.name)
	}
	if got := strings.Join(changed, " "); got != "newer unversioned longer new" || q.unchanged != 1 || q.bytes != 23 {
		t.Errorf("changed %s, %d unchanged, %d bytes", got, q.unchanged, q.bytes)
	}
	if len(known) != 1 || known["gone"].Name != "gone" {
		t.Errorf("missing: %v", known)
	}
}

func TestTheRunningImportIsTheMostRelevant(t *testing.T) {
	t.Parallel()
	idle, worked := Import{ID: "idle", State: task.StateComplete}, Import{ID: "worked", State: task.StateComplete}
	worked.Files.Done = 3
	running, failed := Import{ID: "running", State: task.StateRunning}, Import{ID: "failed", State: task.StateFailed}
	for _, c := range []struct {
		imports []Import
		want    string
	}{
		{nil, ""},
		{[]Import{idle}, "idle"},
		{[]Import{idle, worked}, "worked"},
		{[]Import{idle, failed, worked}, "failed"},
		{[]Import{running, worked}, "running"},
		{[]Import{idle, idle}, "idle"},
	} {
		got, ok := MostRelevant(c.imports)
		if got.ID != c.want || ok != (c.want != "") {
			t.Errorf("%d imports: %q, %v, want %q", len(c.imports), got.ID, ok, c.want)
		}
	}
}

func TestValidatorsOfPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tag, date, want string }{
		{`"abc"`, "", `etag "abc"`},
		{"", "Fri, 05 Apr 2019 10:00:00 GMT", "date Fri, 05 Apr 2019 10:00:00 GMT"},
		{`W/"x"`, "Fri, 05 Apr 2019 10:00:00 GMT", `etag W/"x"`},
		{"", "", ""},
		{strings.Repeat("x", 200), "", ""},
		{strings.Repeat("x", 200), "today", "date today"},
		{"", strings.Repeat("x", 100), ""},
	} {
		if got := versionOf(http.Header{"Etag": {c.tag}, "Last-Modified": {c.date}}); got != c.want {
			t.Errorf("%.10s, %s: got %q, want %q", c.tag, c.date, got, c.want)
		}
	}
}

// A quota error is told apart from others, also when it is wrapped.
func TestQuotaErrorsAreRecognized(t *testing.T) {
	t.Parallel()
	full := &core.Error{Kind: core.KindForbidden, Code: codeQuotaExceeded, Detail: "Full."}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("x"), false},
		{full, true},
		{fmt.Errorf("store: %w", full), true},
		{&core.Error{Kind: core.KindForbidden, Code: "forbidden"}, false},
	} {
		if got := quotaError(c.err) != nil; got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

func TestFeedEntries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry string
		want  source.Document
	}{
		"a title alone": {"<title>T</title>", source.Document{ExternalID: "T", Title: "T"}},
		"an address as id": {
			"<title>T</title><link>https://x.org/1</link>",
			source.Document{ExternalID: "https://x.org/1", Title: "T", URL: "https://x.org/1"},
		},
		"an address that runs": {
			"<title>T</title><link>javascript:alert(1)</link>", source.Document{ExternalID: "T", Title: "T"},
		},
		"an enclosure": {
			`<title>T</title><link rel="enclosure" href="https://x.org/a.mp3"/><link rel="alternate" href="https://x.org/a"/>`,
			source.Document{ExternalID: "https://x.org/a", Title: "T", URL: "https://x.org/a"},
		},
		"escaped markup": {
			"<guid>1</guid><description>&lt;p&gt;One&lt;/p&gt;&lt;p&gt;two&lt;/p&gt;</description>",
			source.Document{ExternalID: "1", Text: "One\n\ntwo"},
		},
		"escaped twice": {
			"<guid>1</guid><description>&amp;lt;p&amp;gt;One</description>", source.Document{ExternalID: "1", Text: "One"},
		},
		"the longest text": {
			"<guid>1</guid><description>Short</description><encoded>The whole text</encoded>",
			source.Document{ExternalID: "1", Text: "The whole text"},
		},
		"CDATA": {
			"<guid>1</guid><description><![CDATA[<b>Bold</b> text]]></description>",
			source.Document{ExternalID: "1", Text: "Bold text"},
		},
		"RFC 822 date": {
			"<title>T</title><pubDate>Fri, 05 Apr 2019 23:30:00 -0200</pubDate>",
			source.Document{ExternalID: "T", Title: "T", Year: 2019, PublishedAt: "2019-04-06T01:30:00Z"},
		},
		"a bare date": {
			"<title>T</title><date>2019-04-05</date>",
			source.Document{ExternalID: "T", Title: "T", Year: 2019, PublishedAt: "2019-04-05T00:00:00Z"},
		},
		"no date": {"<title>T</title><pubDate>soon</pubDate>", source.Document{ExternalID: "T", Title: "T"}},
		"after year 9999": {
			"<title>T</title><updated>9999-12-31T23:59:59-01:00</updated>", source.Document{ExternalID: "T", Title: "T"},
		},
		"published first": {
			"<title>T</title><updated>2020-01-01T00:00:00Z</updated><published>2019-01-01T00:00:00Z</published>",
			source.Document{ExternalID: "T", Title: "T", Year: 2019, PublishedAt: "2019-01-01T00:00:00Z"},
		},
		"authors": {
			"<title>T</title><author><name>Ada</name></author><author>Alan</author>",
			source.Document{ExternalID: "T", Title: "T", Authors: []string{"Ada", "Alan"}},
		},
		"creators first": {
			"<title>T</title><creator>Ada</creator><author>x@y.org</author>",
			source.Document{ExternalID: "T", Title: "T", Authors: []string{"Ada"}},
		},
		"HTML entities": {
			"<title>Caf&eacute; &amp;amp; more</title>", source.Document{ExternalID: "Café & more", Title: "Café & more"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, err := parseFeed(t.Context(), []byte("<rss><channel><item>"+c.entry+"</item></channel></rss>"))
			c.want.Type = "post"
			if err != nil || len(docs) != 1 || !reflect.DeepEqual(docs[0], c.want) {
				t.Errorf("got %+v, %v\nwant %+v", docs, err, c.want)
			}
		})
	}
}

func TestUnusableFeedEntriesAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"", "<guid>1</guid>", "<link>https://x.org</link>", "<guid>" + strings.Repeat("x", 600) + "</guid><title>T</title>",
	} {
		docs, err := parseFeed(t.Context(), []byte("<rss><item>"+entry+"</item></rss>"))
		if err != nil || len(docs) != 0 {
			t.Errorf("%.40s: %d documents, %v", entry, len(docs), err)
		}
	}
	for _, page := range []string{"", "<html><title>T</title></html>", "text", "<rss", "<opml></opml>"} {
		if docs, err := parseFeed(t.Context(), []byte(page)); err == nil {
			t.Errorf("%q is a feed of %d documents", page, len(docs))
		}
	}
}

// A subfolder that can't be listed, such as one whose disk has an error, keeps its documents.
func TestFilesOfAnUnreadableFolderAreNotMissing(t *testing.T) {
	t.Parallel()
	known := map[string]File{
		"a.txt": {Name: "a.txt"}, "sub/b.txt": {Name: "sub/b.txt"}, "sub/deep/c.txt": {Name: "sub/deep/c.txt"},
		"subway.txt": {Name: "subway.txt"},
	}
	listing := folderListing{root: "/data", known: known, queue: &syncQueue{}}
	if err := listing.visit("/data/sub", nil, fs.ErrPermission); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, f := range listing.missing() {
		missing = append(missing, f.Name)
	}
	if len(missing) != 2 || strings.Contains(strings.Join(missing, " "), "sub/") {
		t.Errorf("missing: %v", missing)
	}
	if err := listing.visit("/data", nil, os.ErrPermission); err == nil {
		t.Error("a folder that can't be listed at all is read")
	}
}

func TestANoteOfADocumentIsReported(t *testing.T) {
	t.Parallel()
	var o fileResult
	r := &fileReader{
		file: localFile{name: "a.pdf", path: "a.pdf"}, result: &o, seen: idSet{},
		originals: &originalKeeper{service: &Service{}},
	}
	n := 0
	for d, err := range r.documents(t.Context(), func(yield func(source.Document, error) bool) {
		yield(source.Document{ExternalID: "a.pdf", Title: "A", Note: "a.pdf: 12 of 14 pages are images"}, nil)
	}) {
		if n++; err != nil || d.Title != "A" {
			t.Errorf("%+v, %v", d, err)
		}
	}
	if n != 1 || len(o.Problems) != 1 || o.Problems[0] != "a.pdf: 12 of 14 pages are images" {
		t.Errorf("%d documents, %q", n, o.Problems)
	}
}
