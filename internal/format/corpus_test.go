package format

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"carrel/internal/format/budget"
)

// measured is how well one file of the corpus was read. Words are compared as multisets.
type measured struct {
	path, kind        string
	words             int
	recall, precision float64
	year, title       bool
	err               error
	spent             time.Duration
}

// TestCorpus reads the files below the folder that CARREL_CORPUS names and prints recall and precision by format. The
// expected text of a file is in a file beside it with ".txt" appended; for PDFs poppler's pdftotext is run if it is
// missing. CARREL_CORPUS_DETAILS names a file for the figures of each file.
func TestCorpus(t *testing.T) {
	folder := os.Getenv("CARREL_CORPUS")
	if folder == "" {
		t.Skip("CARREL_CORPUS is not set")
	}
	var all []measured
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		f, _, ok := formatOf(path)
		if err != nil || e.IsDir() || !ok || f.one == nil || strings.HasSuffix(path, ".txt") {
			return err
		}
		want, ok := expectedText(t.Context(), path)
		if ok {
			all = append(all, measure(t.Context(), f, path, want))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	printCorpus(t, all)
}

// expectedText returns the reference text of a file, or false if there is none.
func expectedText(ctx context.Context, path string) (string, bool) {
	if data, err := os.ReadFile(path + ".txt"); err == nil {
		return string(data), true
	}
	if filepath.Ext(path) != ".pdf" {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second) // pdftotext has no limits of its own
	defer cancel()
	data, err := exec.CommandContext(ctx, "pdftotext", "-enc", "UTF-8", path, "-").Output()
	return string(data), err == nil
}

func measure(ctx context.Context, f fileFormat, path, want string) measured {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	m := measured{path: path, kind: f.extensions[0]}
	data, err := os.ReadFile(path)
	if err != nil {
		m.err = err
		return m
	}
	began := time.Now()
	var got string
	m.err = budget.Catch(func() error {
		d, err := f.one(budget.New(ctx, budget.Default, int64(len(data)), nil), filepath.Base(path), data)
		got, m.year, m.title = d.Text, d.Year != 0, d.Title != stem(filepath.Base(path))
		return err
	})
	m.spent = time.Since(began)
	for _, n := range wordCounts(want) {
		m.words += n
	}
	m.recall, m.precision = compareWords(got, want)
	return m
}

var (
	corpusWord   = regexp.MustCompile(`[\pL\pN\pM]+`)
	corpusHyphen = regexp.MustCompile(`(\pL)[-\x{2010}\x{ad}][ \t]*\r?\n\s*(\p{Ll})`)
)

// wordCounts returns the words of a text as a multiset. A word that is hyphenated at the end of a line is one word.
func wordCounts(text string) map[string]int {
	text = corpusHyphen.ReplaceAllString(strings.ToLower(norm.NFKC.String(text)), "$1$2")
	counts := map[string]int{}
	for _, w := range corpusWord.FindAllString(text, -1) {
		counts[w]++
	}
	return counts
}

// compareWords returns the shares of the expected words that were read, and of the read words that were expected.
func compareWords(got, want string) (recall, precision float64) {
	found, wanted := wordCounts(got), wordCounts(want)
	both, read, expected := 0, 0, 0
	for w, n := range found {
		read += n
		both += min(n, wanted[w])
	}
	for _, n := range wanted {
		expected += n
	}
	ratio := func(whole int) float64 {
		if whole == 0 {
			return 1
		}
		return float64(both) / float64(whole)
	}
	return ratio(expected), ratio(read)
}

func printCorpus(t *testing.T, all []measured) {
	t.Helper()
	groups := map[string][]measured{}
	for _, m := range all {
		if m.words >= 20 {
			groups[m.kind+" of 20 words"] = append(groups[m.kind+" of 20 words"], m)
		}
		if m.words >= 1000 {
			groups[m.kind+" of 1,000 words"] = append(groups[m.kind+" of 1,000 words"], m)
		}
		groups[m.kind] = append(groups[m.kind], m)
	}
	var kinds []string
	for k := range groups {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	t.Logf("%-22s %11s %13s %13s %7s %7s", "format", "read/files", "recall", "precision", "titles", "years")
	for _, k := range kinds {
		printGroup(t, k, groups[k])
	}
	if path := os.Getenv("CARREL_CORPUS_DETAILS"); path != "" {
		slices.SortFunc(all, func(a, b measured) int { return cmp.Compare(a.path, b.path) })
		var out strings.Builder
		for _, m := range all {
			fmt.Fprintf(&out, "%s\t%d\t%.3f\t%.3f\t%d ms\t%v\n", m.path, m.words, m.recall, m.precision,
				m.spent.Milliseconds(), m.err)
		}
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
}

func printGroup(t *testing.T, kind string, files []measured) {
	t.Helper()
	var recall, precision, ofRead []float64
	read, titles, years := 0, 0, 0
	for _, m := range files {
		recall = append(recall, m.recall)
		if m.err != nil {
			continue
		}
		read++
		ofRead, precision = append(ofRead, m.recall), append(precision, m.precision)
		if m.title {
			titles++
		}
		if m.year {
			years++
		}
	}
	t.Logf("%-22s %5d/%5d %6s %6s %6s %7d %7d, recall of those read %s",
		kind, read, len(files), describeShares(recall), "", describeShares(precision), titles, years, describeShares(ofRead))
}

// meanAndTenth returns the mean and the tenth percentile, both 0 without values.
func meanAndTenth(values []float64) (mean, tenth float64) {
	if len(values) == 0 {
		return 0, 0
	}
	slices.Sort(values)
	for _, v := range values {
		mean += v
	}
	return mean / float64(len(values)), values[len(values)/10]
}

func describeShares(values []float64) string {
	mean, tenth := meanAndTenth(values)
	return fmt.Sprintf("%.3f/%.3f", mean, tenth)
}
