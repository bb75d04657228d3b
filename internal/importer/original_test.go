package importer_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"carrel/internal/blob"
	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/importer"
	"carrel/internal/outbound"
	"carrel/internal/source"
)

// lateOriginals is a blob service that is created after the database.
type lateOriginals struct{ *blob.Service }

// newOriginalsFixture returns a fixture that keeps originals in a folder.
func newOriginalsFixture(t *testing.T, keep bool) (w *fixture, originals *blob.Service, dir string) {
	t.Helper()
	late := &lateOriginals{}
	dir = filepath.Join(t.TempDir(), "originals")
	w = newFixtureWith(t, outbound.NewClient(outbound.Options{Private: true}), func(o *importer.Options) {
		o.Originals = late
	})
	late.Service = blob.NewService(blob.Deps{Storage: blob.NewFolder(dir), Store: w.db, Clock: w.clock}, keep)
	return w, late.Service, dir
}

// originals returns the names and contents of the originals of a source by external id.
func (w *fixture) originals(s *blob.Service, sourceID string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for d, err := range w.db.ScanDocuments(w.t.Context(), sourceID) {
		w.must(err)
		if d.Original.Hash == "" {
			out[d.ExternalID] = ""
			continue
		}
		f, err := s.Open(w.t.Context(), d.Original.Hash, d.Original.Size)
		w.must(err)
		content, err := io.ReadAll(f)
		w.must(err)
		w.must(f.Close())
		out[d.ExternalID] = d.Original.Name + ": " + string(content)
	}
	return out
}

// archiveOf returns a zip file with these names and contents.
func archiveOf(t *testing.T, entries ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		f, err := z.Create(entries[i])
		if err == nil {
			_, err = io.WriteString(f, entries[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// stored counts the files in a folder.
func stored(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOriginalsAreKeptAndDeletedWithTheirDocuments(t *testing.T) {
	t.Parallel()
	w, kept, dir := newOriginalsFixture(t, true)
	w.put("notes/a.md", "# A\n\none")
	w.put("b.md", "# A\n\none") // the same content is stored once
	w.put("list.jsonl", `{"id": "1", "text": "x"}`)
	w.put("all.zip", archiveOf(t, "in/c.txt", "see", "d.jsonl", `{"id": "1", "text": "y"}`))
	want := map[string]string{
		"notes/a.md": "a.md: # A\n\none", "b.md": "b.md: # A\n\none", "1": "", "all.zip/in/c.txt": "c.txt: see",
		"all.zip/d.jsonl#1": "",
	}
	if got := w.originals(kept, w.upload.ID); !maps.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	w.same("files", stored(t, dir), 2)
	w.put("notes/a.md", "# A\n\ntwo")
	w.must(kept.Sweep(t.Context()))
	w.same("files after a change", stored(t, dir), 3)
	files, _, err := w.importer.Files(t.Context(), w.actor, w.agent, w.upload.ID, core.Page{})
	w.must(err)
	for _, f := range files {
		w.must(w.importer.DeleteFile(t.Context(), w.actor, w.agent, w.upload.ID, f.ID))
	}
	w.must(kept.Sweep(t.Context()))
	w.same("files after the deletion", stored(t, dir), 0)
}

func TestOriginalsThatNoDocumentNeedsAreDeletedAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	w, kept, dir := newOriginalsFixture(t, true)
	path := filepath.Join(t.TempDir(), "a.txt")
	w.must(os.WriteFile(path, []byte("x"), 0o600))
	_, _, err := kept.KeepFile(t.Context(), path, [32]byte{})
	w.must(err)
	w.same("files with another hash", stored(t, dir), 0)
	sum := sha256.Sum256([]byte("x"))
	key, size, err := kept.KeepFile(t.Context(), path, sum)
	w.must(err)
	w.must(kept.Sweep(t.Context()))
	w.same("files of a running import", stored(t, dir), 1)
	w.clock.Advance(blob.Grace + 1e9)
	w.must(kept.Sweep(t.Context()))
	w.same("files of an ended import", stored(t, dir), 0)
	if _, err := kept.Open(t.Context(), key, size); err == nil {
		t.Error("a deleted file was opened")
	}
}

// A deleted document returns when its file is uploaded again, even with the same content.
func TestADeletedDocumentReturnsWithItsFile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.put("a.md", "# A\n\none")
	list, err := w.sources.Documents(t.Context(), w.actor, w.agent, w.upload.ID, source.DocumentFilter{}, core.Page{})
	w.must(err)
	w.must(w.sources.DeleteDocument(t.Context(), w.actor, w.agent, list.Documents[0].ID))
	files, _, err := w.importer.Files(t.Context(), w.actor, w.agent, w.upload.ID, core.Page{})
	w.must(err)
	w.same("files", len(files), 0)
	w.same("documents", w.put("a.md", "# A\n\none").Documents, importer.DocumentCounts{Added: 1})
	w.put("two.jsonl", `{"id": "1", "text": "x"}`+"\n"+`{"id": "2", "text": "y"}`)
	list, err = w.sources.Documents(
		t.Context(), w.actor, w.agent, w.upload.ID, source.DocumentFilter{Query: "2"}, core.Page{},
	)
	w.must(err)
	w.must(w.sources.DeleteDocument(t.Context(), w.actor, w.agent, list.Documents[0].ID))
	files, _, err = w.importer.Files(t.Context(), w.actor, w.agent, w.upload.ID, core.Page{})
	w.must(err)
	w.same("documents of the list", files[0].Documents, 1)
}

func TestPagesAndFoldersKeepOriginals(t *testing.T) {
	t.Parallel()
	w, kept, _ := newOriginalsFixture(t, true)
	const page = "<html><title>T</title><p>Some text of a page.</p></html>"
	server := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(res, r)
			return
		}
		res.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(res, page)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	w.must(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("A text."), 0o600))
	for kind, set := range map[string]source.Settings{
		source.KindWeb: {URLs: []string{server.URL + "/x"}}, source.KindFolder: {Path: dir},
	} {
		src, err := w.sources.Add(t.Context(), w.actor, w.agent, source.New{Name: kind, Kind: kind, Settings: set})
		w.must(err)
		_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
		w.must(err)
		w.imported(src.ID)
		got := slices.Collect(maps.Values(w.originals(kept, src.ID)))
		want := map[string]string{source.KindWeb: "page.html: " + page, source.KindFolder: "a.txt: A text."}[kind]
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s keeps %q", kind, got)
		}
	}
}

func (w *fixture) sameMap(what string, got, want map[string]string) {
	w.t.Helper()
	if !maps.Equal(got, want) {
		w.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestAttachmentsOfMailKeepTheirOwnOriginals(t *testing.T) {
	t.Parallel()
	w, kept, _ := newOriginalsFixture(t, true)
	const mail = "Subject: Report\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee the report.\n" +
		"--b\nContent-Disposition: attachment; filename=report.md\n\n# Report\n\nIt is warm.\n--b--\n"
	const report = "# Report\n\nIt is warm."
	w.same("documents", w.put("a.eml", mail).Documents, importer.DocumentCounts{Added: 2})
	w.put("all.zip", archiveOf(t, "mail/b.eml", mail, "c.eml/d.md", "A file in a folder."))
	w.sameMap("originals", w.originals(kept, w.upload.ID), map[string]string{
		"a.eml": "a.eml: " + mail, "a.eml/report.md": "report.md: " + report,
		"all.zip/mail/b.eml": "b.eml: " + mail, "all.zip/mail/b.eml/report.md": "report.md: " + report,
		"all.zip/c.eml/d.md": "d.md: A file in a folder.",
	})
	// The message and the attachment are read again each from its own original.
	var ids []string
	for d, err := range w.db.ScanDocuments(t.Context(), w.upload.ID) {
		w.must(err)
		ids = append(ids, d.ID)
	}
	before := w.documents(w.upload.ID)
	_, err := w.importer.Reread(t.Context(), w.actor, w.agent, w.upload.ID, ids)
	w.must(err)
	w.imported(w.upload.ID)
	w.sameMap("read again", w.documents(w.upload.ID), before)
	// A message without the attachment no longer has its document.
	w.put("a.eml", "Subject: Report\n\nThere is no report.\n")
	if got := w.documents(w.upload.ID); got["a.eml/report.md"] != "" || got["a.eml"] != "There is no report." {
		t.Errorf("the new message has %q", got)
	}
	dir := t.TempDir()
	w.must(os.WriteFile(filepath.Join(dir, "a.eml"), []byte(mail), 0o600))
	folder := map[string]string{}
	library, err := format.Open(dir)
	w.must(err)
	for d, err := range w.importer.WithOriginals(t.Context(), dir, library.Documents(t.Context(), nil)) {
		w.must(err)
		folder[d.ExternalID] = d.Original.Name
	}
	w.sameMap("a folder", folder, map[string]string{"a.eml": "a.eml", "a.eml/report.md": "report.md"})
}

func TestEncodingThatAServerNamesIsUsed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	server := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(res, r)
			return
		}
		res.Header().Set("Content-Type", "text/html; charset=windows-1251")
		_, _ = io.WriteString(res, "<title>T</title><p>\xcf\xf0\xe8\xe2\xe5\xf2</p>")
	}))
	t.Cleanup(server.Close)
	src, err := w.sources.Add(t.Context(), w.actor, w.agent, source.New{
		Name: "Web", Kind: source.KindWeb, Settings: source.Settings{URLs: []string{server.URL + "/x"}},
	})
	w.must(err)
	_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	w.imported(src.ID)
	w.same("text", w.documents(src.ID)[server.URL+"/x"], "Привет")
}

func TestOriginalsCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	w, kept, dir := newOriginalsFixture(t, false)
	w.put("a.md", "# A\n\none")
	if got := w.originals(kept, w.upload.ID); got["a.md"] != "" || len(got) != 1 || stored(t, dir) != 0 {
		t.Errorf("kept %q", got)
	}
}
