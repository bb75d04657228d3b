package importer_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/source"
	"carrel/internal/task"
)

// pages serves answers by path; everything else is not found.
func pages(t *testing.T, answers map[string]http.HandlerFunc) string {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if answer := answers[r.URL.Path]; answer != nil {
			answer(rw, r)
			return
		}
		http.NotFound(rw, r)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

func say(mediaType, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", mediaType)
		_, _ = rw.Write([]byte(body))
	}
}

func TestPagesThatCannotBeReadAreReportedWithTheirReason(t *testing.T) {
	t.Parallel()
	redirect := func(to string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, to, http.StatusFound) }
	}
	status := func(code int) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(code) }
	}
	site := pages(t, map[string]http.HandlerFunc{
		"/good":    say("text/html; charset=utf-8", "<title>Good</title><p>Text"),
		"/picture": say("image/png", "\x89PNG"), "/broken": say("application/pdf", "no PDF"),
		"/error": status(http.StatusInternalServerError), "/nowhere": status(http.StatusFound),
		"/loop": redirect("/loop"), "/file": redirect("file:///etc/passwd"), "/redirect": redirect("/good"),
	})
	w := newFixture(t)
	const redirects = "Can't be fetched: it redirects too often or to an invalid address."
	want := map[string]string{
		"/picture": "The media type of the page is not supported.", "/broken": "page.pdf: is not a PDF file, or is damaged",
		"/error": "The server answers with status 500.", "/missing": "The server answers with status 404.",
		"/loop": redirects, "/nowhere": redirects, "/file": redirects,
	}
	urls := []string{site + "/good", site + "/redirect"}
	for path := range want {
		urls = append(urls, site+path)
	}
	src, got := w.fill(source.New{Name: "Web", Kind: source.KindWeb, Settings: source.Settings{URLs: urls}})
	w.same("failed", got.Files.Failed, len(want))
	w.same("added", got.Documents.Added, 2)
	for _, problem := range got.Errors {
		path := strings.TrimPrefix(problem.File, site)
		if problem.Reason != want[path] {
			t.Errorf("%s: %q, want %q", path, problem.Reason, want[path])
		}
	}
	w.same("documents", len(w.documents(src.ID)), 2)
}

// A record that cannot be used is reported with its line, and all others are imported.
func TestOneBadRecordDoesNotRefuseTheOthers(t *testing.T) {
	t.Parallel()
	reasons := map[string]string{
		`{"id":"471","title":"","authors":[],"text":"","year":null}`: "has neither a title nor a text",
		`{"id":"long","title":"` + strings.Repeat("x", 2001) + `"}`:  "has a title of more than 2000 characters",
		`{"id":"year","text":"x","year":"in spring"}`:                "has a year that is not a whole number from 1 to 9999",
		`{"id":"type","text":["x"]}`:                                 "has a text that is not a string",
		`{"id":"good 0","text":"again"}`:                             "repeats the id of line 1",
		`{"text":"without an id"}`:                                   "has no id",
		`{"id":"cut","text":"x`:                                      "is not valid JSON (it ends too early)",
		`["id"]`:                                                     "is not a JSON object",
	}
	var lines []string
	want := make(map[string]bool)
	for bad, reason := range reasons {
		lines = append(lines, fmt.Sprintf(`{"id":"good %d","text":"a text"}`, len(lines)), bad)
		want[fmt.Sprintf("line %d: %s", len(lines), reason)] = true
	}
	w := newFixture(t)
	got := w.put("records.jsonl", strings.Join(lines, "\n"))
	w.same("added", got.Documents.Added, len(reasons))
	w.same("failed records", got.Failed, len(reasons))
	w.same("failed files", got.Files.Failed, 0)
	for _, problem := range got.Errors {
		if problem.File != "records.jsonl" || !want[problem.Reason] {
			t.Errorf("%s: %q is not among %v", problem.File, problem.Reason, want)
		}
		delete(want, problem.Reason)
	}
	w.same("unreported", len(want), 0)
}

func TestFeedsThatCannotBeReadAreReported(t *testing.T) {
	t.Parallel()
	site := pages(t, map[string]http.HandlerFunc{
		"/page":  say("text/html", "<html><title>No feed</title></html>"),
		"/error": func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) },
		"/cut":   say("application/rss+xml", "<rss><channel><item><title>T"),
	})
	w := newFixture(t)
	for _, path := range []string{"/page", "/error", "/cut", "/missing"} {
		_, got := w.fill(source.New{Name: path, Kind: source.KindFeed, Settings: source.Settings{URL: site + path}})
		if got.Files.Failed != 1 || len(got.Errors) != 1 || got.Errors[0].Reason != "Not a readable RSS, Atom or JSON feed." {
			t.Errorf("%s: %+v %+v", path, got.Files, got.Errors)
		}
	}
}

// A feed lists its latest entries only, so entries that left it are kept.
func TestEntriesThatLeftAFeedAreKept(t *testing.T) {
	t.Parallel()
	var body atomic.Value
	body.Store(`<rss><item><guid>1</guid><title>One</title></item>
		<item><guid>1</guid><title>One again</title></item></rss>`)
	site := pages(t, map[string]http.HandlerFunc{
		"/feed": func(rw http.ResponseWriter, r *http.Request) {
			say("application/rss+xml", body.Load().(string))(rw, r)
		},
	})
	w := newFixture(t)
	src, _ := w.fill(source.New{Name: "Feed", Kind: source.KindFeed, Settings: source.Settings{URL: site + "/feed"}})
	w.same("entries with one id", len(w.documents(src.ID)), 1)
	body.Store(`<rss><item><guid>2</guid><title>Two</title></item></rss>`)
	_, err := w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	w.same("added", w.imported(src.ID).Documents.Added, 1)
	w.same("documents", len(w.documents(src.ID)), 2)
}

func TestAFileThatBecomesUnreadableKeepsItsDocuments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.put("a.jsonl", `{"id":"1","text":"one"}`+"\n"+`{"id":"2","text":"two"}`)
	got := w.put("a.jsonl", "no JSON at all")
	w.same("failed", got.Files.Failed, 1)
	w.same("documents", len(w.documents(w.upload.ID)), 2)
	// The same content again is read again, because the last import failed.
	w.same("failed again", w.put("a.jsonl", "no JSON at all").Files.Failed, 1)
	mended := w.put("a.jsonl", `{"id":"1","text":"one"}`)
	w.same("mended", mended.Documents, importer.DocumentCounts{Unchanged: 1, Deleted: 1})
}

func TestADamagedArchiveIsReported(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	part, err := z.Create("a.txt")
	w := newFixture(t)
	w.must(err)
	_, err = part.Write([]byte("text"))
	w.must(err)
	w.must(z.Close())
	for name, content := range map[string]string{
		"cut.zip": b.String()[:b.Len()/2], "text.zip": "no archive", "empty.zip": "PK\x05\x06" + strings.Repeat("\x00", 18),
	} {
		got := w.put(name, content)
		if got.Files.Failed != 1 || len(got.Errors) != 1 || got.State != task.StateComplete {
			t.Errorf("%s: %s, %+v %+v", name, got.State, got.Files, got.Errors)
		}
	}
	w.same("a sound archive", w.put("good.zip", b.String()).Documents.Added, 1)
}

func TestAFolderThatIsAFileIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	path := filepath.Join(t.TempDir(), "file")
	w.must(os.Mkdir(path, 0o755))
	src, _ := w.fill(source.New{Name: "Folder", Kind: source.KindFolder, Settings: source.Settings{Path: path}})
	w.must(os.Remove(path))
	w.must(os.WriteFile(path, []byte("text"), 0o600))
	_, err := w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	got := w.imported(src.ID)
	w.same("state", got.State, task.StateFailed)
	if len(got.Errors) != 1 || !strings.HasPrefix(got.Errors[0].Reason, "The folder does not exist or can't be opened.") {
		t.Errorf("problems %+v", got.Errors)
	}
}

func TestFilesAreListedInPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		_, err := w.importer.UploadFile(t.Context(), w.target(), name, strings.NewReader("Text of "+name))
		w.must(err)
	}
	w.importUploads()
	w.imported(w.upload.ID)
	var names []string
	for page := (core.Page{Limit: 2}); ; {
		files, next, err := w.importer.Files(t.Context(), w.actor, w.agent, w.upload.ID, page)
		w.must(err)
		for _, f := range files {
			names = append(names, f.Name)
		}
		if next == "" {
			break
		}
		page.Cursor = next
	}
	w.same("files, newest first", strings.Join(names, " "), "c.txt b.txt a.txt")
	_, _, err := w.importer.Files(t.Context(), w.actor, w.agent, w.upload.ID, core.Page{Cursor: "nonsense"})
	if !core.IsKind(err, core.KindInvalid) {
		t.Errorf("a malformed cursor: %v", err)
	}
}
