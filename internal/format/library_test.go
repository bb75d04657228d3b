package format_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

// write creates the files of a library and returns their folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, path string) *format.Library {
	t.Helper()
	lib, err := format.Open(path)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return lib
}

// read returns the documents of a library and its record errors, and fails on any other error.
func read(t *testing.T, lib *format.Library) (docs []source.Document, wrong []string) {
	t.Helper()
	for d, err := range lib.Documents(t.Context(), nil) {
		var record *format.RecordError
		switch {
		case errors.As(err, &record):
			wrong = append(wrong, record.Error())
		case err != nil:
			t.Fatalf("read: %v", err)
		default:
			docs = append(docs, d)
		}
	}
	return docs, wrong
}

func ids(docs []source.Document) string {
	var out []string
	for _, d := range docs {
		out = append(out, d.ExternalID)
	}
	return strings.Join(out, " ")
}

func TestOpenRefusesWhatItCannotReadAndSaysWhatItCan(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.xyz": "x", "noext": "x", "a.md.gz": "x", "a.zip": "PK", "only/other.exe": "x", "hidden/.a.md": "x",
		"hidden/.git/a.md": "x",
	})
	for _, name := range []string{"a.xyz", "noext", "a.md.gz", "a.zip", "only", "hidden"} {
		_, err := format.Open(filepath.Join(dir, name))
		if !core.IsKind(err, core.KindUnsupported) || !strings.Contains(err.Error(), ".jsonl") {
			t.Errorf("%s: want an error that names what is accepted, got %v", name, err)
		}
	}
	_, err := format.Open(filepath.Join(dir, "gone.jsonl"))
	if !core.IsKind(err, core.KindNotFound) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
}

func TestASingleTextIsALibraryOfOne(t *testing.T) {
	t.Parallel()
	dir := write(
		t, map[string]string{"a.md": "# Title\n\nText.", "b.TXT": "Title\n\nText.", "c.htm": "<h1>Title</h1><p>Text."},
	)
	for _, name := range []string{"a.md", "b.TXT", "c.htm"} {
		lib := open(t, filepath.Join(dir, name))
		docs, wrong := read(t, lib)
		if len(wrong) > 0 || len(docs) != 1 || docs[0].ExternalID != name || docs[0].Title != "Title" {
			t.Errorf("%s: got %+v, wrong %v", name, docs, wrong)
		}
		if lib.Bytes() == 0 {
			t.Errorf("%s: no size", name)
		}
	}
}

func TestALibraryCanBeReadTwice(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.jsonl": `{"id":1,"text":"x"}` + "\n" + `{"id":1,"text":"y"}`, "b.md": "x"})
	for _, path := range []string{filepath.Join(dir, "a.jsonl"), dir} {
		lib := open(t, path)
		first, wrong := read(t, lib)
		again, wrongAgain := read(t, lib)
		if ids(first) != ids(again) || len(first) == 0 || len(wrong) != len(wrongAgain) {
			t.Errorf("%s: first %v %v, then %v %v", path, first, wrong, again, wrongAgain)
		}
	}
}

func TestProgressGrowsToTheSizeOfTheLibrary(t *testing.T) {
	t.Parallel()
	line := `{"id":"%","text":"` + strings.Repeat("x", 1000) + `"}` + "\n"
	var lines strings.Builder
	for range 1000 {
		lines.WriteString(line)
	}
	dir := write(
		t, map[string]string{"a.jsonl": lines.String(), "d/a.md": "text", "d/b.txt": "more", "d/c.html": "\xff"},
	)
	for _, path := range []string{filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "d")} {
		lib := open(t, path)
		var told []int64
		for range lib.Documents(t.Context(), func(n int64) { told = append(told, n) }) {
			continue
		}
		if len(told) < 2 || told[len(told)-1] != lib.Bytes() || lib.Bytes() == 0 {
			t.Errorf("%s: told %v of %d", path, told, lib.Bytes())
		}
		for i := 1; i < len(told); i++ {
			if told[i] < told[i-1] {
				t.Errorf("%s: progress goes back: %v", path, told)
			}
		}
	}
}

func TestReadingEndsWithAnErrorWhenTheFilesAreGoneOrTheCallerGivesUp(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"a.jsonl", "d", "d/a.md"} {
		dir := write(t, map[string]string{"a.jsonl": "{}\n{}\n", "d/a.md": "x", "d/b.md": "x"})
		lib := open(t, filepath.Join(dir, name))
		if got := only(t, cancelled, lib); !errors.Is(got, context.Canceled) {
			t.Errorf("%s, cancelled: got %v", name, got)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if got := only(t, t.Context(), lib); !errors.Is(got, os.ErrNotExist) {
			t.Errorf("%s, removed: got %v", name, got)
		}
	}
}

// only returns the error of a sequence that yields nothing else.
func only(t *testing.T, ctx context.Context, lib *format.Library) error {
	t.Helper()
	var last error
	n := 0
	for _, err := range lib.Documents(ctx, nil) {
		n, last = n+1, err
	}
	if n != 1 {
		t.Errorf("want one error and nothing else, got %d items", n)
	}
	return last
}

func TestReadingStopsWhenTheCallerHasEnough(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.jsonl": "x\nx\nx\n", "d/a.md": "x", "d/b.md": "x"})
	for _, name := range []string{"a.jsonl", "d"} {
		n := 0
		for range open(t, filepath.Join(dir, name)).Documents(t.Context(), nil) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d", name, n)
		}
	}
}
