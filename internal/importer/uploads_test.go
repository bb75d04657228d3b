package importer_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/outbound"
	"carrel/internal/source"
	"carrel/internal/task"
)

// restart stops the task engine, as the end of the process would, and returns a function that starts a new one.
func (w *fixture) restart() (start func()) {
	w.t.Helper()
	w.must(w.tasks.Stop(w.t.Context()))
	log := slog.New(slog.DiscardHandler)
	w.tasks = task.New(
		task.Deps{Store: w.db, Clock: w.clock, Log: log}, task.Options{SingleNode: true, Poll: 20 * time.Millisecond},
	)
	w.importer = importer.NewService(
		importer.Deps{Store: w.db, Sources: w.sources, Tasks: w.tasks, Clock: w.clock, Log: log},
		importer.Options{Scratch: w.t.TempDir(), Client: outbound.NewClient(outbound.Options{Private: true})},
	)
	w.tasks.Register(w.importer.Kind())
	return func() { w.must(w.tasks.Start(w.t.Context())) }
}

func TestUploadsThatWaitAreImportedOnceAfterARestart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.put("before.txt", "Before.")
	start := w.restart()
	for _, name := range []string{"a.txt", "b.txt", "c.jsonl"} {
		content := "Text of " + name
		if name == "c.jsonl" {
			content = `{"id":"1","text":"one"}`
		}
		_, err := w.importer.UploadFile(t.Context(), w.target(), name, strings.NewReader(content))
		w.must(err)
		w.importUploads()
	}
	start()
	got := w.imported(w.upload.ID)
	w.same("files", got.Files, importer.FileCounts{Total: 3, Done: 3})
	w.same("documents", got.Documents, importer.DocumentCounts{Added: 3})
	imports, err := w.importer.Imports(t.Context(), w.actor, w.agent, w.upload.ID)
	w.must(err)
	w.same("imports", len(imports), 2) // three requests for a queued import are one
	w.same("stored documents", len(w.documents(w.upload.ID)), 4)
}

func TestFilesOfTheSameContentAreSeparateDocuments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.same("first", w.put("a.txt", "The same text.").Documents.Added, 1)
	w.same("copy", w.put("copy/a.txt", "The same text.").Documents.Added, 1)
	docs := w.documents(w.upload.ID)
	if docs["a.txt"] != docs["copy/a.txt"] || len(docs) != 2 {
		t.Errorf("documents %v", docs)
	}
}

// Records of uploads keep their ids, so that a record can move from one file to another.
func TestARecordInTwoFilesBelongsToTheLaterOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.put("a.jsonl", `{"id":"1","text":"old"}`)
	w.same("second file", w.put("b.jsonl", `{"id":"1","text":"new"}`).Documents, importer.DocumentCounts{Updated: 1})
	w.same("text", w.documents(w.upload.ID)["1"], "new")
	// The first file no longer owns the record, so its next version does not delete it.
	w.put("a.jsonl", `{"id":"2","text":"two"}`)
	w.same("text after the first file changed", w.documents(w.upload.ID)["1"], "new")
}

func TestACancelledUploadIsGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u, err := w.importer.CreateUpload(t.Context(), w.target(), "a.txt", 100)
	w.must(err)
	_, err = w.importer.AppendUpload(t.Context(), w.target(), u.ID, 0, strings.NewReader("half"))
	w.must(err)
	w.must(w.importer.CancelUpload(t.Context(), w.target(), u.ID))
	if _, err := w.importer.FindUpload(t.Context(), w.target(), u.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("found: %v", err)
	}
	_, err = w.importer.AppendUpload(t.Context(), w.target(), u.ID, 4, strings.NewReader("more"))
	if !core.IsKind(err, core.KindNotFound) {
		t.Errorf("appended: %v", err)
	}
	w.same("documents", len(w.documents(w.upload.ID)), 0)
}

// result uploads a file and returns its result.
func (w *fixture) result(name, content string) importer.UploadResult {
	w.t.Helper()
	u, err := w.importer.UploadFile(w.t.Context(), w.target(), name, strings.NewReader(content))
	w.must(err)
	before := w.results(u.ID)
	w.same("result before the import", before[0].UploadResult, importer.UploadResult{})
	w.importUploads()
	w.imported(w.upload.ID)
	got := w.results(u.ID)
	w.same("uploads", len(got), 1)
	w.same("name", got[0].Name, name)
	return got[0].UploadResult
}

func (w *fixture) results(ids ...string) []importer.Upload {
	w.t.Helper()
	got, err := w.importer.Uploads(w.t.Context(), w.actor, w.agent, w.upload.ID, ids)
	w.must(err)
	return got
}

func TestUploadKeepsItsResult(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	added := importer.UploadResult{Outcome: importer.OutcomeAdded, Documents: 1}
	w.same("first", w.result("papers/a.txt", "One."), added)
	w.same("same name in another folder", w.result("notes/a.txt", "One."), added)
	w.same("again", w.result("papers/a.txt", "One."),
		importer.UploadResult{Outcome: importer.OutcomeUnchanged, Documents: 1})
	w.same("changed", w.result("papers/a.txt", "Two."),
		importer.UploadResult{Outcome: importer.OutcomeUpdated, Documents: 1})
	broken := w.result("b.pdf", "no PDF")
	if broken.Outcome != importer.OutcomeFailed || !strings.Contains(broken.Reason, "is not a PDF file") {
		t.Errorf("a broken file: %+v", broken)
	}
	half := w.result("c.jsonl", "x\n"+`{"id": "1", "text": "y"}`)
	if half.Outcome != importer.OutcomeAdded || half.Skipped != 1 || !strings.Contains(half.Reason, "line 1") {
		t.Errorf("a file with a broken record: %+v", half)
	}
	w.same("unknown uploads", len(w.results("upl_none")), 0)
	for _, n := range []int{0, 101} {
		_, err := w.importer.Uploads(t.Context(), w.actor, w.agent, w.upload.ID, make([]string, n))
		if !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%d ids: %v", n, err)
		}
	}
}

// A client that lost the reply to its request repeats it with the same seed.
func TestRepeatedCreationFindsTheUploadAlsoWithoutRoomForASecondOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.roomFor(10)
	ctx := core.WithSeed(t.Context(), core.NewSeed())
	first, err := w.importer.CreateUpload(ctx, w.target(), "a.txt", 8)
	w.must(err)
	_, err = w.importer.AppendUpload(t.Context(), w.target(), first.ID, 0, strings.NewReader("12345678"))
	w.must(err)
	again, err := w.importer.CreateUpload(ctx, w.target(), "a.txt", 8)
	w.must(err)
	w.same("upload", [2]any{again.ID, again.Received}, [2]any{first.ID, int64(8)})
}

func TestMoreBytesThanAnnouncedAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u, err := w.importer.CreateUpload(t.Context(), w.target(), "a.txt", 4)
	w.must(err)
	_, err = w.importer.AppendUpload(t.Context(), w.target(), u.ID, 0, strings.NewReader("12345"))
	if !core.IsKind(err, core.KindInvalid) {
		t.Errorf("five bytes of four: %v", err)
	}
	done, err := w.importer.AppendUpload(t.Context(), w.target(), u.ID, 0, strings.NewReader("1234"))
	w.must(err)
	w.same("ready", done.Ready, true)
	w.imported(w.upload.ID)
	w.same("text", w.documents(w.upload.ID)["a.txt"], "1234")
}

func TestOnlyUploadSourcesTakeUploads(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	src, err := w.sources.Add(t.Context(), w.actor, w.agent, source.New{
		Name: "Feed", Kind: source.KindFeed, Settings: source.Settings{URL: "https://example.org/feed"},
	})
	w.must(err)
	_, err = w.importer.UploadTarget(t.Context(), w.actor, core.OpUploadFiles, w.agent, src.ID)
	if !core.IsKind(err, core.KindConflict) {
		t.Errorf("a feed: %v", err)
	}
	if _, err := w.importer.Sync(t.Context(), w.actor, w.agent, w.upload.ID); !core.IsKind(err, core.KindConflict) {
		t.Errorf("a sync of uploads: %v", err)
	}
}

// A source that is due again while its import still runs is not queued a second time.
func TestDueSourcesWithARunningImportAreSkipped(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		asked <- struct{}{}
		<-answer
		rw.Header().Set("Content-Type", "text/plain")
		_, _ = rw.Write([]byte("A page."))
	}))
	t.Cleanup(site.Close)
	w := newFixture(t)
	src, err := w.sources.Add(t.Context(), w.actor, w.agent, source.New{
		Name: "Web", Kind: source.KindWeb, Settings: source.Settings{URLs: []string{site.URL + "/p"}, SyncMinutes: 60},
	})
	w.must(err)
	_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	<-asked
	w.clock.Advance(2 * time.Hour)
	w.must(w.importer.SyncDue(t.Context()))
	imports, err := w.importer.Imports(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	w.same("imports", len(imports), 1)
	close(answer)
	w.same("added", w.imported(src.ID).Documents.Added, 1)
	w.clock.Advance(30 * time.Minute)
	w.must(w.importer.SyncDue(t.Context()))
	imports, err = w.importer.Imports(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	w.same("imports before the interval has passed", len(imports), 1)
}
