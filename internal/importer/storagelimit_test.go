package importer_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/source"
	"carrel/internal/task"
)

func TestUploadBeyondTheStorageLimitIsRefusedBeforeItsBody(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.roomFor(30)
	refused := func(what string, err error) {
		t.Helper()
		if e := core.AsError(err); err == nil || e.Kind != core.KindForbidden || e.Code != "quota_exceeded" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := w.importer.CreateUpload(t.Context(), w.target(), "a.txt", 31)
	refused("a file that is too large", err)
	u, err := w.importer.CreateUpload(t.Context(), w.target(), "a.txt", 20)
	w.must(err)
	_, err = w.importer.CreateUpload(t.Context(), w.target(), "b.txt", 11)
	refused("a file beside one that is on its way", err)
	_, err = w.importer.UploadFile(t.Context(), w.target(), "c.txt", strings.NewReader("11 letters."))
	refused("a file of unknown size", err)
	w.must(w.importer.CancelUpload(t.Context(), w.target(), u.ID))
	w.same("documents", w.put("c.txt", "11 letters.").Documents.Added, 1)
}

func TestImportStopsAtTheStorageLimitAndKeepsItsDocuments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		w.must(os.WriteFile(filepath.Join(dir, name+".txt"), []byte("Twenty letters, all."), 0o600))
	}
	w.roomFor(50)
	src, err := w.sources.Add(
		t.Context(), w.actor, w.agent,
		source.New{Name: "Folder", Kind: source.KindFolder, Settings: source.Settings{Path: dir}},
	)
	w.must(err)
	_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	got := w.imported(src.ID)
	w.same("state", got.State, task.StateFailed)
	w.same("files read", got.Files.Done-got.Files.Failed, 2)
	w.same("documents", got.Documents.Added, 2)
	w.same("documents that stay", len(w.documents(src.ID)), 2)
	if len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Reason, "has room for 50 bytes") {
		t.Errorf("the reason is %+v", got.Errors)
	}
	w.roomFor(100)
	_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	w.same("documents once there is room", len(w.documents(w.imported(src.ID).SourceID)), 3)
}

func TestUploadBeyondTheStorageLimitIsRefusedAndTheOthersAreImported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	// An archive may unpack to more than its size.
	w.roomFor(2000)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	f, err := z.Create("long.txt")
	w.must(err)
	_, err = f.Write([]byte(strings.Repeat("All the same. ", 500)))
	w.must(err)
	w.must(z.Close())
	_, err = w.importer.UploadFile(t.Context(), w.target(), "long.zip", &archive)
	w.must(err)
	got := w.put("short.txt", "Short.") // of the same import: a smaller upload still fits
	w.same("failed files", got.Files.Failed, 1)
	w.same("documents", len(w.documents(w.upload.ID)), 1)
	file := w.file("long.zip")
	if file.Outcome != importer.OutcomeFailed || !strings.Contains(file.Error, "has room for ") {
		t.Errorf("the file is %+v", file)
	}
	w.must(w.importer.DeleteFile(t.Context(), w.actor, w.agent, w.upload.ID, w.file("short.txt").ID))
	storage, err := w.db.StorageOf(t.Context(), w.actor.UserID)
	w.must(err)
	w.same("bytes that are used", storage.Used, int64(0))
}
