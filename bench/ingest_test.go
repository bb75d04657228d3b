package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTextsAreHalfMarkdownAndHalfHTML(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := filepath.Join(dir, "docs.jsonl")
	if _, _, err := writeCorpus(corpusFlags{documents: 200}, 3, lines); err != nil {
		t.Fatal(err)
	}
	files, size, err := writeTexts(lines, filepath.Join(dir, "texts"), 300<<10)
	if err != nil {
		t.Fatal(err)
	}
	if size < 300<<10 || files < 4 {
		t.Fatalf("%d files, %d bytes", files, size)
	}
	var total int64
	sorts := map[string]int{}
	entries, err := os.ReadDir(filepath.Join(dir, "texts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
		sorts[filepath.Ext(e.Name())]++
	}
	if total != size || len(entries) != files || sorts[".md"]-sorts[".html"] > 1 || sorts[".html"] > sorts[".md"] {
		t.Errorf("%d bytes in %v, told %d in %d", total, sorts, size, files)
	}
}

func TestFTS5IndexesEveryRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := filepath.Join(dir, "docs.jsonl")
	if _, _, err := writeCorpus(corpusFlags{documents: 1234}, 3, lines); err != nil {
		t.Fatal(err)
	}
	f, err := indexWithFTS5(t.Context(), lines, filepath.Join(dir, "fts5.db"))
	if err != nil || f.documents != 1234 || f.wall <= 0 {
		t.Errorf("%+v (%v)", f, err)
	}
}

func TestRatesAreByWallClockAndByCPU(t *testing.T) {
	t.Parallel()
	f := filling{documents: 1000, bytes: 10 << 20, wall: 2 * time.Second, cpu: time.Second}
	if f.perSecond() != 500 || f.perCores() != 2000 || f.minute(f.perSecond()) != 300 {
		t.Errorf("%v %v %v", f.perSecond(), f.perCores(), f.minute(f.perSecond()))
	}
	r := &ingestReport{lines: filling{documents: 110_000, wall: 20 * time.Second, cpu: 18 * time.Second, peak: 200 << 20}}
	targets := r.targetTable().rows
	if len(targets) != 2 || !strings.Contains(targets[0][2], "NOT") || strings.Contains(targets[0][4], "NOT") ||
		strings.Contains(targets[1][2], "NOT") {
		t.Errorf("targets %q", targets)
	}
}
