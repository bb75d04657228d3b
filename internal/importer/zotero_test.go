package importer_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/outbound"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/zoterofake"
)

// zoteroFixture is a fixture with a Zotero source.
type zoteroFixture struct {
	*fixture
	zotero *zoterofake.Server
	src    source.Source
}

func newZoteroFixture(
	t *testing.T, server *zoterofake.Server, n source.New, o ...func(*importer.Options),
) *zoteroFixture {
	t.Helper()
	z := &zoteroFixture{
		fixture: newFixtureWith(t, outbound.NewClient(outbound.Options{Private: true}), o...), zotero: server,
	}
	n.Name, n.Kind, n.Settings.URL = "Library", source.KindZotero, server.URL
	var err error
	z.src, err = z.sources.Add(t.Context(), z.actor, z.agent, n)
	z.must(err)
	return z
}

func newZotero(t *testing.T, o ...func(*importer.Options)) *zoteroFixture {
	t.Helper()
	return newZoteroFixture(t, zoterofake.New(t), source.New{Secret: zoterofake.Key}, o...)
}

func (z *zoteroFixture) sync() importer.Import {
	z.t.Helper()
	_, err := z.importer.Sync(z.t.Context(), z.actor, z.agent, z.src.ID)
	z.must(err)
	return z.imported(z.src.ID)
}

// document returns the document of an item.
func (z *zoteroFixture) document(key string) source.Document {
	z.t.Helper()
	for d, err := range z.db.ScanDocuments(z.t.Context(), z.src.ID) {
		z.must(err)
		if d.ExternalID == key {
			full, err := z.db.Document(z.t.Context(), z.actor.UserID, z.agent, d.ID)
			z.must(err)
			return full
		}
	}
	z.t.Fatalf("no document %s", key)
	return source.Document{}
}

// reasons returns the problems of an import in one text.
func reasons(i importer.Import) string {
	var out []string
	for _, e := range i.Errors {
		out = append(out, e.File+": "+e.Reason)
	}
	return strings.Join(out, "\n")
}

// codd is a journal article with a collection, tags, a note, a PDF file and a highlight in it.
func (z *zoteroFixture) codd() {
	z.zotero.PutCollection("COLL2345", "Databases", "")
	z.zotero.Put(map[string]any{
		"key": "ARTI2345", "itemType": "journalArticle", "title": "A Relational Model",
		"creators":     []any{map[string]any{"creatorType": "author", "firstName": "Edgar F.", "lastName": "Codd"}},
		"abstractNote": "Future users of large data banks must be protected.", "publicationTitle": "CACM",
		"date": "June 1970",
		"DOI":  "10.1145/362384.362685", "url": "https://dl.acm.org/doi/10.1145/362384.362685",
		"tags": []any{map[string]any{"tag": "theory"}}, "collections": []any{"COLL2345"}, "relations": map[string]any{},
	})
	z.zotero.Put(map[string]any{
		"key": "NOTE2345", "itemType": "note", "parentItem": "ARTI2345",
		"note": "<p>Read the <b>normal form</b> again.</p>", "tags": []any{}, "relations": map[string]any{},
	})
	z.zotero.Put(map[string]any{
		"key": "FILE2345", "itemType": "attachment", "parentItem": "ARTI2345", "linkMode": "imported_file",
		"title": "Full Text", "contentType": "text/plain", "charset": "utf-8", "filename": "codd.txt", "tags": []any{},
	})
	z.zotero.Store("FILE2345", "A sublanguage based on predicate calculus.")
	z.zotero.Put(map[string]any{
		"key": "ANNO2345", "itemType": "annotation", "parentItem": "FILE2345", "annotationType": "highlight",
		"annotationText": "predicate calculus", "annotationComment": "important", "tags": []any{},
	})
}

func TestZoteroItemsAreImportedWithNotesAttachmentsAndCollections(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.codd()
	z.zotero.Put(map[string]any{"key": "BOOK2345", "itemType": "book", "title": "Only a title", "collections": []any{}})
	z.zotero.Put(map[string]any{"key": "SOLO2345", "itemType": "note", "note": "<h1>Ideas</h1><p>One.</p>"})
	first := z.sync()
	z.same("documents", first.Documents, importer.DocumentCounts{Added: 3})
	z.same("problems", reasons(first), "")
	d := z.document("ARTI2345")
	if d.Title != "A Relational Model" || !slices.Equal(d.Authors, []string{"Edgar F. Codd"}) || d.Year != 1970 ||
		d.Venue != "CACM" || d.DOI != "10.1145/362384.362685" || d.Type != "article" ||
		!slices.Equal(d.Tags, []string{"theory", "Databases"}) {
		t.Errorf("%+v", d)
	}
	z.same("text", d.Text, "# Abstract\n\nFuture users of large data banks must be protected.\n\n# Notes\n\n"+
		"Read the normal form again.\n\npredicate calculus\nimportant\n\nKeywords: theory\n\n"+
		"A sublanguage based on predicate calculus.")
	z.same("an item without text", z.document("BOOK2345").Title, "Only a title")
	z.same("a note", z.document("SOLO2345").Title, "Ideas")
}

func TestZoteroLibrariesAreSyncedByVersion(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.codd()
	z.zotero.Put(map[string]any{"key": "BOOK2345", "itemType": "book", "title": "One"})
	z.zotero.Put(map[string]any{"key": "TWOO2345", "itemType": "book", "title": "Two"})
	z.sync()
	z.zotero.Asked()
	z.same("nothing new", z.sync().Files, importer.FileCounts{})
	for _, asked := range z.zotero.Asked() {
		if strings.Contains(asked, "/file") || strings.Contains(asked, "itemKey") || strings.Contains(asked, "/deleted") {
			t.Errorf("an unchanged library was read: %s", asked)
		}
	}

	z.zotero.Change("NOTE2345", map[string]any{"note": "<p>Third normal form.</p>"})
	z.same("a note", z.sync().Documents, importer.DocumentCounts{Updated: 1})
	text := z.document("ARTI2345").Text
	if !strings.Contains(text, "Third normal form.") || !strings.Contains(text, "A sublanguage") ||
		strings.Contains(text, "again") {
		t.Errorf("text %q", text)
	}
	for _, asked := range z.zotero.Asked() {
		if strings.Contains(asked, "/items?") && !strings.Contains(asked, "since=") && !strings.Contains(asked, "itemKey=") {
			t.Errorf("the whole library was listed: %s", asked)
		}
	}

	z.zotero.Delete("NOTE2345")
	z.zotero.Delete("TWOO2345")
	z.zotero.Change("BOOK2345", map[string]any{"deleted": 1}) // to the trash
	got := z.sync()
	z.same("deletions", got.Documents, importer.DocumentCounts{Updated: 1, Deleted: 2})
	if text := z.document("ARTI2345").Text; strings.Contains(text, "normal form") {
		t.Errorf("text %q", text)
	}
	z.zotero.Change("BOOK2345", map[string]any{"deleted": nil}) // restored
	z.same("restored", z.sync().Documents, importer.DocumentCounts{Added: 1})

	z.zotero.PutCollection("COLL2345", "Data bases", "")
	z.same("a renamed collection", z.sync().Documents, importer.DocumentCounts{Updated: 1})
	z.same("tags", strings.Join(z.document("ARTI2345").Tags, ","), "theory,Data bases")

	z.zotero.SetVersion(3) // the server was restored from a backup
	z.zotero.Delete("ARTI2345")
	z.same("the version is lost", z.sync().Documents, importer.DocumentCounts{Deleted: 1})
	z.must(z.db.SetSyncState(t.Context(), z.src.ID, "damaged"))
	z.same("the state is lost", z.sync().Documents, importer.DocumentCounts{})
}

func TestItemsThatComeBackHaveTheirNotesAndAttachments(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.codd()
	z.zotero.Put(map[string]any{"key": "SOLO2345", "itemType": "note", "note": "<p>A lonely note.</p>"})
	z.sync()
	text := z.document("ARTI2345").Text
	z.zotero.Change("ARTI2345", map[string]any{"deleted": 1})
	z.same("to the trash", z.sync().Documents, importer.DocumentCounts{Deleted: 1})
	z.zotero.Change("ARTI2345", map[string]any{"deleted": nil})
	z.zotero.Asked()
	z.same("restored", z.sync().Documents, importer.DocumentCounts{Added: 1})
	z.same("text", z.document("ARTI2345").Text, text)
	for _, asked := range z.zotero.Asked() {
		if strings.Contains(asked, "/items?") && !strings.Contains(asked, "since=") && !strings.Contains(asked, "itemKey=") {
			t.Errorf("the whole library was listed: %s", asked)
		}
	}
	// A note that gets a parent is no document any more.
	z.zotero.Change("SOLO2345", map[string]any{"parentItem": "ARTI2345"})
	z.same("moved", z.sync().Documents, importer.DocumentCounts{Updated: 1, Deleted: 1})
	if text := z.document("ARTI2345").Text; !strings.Contains(text, "A lonely note.") {
		t.Errorf("text %q", text)
	}
	// An interrupted import leaves a file without a version: its notes are not known.
	file, err := z.db.FileByName(t.Context(), z.src.ID, "ARTI2345")
	z.must(err)
	text = z.document("ARTI2345").Text
	file.Version, file.Hash = "", []byte{}
	_, err = z.db.PutFile(t.Context(), file)
	z.must(err)
	z.sync()
	z.same("text after an interruption", z.document("ARTI2345").Text, text)
}

func TestALargeZoteroLibraryIsListedInPages(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	for i := range 230 {
		z.zotero.Put(map[string]any{"key": fmt.Sprintf("BOOK%04d", i), "itemType": "book", "title": fmt.Sprint("Book ", i)})
	}
	z.same("documents", z.sync().Documents, importer.DocumentCounts{Added: 230})
	// The library changes between two pages: the listing starts again.
	z.must(z.db.SetSyncState(t.Context(), z.src.ID, ""))
	z.zotero.Put(map[string]any{"key": "NEWB0001", "itemType": "book", "title": "New"})
	z.zotero.Fail(nil, nil, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified-Version", "9999")
		w.Header().Set("Total-Results", "231")
		_, _ = w.Write([]byte("[]"))
	})
	z.same("restarted", z.sync().Documents, importer.DocumentCounts{Added: 1})
}

func TestAZoteroCollectionIsImportedWithItsSubcollections(t *testing.T) {
	t.Parallel()
	server := zoterofake.New(t)
	server.PutCollection("AAAA2345", "Thesis", "")
	server.PutCollection("BBBB2345", "Chapter 1", "AAAA2345")
	server.PutCollection("CCCC2345", "Other", "")
	for key, collection := range map[string]string{
		"ITEM0001": "AAAA2345", "ITEM0002": "BBBB2345", "ITEM0003": "CCCC2345",
	} {
		server.Put(map[string]any{"key": key, "itemType": "book", "title": key, "collections": []any{collection}})
	}
	z := newZoteroFixture(t, server, source.New{
		Secret: zoterofake.Key, Settings: source.Settings{Collection: "thesis", Library: "groups/2510000"},
	})
	z.same("documents", z.sync().Documents, importer.DocumentCounts{Added: 2})
	server.Change("ITEM0002", map[string]any{"collections": []any{"CCCC2345"}})
	server.Change("ITEM0003", map[string]any{"collections": []any{"AAAA2345", "CCCC2345"}})
	z.same("moved", z.sync().Documents, importer.DocumentCounts{Added: 1, Deleted: 1})
	server.PutCollection("DDDD2345", "Thesis", "CCCC2345")
	if got := z.sync(); got.State != task.StateFailed || !strings.Contains(reasons(got), "Several collections") {
		t.Errorf("%s %s", got.State, reasons(got))
	}
	z.same("kept", len(z.documents(z.src.ID)), 2)
}

func TestZoteroErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	server := zoterofake.New(t)
	z := newZoteroFixture(t, server, source.New{Secret: zoterofake.Key})
	server.Put(map[string]any{"key": "BOOK2345", "itemType": "book", "title": "One"})
	z.sync()
	for want, fault := range map[string]zoterofake.Fault{
		"https://www.zotero.org/settings/keys": zoterofake.Refuse(http.StatusForbidden),
		"settings.library":                     zoterofake.Refuse(http.StatusNotFound),
		"next import continues":                zoterofake.Refuse(http.StatusTooManyRequests, "Retry-After", "3600"),
		"status 418":                           zoterofake.Refuse(http.StatusTeapot),
		"settings.url": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		},
	} {
		server.Fail(fault)
		got := z.sync()
		if got.State != task.StateFailed || !strings.Contains(reasons(got), want) {
			t.Errorf("%s: %s %s", want, got.State, reasons(got))
		}
	}
	z.same("kept", len(z.documents(z.src.ID)), 1)
	private := newZoteroFixture(t, server, source.New{Settings: source.Settings{Library: "groups/2510000"}})
	if got := private.sync(); !strings.Contains(reasons(got), "not public") {
		t.Errorf("a private group: %s", reasons(got))
	}
	server.Publish()
	private.same("a public group", private.sync().Documents, importer.DocumentCounts{Added: 1})
}

func TestZoteroPausesAreObserved(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.zotero.Put(map[string]any{"key": "BOOK2345", "itemType": "book", "title": "One"})
	z.zotero.Fail(
		zoterofake.Refuse(http.StatusTooManyRequests, "Retry-After", "1"),
		zoterofake.Refuse(http.StatusServiceUnavailable, "Backoff", "1"),
	)
	z.same("after the pauses", z.sync().Documents, importer.DocumentCounts{Added: 1})
}

func TestAZoteroKeyWithoutFileAccessUsesTheExtractedText(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.codd()
	z.zotero.Index("FILE2345", "Extracted by Zotero.")
	z.zotero.Allow(zoterofake.Rights{Library: true, Notes: true})
	got := z.sync()
	z.same("state", got.State, task.StateComplete)
	if text := z.document("ARTI2345").Text; !strings.Contains(text, "Extracted by Zotero.") ||
		!strings.Contains(reasons(got), "Allow file access") {
		t.Errorf("%q %s", text, reasons(got))
	}
	z.zotero.Allow(zoterofake.Rights{Library: true, Notes: true, Files: true})
	z.same("with access", z.sync().Documents, importer.DocumentCounts{Updated: 1})
	if text := z.document("ARTI2345").Text; !strings.Contains(text, "A sublanguage") {
		t.Errorf("text %q", text)
	}
}

func TestAnAttachmentThatCannotBeReadStopsNothing(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.codd()
	attach := func(key, name, contentType, mode string) {
		z.zotero.Put(map[string]any{
			"key": key, "itemType": "attachment", "parentItem": "ARTI2345", "linkMode": mode, "contentType": contentType,
			"filename": name, "title": name,
		})
	}
	attach("BADP2345", "bad.pdf", "application/pdf", "imported_file")
	z.zotero.Store("BADP2345", "no PDF")
	attach("GONE2345", "gone.pdf", "application/pdf", "imported_file")
	attach("SUMM2345", "changed.txt", "text/plain", "imported_file")
	z.zotero.Store("SUMM2345", "other bytes")
	z.zotero.Change("SUMM2345", map[string]any{"md5": "00000000000000000000000000000000"})
	attach("LINK2345", "linked.pdf", "application/pdf", "linked_file")
	attach("LURL2345", "", "text/html", "linked_url")
	attach("PICT2345", "figure.png", "image/png", "imported_file")
	attach("SNAP2345", "page.html", "text/html", "imported_url")
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for name, content := range map[string]string{
		"image.png": "x", "page.html": "<html><body><article><p>The snapshot of a page.</p></article></body></html>",
	} {
		w, err := archive.Create(name)
		z.must(err)
		_, err = w.Write([]byte(content))
		z.must(err)
	}
	z.must(archive.Close())
	z.zotero.StoreZip("SNAP2345", b.Bytes())
	z.zotero.Put(map[string]any{"key": "BOOK2345", "itemType": "book", "title": "After"})
	got := z.sync()
	z.same("documents", got.Documents, importer.DocumentCounts{Added: 2})
	for _, want := range []string{
		"bad.pdf: ", "gone.pdf: The file is not in Zotero's storage", "changed.txt: The file is damaged",
	} {
		if !strings.Contains(reasons(got), want) {
			t.Errorf("%q is missing in %s", want, reasons(got))
		}
	}
	z.same("problems", len(got.Errors), 3)
	text := z.document("ARTI2345").Text
	if !strings.Contains(text, "A sublanguage") || !strings.Contains(text, "The snapshot of a page.") {
		t.Errorf("text %q", text)
	}
	// The damaged download is tried again without a change of the library.
	z.zotero.Asked()
	z.sync()
	if !slices.ContainsFunc(z.zotero.Asked(), func(s string) bool { return strings.Contains(s, "SUMM2345/file") }) {
		t.Error("the damaged file was not fetched again")
	}
	if got := z.document("ARTI2345").Text; got != text {
		t.Errorf("the text has changed to %q", got)
	}
}

func TestAZoteroItemThatCannotBeDecodedStopsNothing(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.zotero.Fail(nil, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified-Version", "101")
		w.Header().Set("Total-Results", "3")
		_, _ = w.Write([]byte(`[{"key":"BADD2345","version":1,"data":"no object"},{"key":"../../x","version":1,"data":{}},
			{"key":"GOOD2345","version":1,"data":{"key":"GOOD2345","itemType":"book","title":"Good"}}]`))
	})
	got := z.sync()
	z.same("documents", got.Documents, importer.DocumentCounts{Added: 1})
	z.same("failed", got.Files.Failed, 1)
}

func TestAnInterruptedZoteroImportContinues(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.codd()
	z.zotero.Put(map[string]any{"key": "BOOK2345", "itemType": "book", "title": "One"})
	// The key, the collections and the items are read; then the server is busy.
	z.zotero.Fail(nil, nil, nil, zoterofake.Refuse(http.StatusServiceUnavailable, "Retry-After", "3600"))
	z.same("interrupted", z.sync().State, task.StateFailed)
	state, err := z.db.SyncState(t.Context(), z.src.ID)
	z.must(err)
	z.same("no version is stored", state, "")
	got := z.sync()
	z.same("continued", got.State, task.StateComplete)
	z.same("documents", len(z.documents(z.src.ID)), 2)
	if state, err = z.db.SyncState(t.Context(), z.src.ID); err != nil || state == "" {
		t.Errorf("state %q %v", state, err)
	}
}

// dialing sends all requests to one server, whatever their address.
type dialing struct{ to *url.URL }

func (d dialing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = d.to.Host
	return http.DefaultTransport.RoundTrip(r)
}

func TestOnlyTheLocalAPIOfZoteroNamesFilesOfThisMachine(t *testing.T) {
	t.Parallel()
	storage, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(storage, "codd.txt")
	if err := os.WriteFile(inside, []byte("From the disk."), 0o600); err != nil {
		t.Fatal(err)
	}
	server := zoterofake.New(t)
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	server.URL = "http://zotero.example"
	z := newZoteroFixture(t, server, source.New{Secret: zoterofake.Key}, func(o *importer.Options) {
		o.ZoteroStorage = storage
		o.Client = &http.Client{
			Transport:     dialing{to},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
	z.codd()
	server.StoreAt("FILE2345", "file://"+inside)
	got := z.sync()
	if !strings.Contains(reasons(got), "another computer") {
		t.Errorf("problems %s", reasons(got))
	}
	if text := z.document("ARTI2345").Text; strings.Contains(text, "From the disk.") {
		t.Errorf("a file of this machine was read: %q", text)
	}
}

func TestTheLocalAPIOfZoteroIsImported(t *testing.T) {
	t.Parallel()
	storage, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "secret.txt")
	for name, content := range map[string]string{
		filepath.Join(storage, "FILE2345", "codd.txt"): "From the disk.", outside: "Not for users.",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := zoterofake.NewLocal(t)
	z := newZoteroFixture(t, server, source.New{}, func(o *importer.Options) { o.ZoteroStorage = storage })
	z.codd()
	server.StoreAt("FILE2345", "file://"+filepath.Join(storage, "FILE2345", "codd.txt"))
	server.Put(map[string]any{
		"key": "EVIL2345", "itemType": "attachment", "linkMode": "linked_file", "contentType": "text/plain",
		"filename": "secret.txt", "title": "secret.txt",
	})
	server.StoreAt("EVIL2345", "file://"+outside)
	got := z.sync()
	z.same("documents", got.Documents, importer.DocumentCounts{Added: 2})
	if !strings.Contains(reasons(got), "zotero-storage") {
		t.Errorf("problems %s", reasons(got))
	}
	if text := z.document("ARTI2345").Text; !strings.Contains(text, "From the disk.") {
		t.Errorf("text %q", text)
	}
	if text := z.document("EVIL2345").Text; strings.Contains(text, "Not for users") {
		t.Errorf("a file outside the folder was read: %q", text)
	}
	// Items keep the version 0 until they are synced, and deletions are not logged.
	server.Change("NOTE2345", map[string]any{"note": "<p>Changed.</p>", "dateModified": "2026-01-01T00:00:00Z"})
	z.same("changed", z.sync().Documents, importer.DocumentCounts{Updated: 1})
	server.Delete("EVIL2345")
	z.same("deleted", z.sync().Documents, importer.DocumentCounts{Deleted: 1})
}

func TestZoteroSettingsAreChecked(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	for pointer, n := range map[string]source.New{
		"/settings/library":    {Settings: source.Settings{Library: "ada"}, Secret: zoterofake.Key},
		"/settings/url":        {Settings: source.Settings{URL: "ftp://x"}, Secret: zoterofake.Key},
		"/settings/collection": {Settings: source.Settings{Collection: strings.Repeat("x", 300)}, Secret: zoterofake.Key},
		"/secret":              {Secret: "not a key"},
	} {
		n.Name, n.Kind = "X", source.KindZotero
		_, err := z.sources.Add(t.Context(), z.actor, z.agent, n)
		if !core.IsKind(err, core.KindInvalid) || core.AsError(err).Fields[0].Pointer != pointer {
			t.Errorf("%s: %v", pointer, err)
		}
	}
	if _, err := z.sources.Add(t.Context(), z.actor, z.agent, source.New{Name: "X", Kind: source.KindZotero}); err == nil {
		t.Error("neither a key nor a library")
	}
	for given, want := range map[string]string{
		"475425": "users/475425", "groups/2510000": "groups/2510000",
		"https://www.zotero.org/groups/2510000/readers/library": "groups/2510000",
	} {
		src, err := z.sources.Add(t.Context(), z.actor, z.agent, source.New{
			Name: "X", Kind: source.KindZotero, Settings: source.Settings{Library: given},
		})
		z.must(err)
		set, err := src.SettingsOf()
		z.must(err)
		z.same(given, set.Library, want)
	}
}
