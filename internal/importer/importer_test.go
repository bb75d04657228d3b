package importer_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/outbound"
	"carrel/internal/secretbox"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	kit "carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fixture is a user with an agent, and the services that import into its sources.
type fixture struct {
	t        *testing.T
	db       *store.DB
	tasks    *task.Engine
	sources  *source.Service
	importer *importer.Service
	actor    core.Actor
	agent    string
	upload   source.Source
	clock    *testkit.Clock
}

// nothing is an engine for tests that do not search.
type nothing struct{ source.Engine }

// newFixture returns a fixture whose client may fetch from this machine.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWith(t, outbound.NewClient(outbound.Options{Private: true}))
}

func newFixtureWith(t *testing.T, client *http.Client, change ...func(*importer.Options)) *fixture {
	t.Helper()
	w := &fixture{t: t, clock: testkit.NewClock()}
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), store.Options{Path: kit.SQLite(t), Log: log})
	w.must(err)
	w.db = db
	user := account.User{
		ID: core.NewID(core.PrefixUser), Email: "ada@example.org", Name: "Ada", Role: core.RoleOwner,
		Plan: core.PlanOpen, CreatedAt: w.clock.Now(),
	}
	w.must(db.InsertUser(t.Context(), user, "hash"))
	w.actor = core.Operator(user.ID)
	events := audit.New(audit.Deps{Store: db, Clock: w.clock, Log: log})
	agents := agent.NewService(agent.Deps{Store: db, Clock: w.clock, Audit: events})
	name := "Test"
	a, err := agents.Create(t.Context(), w.actor, agent.Change{Name: &name})
	w.must(err)
	w.agent = a.ID
	w.tasks = task.New(
		task.Deps{Store: db, Clock: w.clock, Log: log}, task.Options{SingleNode: true, Poll: 20 * time.Millisecond},
	)
	box, err := secretbox.New(make([]byte, 32), "test")
	w.must(err)
	w.sources = source.NewService(source.Deps{
		Store: db, Agents: agents, Engine: nothing{}, Clock: w.clock, Sealer: box,
	})
	options := importer.Options{Scratch: t.TempDir(), Client: client, MaxUpload: 8 << 20}
	for _, f := range change {
		f(&options)
	}
	w.importer = importer.NewService(
		importer.Deps{Store: db, Sources: w.sources, Tasks: w.tasks, Clock: w.clock, Log: log}, options,
	)
	w.tasks.Register(w.importer.Kind())
	w.must(w.tasks.Start(t.Context()))
	t.Cleanup(func() {
		_ = w.tasks.Stop(context.Background()) // the engine may have been replaced by the test
		_ = db.Close()
	})
	w.upload, err = w.sources.Default(t.Context(), w.actor, w.agent)
	w.must(err)
	return w
}

// target returns the upload source after the access check for the owner.
func (w *fixture) target() importer.UploadTarget {
	w.t.Helper()
	to, err := w.importer.UploadTarget(w.t.Context(), w.actor, core.OpUploadFiles, w.agent, w.upload.ID)
	w.must(err)
	return to
}

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// importUploads starts an import of the complete uploads.
func (w *fixture) importUploads() {
	w.t.Helper()
	_, err := w.importer.ImportUploads(w.t.Context(), w.target())
	w.must(err)
}

// put uploads a file and waits for the import that reads it.
func (w *fixture) put(name, content string) importer.Import {
	w.t.Helper()
	_, err := w.importer.UploadFile(w.t.Context(), w.target(), name, strings.NewReader(content))
	w.must(err)
	w.importUploads()
	return w.imported(w.upload.ID)
}

// file returns a file of the upload source.
func (w *fixture) file(name string) importer.File {
	w.t.Helper()
	f, err := w.db.FileByName(w.t.Context(), w.upload.ID, name)
	w.must(err)
	return f
}

// imported waits for the imports of a source and returns the latest.
func (w *fixture) imported(sourceID string) importer.Import {
	w.t.Helper()
	for {
		active, err := w.db.ActiveTask(w.t.Context(), sourceID)
		if core.IsKind(err, core.KindNotFound) {
			break
		}
		w.must(err)
		_, err = w.tasks.Wait(w.t.Context(), active.ID)
		w.must(err)
	}
	imports, err := w.importer.Imports(w.t.Context(), w.actor, w.agent, sourceID)
	w.must(err)
	return imports[0]
}

// documents returns the texts of a source's documents by external id.
func (w *fixture) documents(sourceID string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for d, err := range w.db.ScanDocuments(w.t.Context(), sourceID) {
		w.must(err)
		out[d.ExternalID] = d.Text
	}
	return out
}

func (w *fixture) same(what string, got, want any) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func TestAFileThatComesAgainUnchangedIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first := w.put("notes/a.md", "# A\n\none")
	w.same("documents", first.Documents, importer.DocumentCounts{Added: 1})
	w.same("state", first.State, task.StateComplete)
	again := w.put("notes/a.md", "# A\n\none")
	w.same("files", again.Files, importer.FileCounts{Total: 1, Done: 1, Unchanged: 1})
	w.same("documents", again.Documents, importer.DocumentCounts{})
	changed := w.put("notes/a.md", "# A\n\ntwo")
	w.same("documents", changed.Documents, importer.DocumentCounts{Updated: 1})
	w.same("text", w.documents(w.upload.ID)["notes/a.md"], "# A\n\ntwo")
}

func TestRecordsThatAFileNoLongerHoldsAreRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.put("a.jsonl", `{"id":"1","text":"one"}`+"\n"+`{"id":"2","text":"two"}`)
	w.put("b.jsonl", `{"id":"3","text":"three"}`)
	got := w.put("a.jsonl", `{"id":"2","text":"two"}`+"\n"+`{"id":"4","text":"four"}`)
	w.same("documents", got.Documents, importer.DocumentCounts{Added: 1, Unchanged: 1, Deleted: 1})
	docs := w.documents(w.upload.ID)
	if _, there := docs["1"]; there || len(docs) != 3 {
		t.Errorf("documents %v", docs)
	}
	files, _, err := w.importer.Files(t.Context(), w.actor, w.agent, w.upload.ID, core.Page{})
	w.must(err)
	w.same("files", len(files), 2)
	w.must(w.importer.DeleteFile(t.Context(), w.actor, w.agent, w.upload.ID, files[1].ID))
	w.same("documents after the file is gone", len(w.documents(w.upload.ID)), 1)
}

func TestABrokenFileIsReportedWithItsReasonAndStopsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, content := range map[string]string{
		"bad.pdf": "no PDF", "good.txt": "A text.", "half.jsonl": `{"id":1,"text":"x"}` + "\nbroken",
	} {
		_, err := w.importer.UploadFile(t.Context(), w.target(), name, strings.NewReader(content))
		w.must(err)
	}
	w.importUploads()
	if all := w.imported(w.upload.ID); all.Files != (importer.FileCounts{Total: 3, Done: 3, Failed: 1}) {
		t.Errorf("files %+v", all.Files)
	}
	files, _, err := w.importer.Files(t.Context(), w.actor, w.agent, w.upload.ID, core.Page{})
	w.must(err)
	byName := map[string]importer.File{}
	for _, f := range files {
		byName[f.Name] = f
	}
	if f := byName["bad.pdf"]; !strings.Contains(f.Error, "is not a PDF file") || f.Documents != 0 {
		t.Errorf("bad.pdf: %+v", f)
	}
	if f := byName["half.jsonl"]; f.Error != "" || f.Documents != 1 || f.Skipped != 1 {
		t.Errorf("half.jsonl: %+v", f)
	}
	w.same("documents", len(w.documents(w.upload.ID)), 2)
	mended := w.put("bad.pdf", "still no PDF")
	w.same("failed files", mended.Files.Failed, 1)
	w.same("problems", len(mended.Errors), 1)
}

func TestAnArchiveIsUnpacked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"a.txt", "deep/b.md"} {
		part, err := z.Create(name)
		w.must(err)
		_, err = part.Write([]byte("text of " + name))
		w.must(err)
	}
	w.must(z.Close())
	got := w.put("all.zip", b.String())
	w.same("documents", got.Documents, importer.DocumentCounts{Added: 2})
	if docs := w.documents(w.upload.ID); docs["all.zip/a.txt"] == "" || docs["all.zip/deep/b.md"] == "" {
		t.Errorf("documents %v", docs)
	}
}

// cutOff returns the bytes of r and then an error instead of io.EOF.
type cutOff struct{ r io.Reader }

func (c cutOff) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = errors.New("the line is dead")
	}
	return n, err
}

func TestAnUploadGoesOnWhereItWasCutOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	content := "A long text.\n\n" + strings.Repeat("More of it. ", 300_000)
	u, err := w.importer.CreateUpload(t.Context(), w.target(), "long.txt", int64(len(content)))
	w.must(err)
	_, err = w.importer.AppendUpload(t.Context(), w.target(), u.ID, 0, cutOff{strings.NewReader(content[:2_500_000])})
	if !core.IsKind(err, core.KindInvalid) {
		t.Fatalf("cut off: %v", err)
	}
	half, err := w.importer.FindUpload(t.Context(), w.target(), u.ID)
	w.must(err)
	if half.Received == 0 || half.Received >= int64(len(content)) {
		t.Fatalf("received %d", half.Received)
	}
	_, err = w.importer.AppendUpload(t.Context(), w.target(), u.ID, 0, strings.NewReader(content))
	if !core.IsKind(err, core.KindConflict) {
		t.Errorf("from the start again: %v", err)
	}
	done, err := w.importer.AppendUpload(
		t.Context(), w.target(), u.ID, half.Received, strings.NewReader(content[half.Received:]),
	)
	w.must(err)
	w.same("ready", done.Ready, true)
	w.imported(w.upload.ID)
	if got := w.documents(w.upload.ID)["long.txt"]; got != strings.TrimSpace(content) {
		t.Errorf("%d bytes arrived of %d", len(got), len(content))
	}
}

func TestFilesThatAreTooLargeOrUnsupportedAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, err := w.importer.CreateUpload(t.Context(), w.target(), "a.txt", 9<<20)
	if !core.IsKind(err, core.KindTooLarge) {
		t.Errorf("too large: %v", err)
	}
	_, err = w.importer.UploadFile(t.Context(), w.target(), "a.txt", strings.NewReader(strings.Repeat("x", 9<<20)))
	if !core.IsKind(err, core.KindTooLarge) {
		t.Errorf("too large in the end: %v", err)
	}
	for _, name := range []string{"", "..", "a.exe", "a\x00.txt", strings.Repeat("a", 500) + ".txt"} {
		if _, err := w.importer.CreateUpload(t.Context(), w.target(), name, 1); !core.IsKind(err, core.KindInvalid) &&
			!core.IsKind(err, core.KindUnsupported) {
			t.Errorf("%q: %v", name, err)
		}
	}
	u, err := w.importer.CreateUpload(t.Context(), w.target(), `..\..\etc\passwd.txt`, 1)
	w.must(err)
	w.same("name", u.Name, "etc/passwd.txt")
}

// roomFor gives the owner a plan with a storage limit.
func (w *fixture) roomFor(bytes int64) {
	w.t.Helper()
	w.must(
		w.db.PutPlan(
			w.t.Context(),
			billing.Plan{Name: "small", StorageLimit: &bytes, CreatedAt: w.clock.Now(), UpdatedAt: w.clock.Now()},
		),
	)
	w.must(w.db.SetPlan(w.t.Context(), w.actor.UserID, "small"))
}

func TestAFolderIsKeptUpToDate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		w.must(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	outside := filepath.Join(t.TempDir(), "secret.txt")
	w.must(os.WriteFile(outside, []byte("secret"), 0o600))
	w.must(os.Symlink(outside, filepath.Join(dir, "link.txt")))
	write("a.txt", "one")
	write("sub/refs.bib", "@misc{k, title={K}}")
	write(".hidden.txt", "no")
	src, err := w.sources.Add(
		t.Context(), w.actor, w.agent,
		source.New{Name: "Folder", Kind: source.KindFolder, Settings: source.Settings{Path: dir, SyncMinutes: 5}},
	)
	w.must(err)
	sync := func() importer.Import {
		t.Helper()
		_, err := w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
		w.must(err)
		return w.imported(src.ID)
	}
	w.same("first", sync().Documents, importer.DocumentCounts{Added: 2})
	docs := w.documents(src.ID)
	if docs["a.txt"] != "one" || len(docs) != 2 {
		t.Errorf("documents %v", docs)
	}
	w.same("nothing new", sync().Files, importer.FileCounts{})
	write("a.txt", "two!")
	w.must(os.Remove(filepath.Join(dir, "sub", "refs.bib")))
	third := sync()
	w.same("changed", third.Documents, importer.DocumentCounts{Updated: 1, Deleted: 1})
	w.same("removed", third.Files.Removed, 1)
	w.must(os.RemoveAll(dir))
	last := sync()
	w.same("state", last.State, task.StateFailed)
	w.same("documents stay when the folder is gone", len(w.documents(src.ID)), 1)
	w.clock.Advance(6 * time.Minute)
	w.must(w.importer.SyncDue(t.Context()))
	if again := w.imported(src.ID); again.ID == last.ID {
		t.Error("it was due, and not synced")
	}
	member := core.Actor{
		UserID: w.actor.UserID, Role: core.RoleMember, Plan: core.PlanOpen, Scopes: core.RoleMember.Scopes(),
	}
	if _, err := w.importer.Sync(t.Context(), member, w.agent, src.ID); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("somebody who does not run the installation: %v", err)
	}
}

const rss = `<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>News</title>
<item><title>First &amp; last</title><link>https://example.org/1</link><guid>1</guid>
<dc:creator>Ada</dc:creator><pubDate>Fri, 05 Apr 2019 10:00:00 GMT</pubDate>
<description>&lt;p&gt;Some &lt;b&gt;text&lt;/b&gt;.&lt;/p&gt;</description></item></channel></rss>`

const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>Notes</title>
<entry><id>tag:2</id><title>Second</title><link rel="self" href="https://example.org/x"/>
<link href="https://example.org/2"/>
<author><name>Alan</name></author><updated>2020-01-02T03:04:05Z</updated>
<content type="xhtml"><div><p>Body <i>here</i></p></div></content></entry></feed>`

func TestPagesAndFeedsAreFetchedAndAskedWhetherTheyChanged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var gone atomic.Bool
	var unchanged atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		page := func(kind, content string) {
			res.Header().Set("ETag", `"1"`)
			if req.Header.Get("If-None-Match") == `"1"` {
				unchanged.Add(1)
				res.WriteHeader(http.StatusNotModified)
				return
			}
			res.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(res, content)
		}
		switch req.URL.Path {
		case "/a":
			page("text/html; charset=utf-8", "<title>A</title><p>Page a.")
		case "/moved":
			http.Redirect(res, req, "/a", http.StatusFound)
		case "/loop":
			http.Redirect(res, req, "/loop", http.StatusFound)
		case "/b":
			if gone.Load() {
				http.NotFound(res, req)
				return
			}
			page("text/plain", "Page b.")
		case "/picture":
			page("image/png", "x")
		case "/rss":
			page("application/rss+xml", rss)
		case "/atom":
			page("application/atom+xml", atom)
		case "/robots.txt":
			http.NotFound(res, req)
		default:
			http.Error(res, "no", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(site.Close)
	add := func(n source.New) (string, importer.Import) {
		t.Helper()
		src, err := w.sources.Add(t.Context(), w.actor, w.agent, n)
		w.must(err)
		_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
		w.must(err)
		return src.ID, w.imported(src.ID)
	}
	urls := []string{
		site.URL + "/a", site.URL + "/b", site.URL + "/moved", site.URL + "/loop", site.URL + "/picture",
		site.URL + "/fails",
	}
	id, first := add(source.New{Name: "Web", Kind: source.KindWeb, Settings: source.Settings{URLs: urls}})
	w.same("added", first.Documents.Added, 3)
	w.same("failed", first.Files.Failed, 3)
	w.same("text", w.documents(id)[site.URL+"/a"], "Page a.")
	gone.Store(true)
	_, err := w.importer.Sync(t.Context(), w.actor, w.agent, id)
	w.must(err)
	second := w.imported(id)
	w.same("removed", second.Documents.Deleted, 1)
	w.same("unchanged", unchanged.Load() > 0 && second.Files.Unchanged == 2, true)

	id, feed := add(source.New{Name: "RSS", Kind: source.KindFeed, Settings: source.Settings{URL: site.URL + "/rss"}})
	w.same("RSS", feed.Documents.Added, 1)
	for d, err := range w.db.ScanDocuments(t.Context(), id) {
		w.must(err)
		if d.Title != "First & last" || d.Text != "Some text." || d.Year != 2019 || d.URL != "https://example.org/1" ||
			d.Authors[0] != "Ada" || d.Venue != "News" {
			t.Errorf("RSS gave %+v", d)
		}
	}
	id, _ = add(source.New{Name: "Atom", Kind: source.KindFeed, Settings: source.Settings{URL: site.URL + "/atom"}})
	for d, err := range w.db.ScanDocuments(t.Context(), id) {
		w.must(err)
		if d.Title != "Second" || d.Text != "Body here" || d.Year != 2020 || d.URL != "https://example.org/2" ||
			d.Authors[0] != "Alan" {
			t.Errorf("Atom gave %+v", d)
		}
	}
	_, bad := add(source.New{Name: "None", Kind: source.KindFeed, Settings: source.Settings{URL: site.URL + "/a"}})
	w.same("no feed", bad.Files.Failed, 1)
}

func TestEventsTellHowFarAnImportIs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	events, err := w.importer.Events(t.Context(), w.actor, w.agent, w.upload.ID, nil)
	w.must(err)
	_, err = w.importer.UploadFile(t.Context(), w.target(), "a.txt", strings.NewReader("A text."))
	w.must(err)
	w.importUploads()
	var seen []string
	for e, err := range events {
		w.must(err)
		seen = append(seen, e.Kind)
		if e.Kind == "progress" && !strings.Contains(string(e.Payload), `"added":1`) {
			t.Errorf("progress %s", e.Payload)
		}
		if e.Kind == task.EventDone {
			break
		}
	}
	if got := strings.Join(seen, " "); !strings.Contains(got, "progress") {
		t.Errorf("events %s", got)
	}
	// A client that connects after the end receives the same events.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	late, err := w.importer.Events(ctx, w.actor, w.agent, w.upload.ID, nil)
	w.must(err)
	var again []string
	for e, err := range late {
		w.must(err)
		if again = append(again, e.Kind); e.Kind == task.EventDone {
			break
		}
	}
	if !slices.Equal(again, seen) {
		t.Errorf("after the end: %q, while it ran: %q", again, seen)
	}
}
