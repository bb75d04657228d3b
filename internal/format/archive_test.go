package format_test

import (
	"archive/zip"
	"bytes"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/format"
)

// rawArchive writes a zip file with entries in order, which may repeat.
func rawArchive(t *testing.T, entries ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: entries[i], Method: zip.Store, UncompressedSize64: uint64(len(entries[i+1])),
			CompressedSize64: uint64(len(entries[i+1])), CRC32: crc32.ChecksumIEEE([]byte(entries[i+1])),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(entries[i+1]))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "all.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNamesInArchivesAreCleaned(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1200) + ".txt"
	docs, wrong := read(t, open(t, rawArchive(t,
		"../../up.txt", "up", `win\dows.txt`, "windows", "/abs.txt", "absolute", "dir/", "", ".git/x.txt", "hidden",
		"a/.b/c.txt", "hidden", "bad\xff.txt", "x", long, "long", "program.exe", "x",
	)))
	if got := ids(docs); got != "abs.txt up.txt win/dows.txt" {
		t.Errorf("read %q", got)
	}
	all := strings.Join(wrong, "\n")
	if len(wrong) != 3 || !strings.Contains(all, "program.exe is skipped") ||
		!strings.Contains(all, "has a name that is not UTF-8") ||
		!strings.Contains(all, "has a name of more than 1,000 bytes") {
		t.Errorf("wrong %q", wrong)
	}
}

func TestArchivesThatCannotBeTrustedAreRefused(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"a name twice":      rawArchive(t, "a.txt", "one", "a.txt", "two"),
		"two ways to write": rawArchive(t, "a/../b.txt", "one", "b.txt", "two"),
		"nothing readable":  rawArchive(t, "a.exe", "x"),
		"empty":             rawArchive(t),
	} {
		if _, err := format.Open(path); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// A file with a wrong checksum is reported; the others are read.
func TestADamagedFileOfAnArchiveIsReported(t *testing.T) {
	t.Parallel()
	path := rawArchive(t, "a.txt", "good text", "b.txt", "bad text!", "c.jsonl", `{"id":"1","text":"x"}`)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte("bad text!"), []byte("bad texts"), 1)
	data = bytes.Replace(data, []byte(`"text":"x"`), []byte(`"text":"y"`), 1)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	docs, wrong := read(t, open(t, path))
	if len(docs) == 0 || docs[0].ExternalID != "a.txt" || len(wrong) != 2 ||
		wrong[0] != "b.txt can't be unpacked: it is damaged or packed in an unknown way" ||
		wrong[1] != "c.jsonl can't be read to its end: it is damaged" {
		t.Errorf("%q, wrong %q", ids(docs), wrong)
	}
}

func TestPageTextOfFragments(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                                "",
		"plain":                           "plain",
		"<p>One</p><p>two &amp; three":    "One\n\ntwo & three",
		"<script>x</script>kept":          "kept",
		"a\x00b\xff":                      "ab",
		"<table><tr><td>a<td>b</table>":   "a | b",
		"<ul><li>one<li>two</ul>":         "one\ntwo",
		"text <!-- comment --> goes on":   "text goes on",
		"<a href='javascript:x'>link</a>": "link",
	} {
		if got := format.PageText(t.Context(), source); got != want {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
	if got := format.PageText(t.Context(), strings.Repeat("<b>", 100_000)+"deep"); got != "deep" {
		t.Errorf("nested elements give %.40q", got)
	}
}

func TestFilesOfManyRecords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a.jsonl": true, "a.ndjson.gz": true, "a.csv": true, "A.BIB": true, "a.ris": true, "a.json": true, "a.mbox": true,
		"a.txt": false, "a.pdf": false, "a.zip": false, "a": false, "": false, "a.txt.gz": false,
	} {
		if got := format.HoldsRecords(name); got != want {
			t.Errorf("%q holds records: %v", name, got)
		}
	}
}

// Records of files in a folder are prefixed with their file, so that two files may use the same ids.
func TestRecordsOfAFolderHaveTheirFileInTheirID(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.jsonl": `{"id":"1","text":"x"}`, "b/c.jsonl": `{"id":"1","text":"y"}` + "\nbroken", "d.csv": "title\nT\n",
	})
	docs, wrong := read(t, open(t, dir))
	if got := ids(docs); got != "a.jsonl#1 b/c.jsonl#1 d.csv#row 1" {
		t.Errorf("read %q", got)
	}
	if len(wrong) != 1 || wrong[0] != "b/c.jsonl, line 2 is not valid JSON (at byte 1)" {
		t.Errorf("wrong %q", wrong)
	}
}

func TestLimitsOfDocumentsAreReported(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"id":"` + strings.Repeat("x", 513) + `","text":"x"}`:             "line 1 has an id of more than 512 characters",
		`{"id":"1","title":"` + strings.Repeat("ä", 2001) + `","text":""}`: "line 1 has a title of more than 2000 characters",
		`{"id":"1","text":"` + strings.Repeat("x", 5<<20+1) + `"}`:         "line 1 has a text of more than 5 MiB",
		`{"id":"1","text":"a\u0000b"}`:                                     "line 1 holds a NUL character",
		`{"id":"1","text":"x","authors":["a\u0000"]}`:                      "line 1 holds a NUL character",
	} {
		docs, wrong := read(t, lines(t, content))
		if len(docs) != 0 || len(wrong) != 1 || wrong[0] != want {
			t.Errorf("%.30s: %d documents, wrong %q, want %q", content, len(docs), wrong, want)
		}
	}
}
