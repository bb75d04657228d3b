package favourite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
)

func (w *testService) importFile(t *testing.T, f favourite.Format, content string) []favourite.Imported {
	t.Helper()
	got, err := w.Import(t.Context(), w.Ada, w.Agent, f, strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (w *testService) bibliography(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	if err := w.Export(t.Context(), w.Ada, w.Agent, favourite.Filter{}, favourite.FormatBibTeX, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestImportedFileIsExportedInItsOrder(t *testing.T) {
	t.Parallel()
	w := newService(t)
	content, err := os.ReadFile("testdata/bibtex/fields.bib")
	if err != nil {
		t.Fatal(err)
	}
	entries := w.importFile(t, favourite.FormatBibTeX, string(content))
	var titles []string
	for _, e := range entries {
		titles = append(titles, e.Title)
	}
	want := []string{
		"On LaTeX & été: 100% Braces", "Proceedings of X", "Parentheses", "Größe", "No key", "Same", "Same", "empty",
		"english", "10.1000/only.a.doi", "A path that ends in a backslash", "A single { brace", "The DNA of Émile",
	}
	if !slices.Equal(titles, want) {
		t.Fatalf("imported %q", titles)
	}
	first := w.bibliography(t)
	if strings.Index(first, "@inproceedings{child") > strings.Index(first, "@proceedings{parent") {
		t.Errorf("a parent is before its child:\n%s", first)
	}
	w.Clock.Advance(time.Hour)
	for _, e := range w.importFile(t, favourite.FormatBibTeX, string(content)) {
		if e.Outcome != favourite.OutcomeUnchanged {
			t.Errorf("imported again: %+v", e)
		}
	}
	if again := w.bibliography(t); again != first {
		t.Errorf("after importing again:\n%s\nbefore:\n%s", again, first)
	}
	other := newService(t)
	other.importFile(t, favourite.FormatBibTeX, first)
	if second := other.bibliography(t); second != first {
		t.Errorf("the export of the imported export:\n%s\nwant:\n%s", second, first)
	}
}

func TestEachEntryOfAnImportHasAResult(t *testing.T) {
	t.Parallel()
	w := newService(t)
	long := "@misc{long, note = {" + strings.Repeat("x", favourite.MaxCard) + "}}\n"
	got := fmt.Sprint(w.importFile(t, favourite.FormatBibTeX,
		"@misc{a, title = {A}}\n@misc{broken, title\n@misc{b, title = {B}}\n"+long))
	for _, want := range []string{
		"{1 a A added ref_", "{3 b B added ref_", "refused  Must be at most 65536 bytes of JSON.}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	changed := w.importFile(t, favourite.FormatBibTeX, "@misc{a, title = {A}, note = {N}}")
	if changed[0].Outcome != favourite.OutcomeUpdated {
		t.Errorf("with another field: %+v", changed)
	}
	another := w.importFile(t, favourite.FormatBibTeX, "@misc{a, title = {Another work}}")
	if another[0].Outcome != favourite.OutcomeAdded {
		t.Errorf("with the same key: %+v", another)
	}
	for _, c := range []struct {
		format  favourite.Format
		content string
		want    string
	}{
		{favourite.FormatCSV, "x", "/format"},
		{favourite.FormatBibTeX, "no entry", "/content"},
		{favourite.FormatRIS, "no entry", "/content"},
	} {
		_, err := w.Import(t.Context(), w.Ada, w.Agent, c.format, strings.NewReader(c.content), 100)
		if pointers(err) != c.want {
			t.Errorf("%s %q: %v", c.format, c.content, err)
		}
	}
	_, err := w.Import(t.Context(), w.Bob, w.Agent, favourite.FormatRIS, strings.NewReader("TY  - JOUR\nER  -"), 100)
	if !core.IsKind(err, core.KindNotFound) {
		t.Errorf("by another user: %v", err)
	}
}

func TestLargeFileIsImportedExceptForItsBadEntries(t *testing.T) {
	t.Parallel()
	w := newService(t)
	var file strings.Builder
	abstract := strings.Repeat("Words of an abstract. ", 100)
	const entries = 1000
	for i := range entries {
		switch i {
		case 10:
			file.WriteString("@misc{broken, title = {It is not closed,\n")
		case 20:
			file.WriteString("@misc{nul, title = {A \x00 character}}\n")
		case 30:
			file.WriteString("@misc{large, note = {" + strings.Repeat("x", favourite.MaxCard) + "}}\n")
		default:
			fmt.Fprintf(&file, "@article{k%d,\n title = {Work %d},\n abstract = {%s}\n}\n", i, i, abstract)
		}
	}
	if file.Len() < 2<<20 {
		t.Fatalf("the file has %d bytes", file.Len())
	}
	results := w.importFile(t, favourite.FormatBibTeX, file.String())
	if len(results) != entries {
		t.Fatalf("%d results", len(results))
	}
	for i, r := range results {
		bad := i == 10 || i == 30
		if refused := r.Outcome == favourite.OutcomeRefused; refused != bad || refused != (r.Detail != "") {
			t.Errorf("entry %d: %+v", i, r)
		}
	}
	page, _, err := w.FindAll(t.Context(), w.Ada, favourite.Filter{}, core.Page{Limit: 2})
	if err != nil || len(page) != 2 || page[0].CardID != results[0].CardID || page[1].CardID != results[1].CardID {
		t.Errorf("listed %+v, %v", page, err)
	}
}

func TestImportEndsAfterTheMostEntriesAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newService(t)
	results := w.importFile(t, favourite.FormatBibTeX, strings.Repeat("@misc{,}\n", favourite.MaxImported+2))
	last := results[len(results)-1]
	if len(results) != favourite.MaxImported+1 || last.Outcome != favourite.OutcomeRefused ||
		!strings.Contains(last.Detail, "more than 20,000 entries") || last.Line != favourite.MaxImported {
		t.Errorf("%d results, the last %+v", len(results), last)
	}
}

func TestFailedTransactionIsTheErrorOfAnImport(t *testing.T) {
	t.Parallel()
	w := newService(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Import(ctx, w.Ada, w.Agent, favourite.FormatRIS, strings.NewReader("TY  - JOUR\nTI  - T\nER  -"), 100)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
}

func TestRISIsImported(t *testing.T) {
	t.Parallel()
	w := newService(t)
	got := w.importFile(t, favourite.FormatRIS, "TY  - JOUR\r\nTI  - On X\r\nAU  - Bee, A.\r\nPY  - 2001\r\n"+
		"JO  - Mind\r\nVL  - 3\r\nIS  - 2\r\nSP  - 10\r\nEP  - 20\r\nDO  - 10.1000/x\r\n"+
		"KW  - b\r\nKW  - a\r\nN1  - Mine.\r\nAB  - It is.\r\nER  - \r\n")
	if len(got) != 1 || got[0].Outcome != favourite.OutcomeAdded {
		t.Fatalf("imported %+v", got)
	}
	want := `@article{bee2001x,
  title = {{On X}},
  author = {Bee, A.},
  journal = {Mind},
  year = {2001},
  volume = {3},
  number = {2},
  pages = {10--20},
  doi = {10.1000/x},
  abstract = {It is.},
  keywords = {a, b},
  annote = {Mine.},
}
`
	if got := w.bibliography(t); got != want {
		t.Errorf("exported\n%s\nwant\n%s", got, want)
	}
}

func TestStarredCopyOfAnImportedEntryIsExportedOnce(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(t, `{"cardId":"s","title":"On X","year":2001,"abstract":"It is."}`)
	w.Clock.Advance(time.Hour)
	w.importFile(t, favourite.FormatBibTeX, "@misc{mine, title = {On {X}}, year = 2001, x = {y}}")
	want := "@misc{mine,\n  title = {On {X}},\n  year = 2001,\n  x = {y},\n  abstract = {It is.},\n}\n"
	if got := w.bibliography(t); got != want {
		t.Errorf("exported\n%s\nwant\n%s", got, want)
	}
}
