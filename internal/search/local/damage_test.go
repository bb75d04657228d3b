package local

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// layered creates an index of several segments, two of them with deleted documents.
func layered(t testing.TB, dir string) *memoryLog {
	t.Helper()
	w := newMemoryLog()
	ix := open(t, dir, Options{FS: quick()})
	for batch := range 3 {
		for i := range 4 {
			w.put(note(fmt.Sprintf("d%d%d", batch, i), everywhere[i%3], "w1", "w2", fmt.Sprint("x", batch)))
		}
		catchUp(t, ix, w)
	}
	w.delete("d01")
	w.put(note("d12", "C", "w3"))
	catchUp(t, ix, w)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// copyFolder copies an index.
func copyFolder(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestEveryDamagedByteIsFoundAndRebuilt(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	w := layered(t, whole)
	names, err := os.ReadDir(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(whole, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			step := max(1, len(data)/40) // all bytes of small files
			for at := 0; at < len(data); at += step {
				for _, cut := range []bool{false, true} {
					dir := copyFolder(t, whole)
					spoil(t, filepath.Join(dir, e.Name()), cut, float64(at)/float64(len(data)))
					heals(t, w, dir, fmt.Sprintf("byte %d of %s, cut off: %v", at, e.Name(), cut))
				}
			}
		})
	}
}

// heals opens a damaged index and applies what it lacks.
func heals(t *testing.T, w *memoryLog, dir, what string) {
	t.Helper()
	if r, err := Check(context.Background(), dir); err != nil || len(r.Problems) == 0 {
		t.Errorf("%s: check finds nothing wrong (%v)", what, err)
	}
	ix, err := Open(dir, Options{FS: quick(), Log: quiet})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer func() { _ = ix.Close() }()
	checkHeld(t, ix, w)
	for _, text := range []string{"w1", "w2 w3", "x0 x1 x2"} {
		found(t, ix, text) // finds damage in pages that are not read at opening
	}
	catchUp(t, ix, w)
	checkComplete(t, ix, w)
}

func TestFileOfAnotherIndexIsNotTrusted(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	w := layered(t, whole)
	for _, suffix := range []string{segmentSuffix, tombstoneSuffix} {
		names := glob(t, whole, suffix)
		dir := copyFolder(t, whole)
		other, err := os.ReadFile(names[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(names[0])), other, 0o600); err != nil {
			t.Fatal(err)
		}
		heals(t, w, dir, suffix)
	}
}

func TestStrayFilesAreRemovedAndOthersLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := layered(t, dir)
	for _, name := range []string{"00000999.segment", "00000998.deleted", manifestDraft, "notes.txt", "x.segment"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ix := open(t, dir, Options{FS: quick()})
	checkComplete(t, ix, w)
	for name, want := range map[string]bool{
		"00000999.segment": false, "00000998.deleted": false, manifestDraft: false, "notes.txt": true, "x.segment": true,
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	if n := ix.number(); n <= 999 {
		t.Errorf("the next file's number is %d, which the stray one had", n)
	}
}

func TestAnIndexOfAnotherDatabaseIsNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layered(t, dir)
	ix := open(t, dir, Options{FS: quick(), Identity: "another"})
	if got := ix.Status(); got.Documents != 0 || len(got.Covered) != 0 {
		t.Errorf("stats are %+v, want an empty index", got)
	}
	if names := glob(t, dir, segmentSuffix); len(names) != 0 {
		t.Errorf("%v of the other database is left", names)
	}
}

func TestASearchThatFindsDamageAnswersFromTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := layered(t, dir)
	var logged bytes.Buffer
	ix := open(t, dir, Options{FS: quick(), Log: slog.New(slog.NewTextHandler(&logged, nil))})
	name := glob(t, dir, segmentSuffix)[0]
	spoilMiddle(t, name)
	got := found(t, ix, "w1")
	if len(got) == 0 || strings.Contains(strings.Join(got, " "), "d0") {
		t.Errorf("found %v, want those of the other segments", got)
	}
	if s, missing := ix.Missing(w.head); !missing || s.After != 0 {
		t.Errorf("missing is %v, %v; want the damaged segment's span", s, missing)
	}
	if !strings.Contains(logged.String(), "level=WARN") {
		t.Errorf("log says %q, want a warning", logged.String())
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("the damaged file is still there")
	}
	catchUp(t, ix, w)
	checkComplete(t, ix, w)
}

func TestDamageThatCannotBeRecordedIsNotServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := layered(t, dir)
	full := &fullFS{FS: quick()}
	ix := open(t, dir, Options{FS: full})
	full.suffix = manifestDraft
	spoilMiddle(t, glob(t, dir, segmentSuffix)[0])
	if got := found(t, ix, "w1"); len(got) == 0 || strings.Contains(strings.Join(got, " "), "d0") {
		t.Errorf("found %v, want those of the other segments", got)
	}
	full.suffix = ""
	catchUp(t, ix, w)
	checkComplete(t, ix, w)
}

func TestAMergeThatFindsDamageDropsTheDamagedPartAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := layered(t, dir)
	ix := open(t, dir, Options{FS: quick()})
	spoilMiddle(t, glob(t, dir, segmentSuffix)[1])
	if err := ix.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if gaps := ix.gaps(w.head); len(gaps) != 1 || gaps[0] != span(4, 8) {
		t.Errorf("missing are %v, want the second segment's", gaps)
	}
	catchUp(t, ix, w)
	checkComplete(t, ix, w)
}

func TestASegmentCutShortWhileItIsOpenDoesNotEndTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := layered(t, dir)
	ix := open(t, dir, Options{FS: quick()})
	found(t, ix, "w1 w2 w3 x0 x1 x2") // verifies all pages it reads, which are not verified again
	for _, name := range glob(t, dir, segmentSuffix) {
		if err := os.Truncate(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := found(t, ix, "w1 w2 w3 x0 x1 x2"); len(got) != 0 {
		t.Errorf("found %v in empty files", got)
	}
	catchUp(t, ix, w)
	checkComplete(t, ix, w)
}

// spoilMiddle overwrites most of a file in place, which its mapping shows. Pages read at opening stay intact.
func spoilMiddle(t testing.TB, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size()/2)), info.Size()/4); err != nil {
		t.Fatal(err)
	}
}
