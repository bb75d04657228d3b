package format

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/format/budget"
	"carrel/internal/testkit/hostile"
)

// readHonest reads a file within limits and returns the number of documents and the cost. Any error fails the test.
func readHonest(t *testing.T, path string, limits budget.Limits) (documents int, used budget.Usage) {
	t.Helper()
	library, err := OpenWithin(t.Context(), path, Limits{Limits: limits, Pool: budget.NewPool(limits.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	library.spent = func(u budget.Usage) { used = u }
	for _, err := range library.Documents(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		documents++
	}
	t.Logf("%s: %d documents, %+v", filepath.Base(path), documents, used)
	return documents, used
}

func TestALargeListIsReadWithinTheDefaultLimits(t *testing.T) {
	t.Parallel()
	const documents = 200_000 // of one kilobyte each
	path := filepath.Join(t.TempDir(), "large.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	text := strings.Repeat("A sentence with some words in it. ", 28)
	for i := range documents {
		_, _ = fmt.Fprintf(
			w, `{"id":"doc-%d","title":"Number %d","authors":["Ada Lovelace"],"text":"%s","year":1999}`+"\n", i, i,
			text,
		)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n, _ := readHonest(t, path, budget.Default); n != documents {
		t.Errorf("%d documents", n)
	}
}

func TestAPDFOfAThousandPagesIsReadWithinTheDefaultLimits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "book.pdf")
	if err := os.WriteFile(path, hostile.Book(1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, used := readHonest(t, path, budget.Default); n != 1 || used.Work > budget.Default.Work/2 {
		t.Errorf("%d documents for %d steps", n, used.Work)
	}
}

// The archive needs many times the base limit of work.
func TestTextThatIsReadEarnsWorkForTheRest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.zip")
	if err := os.WriteFile(path, hostile.Books(20), 0o600); err != nil {
		t.Fatal(err)
	}
	limits := budget.Default
	limits.Work = 10e6
	if n, used := readHonest(t, path, limits); n != 20 || used.Work < 4*limits.Work {
		t.Errorf("%d documents for %d steps: the archive is too small for this test", n, used.Work)
	}
}
