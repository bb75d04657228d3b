package favourite_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
)

func (w *testService) importFile(t *testing.T, f favourite.Format, content string) []favourite.Imported {
	t.Helper()
	got, err := w.Import(t.Context(), w.Ada, w.Agent, f, content)
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
	if len(entries) != 8 {
		t.Fatalf("imported %+v", entries)
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
		{favourite.FormatBibTeX, "@misc{a, title = {\x00}}", "/content"},
	} {
		if _, err := w.Import(t.Context(), w.Ada, w.Agent, c.format, c.content); pointers(err) != c.want {
			t.Errorf("%s %q: %v", c.format, c.content, err)
		}
	}
	_, err := w.Import(t.Context(), w.Bob, w.Agent, favourite.FormatRIS, "TY  - JOUR\nER  -")
	if !core.IsKind(err, core.KindNotFound) {
		t.Errorf("by another user: %v", err)
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
