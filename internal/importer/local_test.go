package importer_test

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/importer"
	"carrel/internal/source"
)

// outcomes returns the outcome and the error of each file of a source.
func (w *fixture) outcomes(sourceID string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	files, _, err := w.importer.Files(w.t.Context(), w.actor, w.agent, sourceID, core.Page{Limit: core.MaxLimit})
	w.must(err)
	for _, f := range files {
		out[f.Name] = strings.TrimSpace(f.Outcome + " " + f.Error)
	}
	return out
}

// folderOf returns a folder with files of these names and contents.
func folderOf(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFilesOfAFolderThatCanNotBeReadAreReportedOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := folderOf(t, "a.txt", "one", "sub/photo.raw", "pixels", "bad\x01name.txt", "x", ".hidden.raw", "no")
	w.must(os.Symlink("a.txt", filepath.Join(dir, "link.txt")))
	src, err := w.sources.Add(t.Context(), w.actor, w.agent,
		source.New{Name: "Folder", Kind: source.KindFolder, Settings: source.Settings{Path: dir}})
	w.must(err)
	sync := func() importer.Import {
		t.Helper()
		_, err := w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
		w.must(err)
		return w.imported(src.ID)
	}
	first := sync()
	w.same("files", first.Files, importer.FileCounts{Total: 4, Done: 4, Failed: 3})
	got := w.outcomes(src.ID)
	for name, want := range map[string]string{
		"a.txt":         "added",
		"sub/photo.raw": "failed This file format is not supported.",
		"link.txt":      "failed Only regular files are read. Symbolic links are not followed.",
	} {
		w.same(name, got[name], want)
	}
	w.same("number of files", len(got), 4)
	w.same("the next sync", sync().Files, importer.FileCounts{})
	w.must(os.Rename(filepath.Join(dir, "sub", "photo.raw"), filepath.Join(dir, "sub", "photo.txt")))
	w.same("after renaming", sync().Files, importer.FileCounts{Total: 2, Done: 2, Removed: 1})
	w.same("renamed", w.outcomes(src.ID)["sub/photo.txt"], "added")
}

func TestManyFilesThatCanNotBeReadAreCounted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var files []string
	for i := range 1003 {
		files = append(files, strconv.Itoa(i)+".raw", "")
	}
	src, err := w.sources.Add(t.Context(), w.actor, w.agent, source.New{
		Name: "Folder", Kind: source.KindFolder, Settings: source.Settings{Path: folderOf(t, files...)},
	})
	w.must(err)
	for _, want := range []int{1001, 1} { // the listed files are reported once, the number of the others every time
		_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
		w.must(err)
		w.same("failed", w.imported(src.ID).Files.Failed, want)
	}
}

func TestImportFilesReportsEachFile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := folderOf(t, "a.txt", "one", "b.jsonl", "{\"id\": \"1\", \"text\": \"x\"}\nbroken\n", "c.raw", "no")
	results := func() map[string]string {
		t.Helper()
		out := map[string]string{}
		var files []importer.LocalFile
		for _, name := range []string{"a.txt", "b.jsonl", "c.raw", "gone.txt"} {
			files = append(files, importer.LocalFile{Name: "in/" + name, Path: filepath.Join(dir, name)})
		}
		w.must(w.importer.ImportFiles(t.Context(), w.actor, w.agent, w.upload.ID, files,
			func(f importer.File, problems []string) {
				out[strings.TrimPrefix(f.Name, "in/")] = f.Outcome + " " + strings.Join(problems, "; ")
			}))
		return out
	}
	first := results()
	w.same("a text", first["a.txt"], "added ")
	w.same("another format", first["c.raw"], "failed ")
	w.same("a missing file", first["gone.txt"], "failed ")
	if !strings.HasPrefix(first["b.jsonl"], "added line 2: ") {
		t.Errorf("a list with a broken line: %q", first["b.jsonl"])
	}
	w.same("the second time", results()["a.txt"], "unchanged ")
	w.must(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("two"), 0o600))
	w.same("after a change", results()["a.txt"], "updated ")
	err := w.importer.ImportFiles(t.Context(), core.Actor{}, w.agent, w.upload.ID, nil, nil)
	if err == nil {
		t.Error("without access the files are imported")
	}
}

func TestWithOriginalsKeepsFilesOfFoldersAndArchives(t *testing.T) {
	t.Parallel()
	w, kept, _ := newOriginalsFixture(t, true)
	dir := folderOf(t, "in/a.md", "# A\n\none", "list.jsonl", `{"id": "1", "text": "x"}`,
		"all.zip", archiveOf(t, "c.txt", "see"), "b.txt", "bee")
	for path, want := range map[string]map[string]string{
		"":        {"in/a.md": "a.md: # A\n\none", "list.jsonl#1": "", "b.txt": "b.txt: bee"},
		"all.zip": {"c.txt": "c.txt: see"},
		"b.txt":   {"b.txt": "b.txt: bee"},
	} {
		path = filepath.Join(dir, path)
		src, err := w.sources.Add(t.Context(), w.actor, w.agent, source.New{Name: path})
		w.must(err)
		library, err := format.Open(path)
		w.must(err)
		docs := func(yield func(source.Document, error) bool) {
			for d, err := range library.Documents(t.Context(), nil) {
				if err == nil && !yield(d, nil) { // the archive in the folder is not read
					return
				}
			}
		}
		_, err = w.sources.Import(t.Context(), w.actor, src, w.importer.WithOriginals(t.Context(), path, docs), nil)
		w.must(err)
		if got := w.originals(kept, src.ID); !maps.Equal(got, want) {
			t.Errorf("%s: kept %q, want %q", path, got, want)
		}
	}
}
