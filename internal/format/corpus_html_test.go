package format

import (
	"os"
	"path/filepath"
	"testing"
)

// readabilityPages names the folder with the test pages of mozilla/readability, each a folder with source.html and
// expected.html.
const readabilityPages = "CARREL_TEST_READABILITY"

func TestArticlesOfRealPages(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(readabilityPages)
	if dir == "" {
		t.Skip(readabilityPages + " is not set")
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*", "source.html"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages (%v)", err)
	}
	var recalls, precisions []float64
	for _, page := range pages {
		source, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		expected, err := os.ReadFile(filepath.Join(filepath.Dir(page), "expected.html"))
		if err != nil {
			t.Fatal(err)
		}
		d, err := parseHTML(testBudget(t), page, source)
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		want := readPage(testBudget(t), string(expected)).text.String()
		if len(wordCounts(want)) < 5 {
			continue
		}
		recall, precision := compareWords(d.Title+" "+d.Text, want)
		recalls, precisions = append(recalls, recall), append(precisions, precision)
		t.Logf("%.3f %.3f %s", recall, precision, filepath.Base(filepath.Dir(page)))
	}
	recall, low := meanAndTenth(recalls)
	precision, lowPrecision := meanAndTenth(precisions)
	t.Logf("%d pages: recall %.3f / %.3f, precision %.3f / %.3f", len(recalls), recall, low, precision, lowPrecision)
	if recall < 0.98 || low < 0.97 || precision < 0.93 || lowPrecision < 0.8 {
		t.Error("below the targets .98 / .97 and .93 / .80")
	}
}
