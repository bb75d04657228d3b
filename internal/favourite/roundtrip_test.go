package favourite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/format"
)

// cardsOf returns the cards that an import of a file saves, and the entries that it refuses.
func cardsOf(t *testing.T, entries []format.Entry) (cards []Card, kept []format.Entry) {
	t.Helper()
	seen := map[string]int{}
	for _, e := range entries {
		f, err := favouriteOf(e, seen)
		if err != nil {
			continue
		}
		cards = append(cards, Card{ID: f.CardID, JSON: f.Card, Tags: f.Tags, Note: f.Note})
		kept = append(kept, e)
	}
	return cards, kept
}

// checkRoundTrip imports and exports a file and compares all entries as written. It returns the numbers of compared
// and of refused entries.
func checkRoundTrip(t *testing.T, name string, content []byte) (compared, refused int) {
	t.Helper()
	before, err := format.ReadBibTeX(t.Context(), content)
	if err != nil {
		return 0, 0 // not a BibTeX file
	}
	cards, kept := cardsOf(t, before)
	out := export(t, FormatBibTeX, cards...)
	after, err := format.ReadBibTeX(t.Context(), []byte(out))
	if err != nil || len(after) != len(kept) {
		t.Errorf("%s: %d entries after %d, %v\n%s", name, len(after), len(kept), err, out)
		return 0, 0
	}
	keys := map[string]int{}
	for _, e := range kept {
		keys[e.BibTeX.Key]++
	}
	for i, e := range kept {
		was, is := *e.BibTeX, *after[i].BibTeX
		if was.Key == "" || keys[was.Key] > 1 {
			was.Key = is.Key // a key is added or made unique
		}
		// Abstracts and keywords that were read from other fields may be added.
		if len(is.Fields) > len(was.Fields) {
			is.Fields = is.Fields[:len(was.Fields)]
		}
		if was.Type != is.Type || was.Key != is.Key || !slices.Equal(was.Fields, is.Fields) ||
			!slices.Equal(was.Strings, is.Strings) {
			t.Errorf("%s, line %d: was\n%+v\nis\n%+v", name, e.Line, was, is)
		}
		for _, content := range was.Preamble {
			if !strings.Contains(out, "@preamble{"+content+"}") {
				t.Errorf("%s: the preamble %s is lost", name, content)
			}
		}
	}
	return len(kept), len(before) - len(kept)
}

func TestBibTeXSurvivesImportAndExport(t *testing.T) {
	t.Parallel()
	want := map[string]int{"strings.bib": 2, "fields.bib": 8}
	for name, n := range want {
		content, err := os.ReadFile(filepath.Join("testdata", "bibtex", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, refused := checkRoundTrip(t, name, content); got != n || refused != 0 {
			t.Errorf("%s: %d entries, want %d", name, got, n)
		}
	}
}

// TestBibTeXCorpusSurvivesImportAndExport reads all .bib files below the folder that CARREL_BIBTEX_CORPUS names.
func TestBibTeXCorpusSurvivesImportAndExport(t *testing.T) {
	t.Parallel()
	root := os.Getenv("CARREL_BIBTEX_CORPUS")
	if root == "" {
		t.Skip("CARREL_BIBTEX_CORPUS names no folder")
	}
	files, entries, refusals := 0, 0, 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".bib" {
			return err
		}
		content, err := os.ReadFile(path)
		files++
		compared, refused := checkRoundTrip(t, path, content)
		entries, refusals = entries+compared, refusals+refused
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
	t.Logf("%d entries of %d files, %d refused", entries, files, refusals)
}

// bibWriter generates BibTeX files.
type bibWriter struct {
	*rand.Rand
	out strings.Builder
}

func (w *bibWriter) pick(list ...string) string { return list[w.IntN(len(list))] }

// text generates text with balanced braces, accents and special characters.
func (w *bibWriter) text(depth int) string {
	var b strings.Builder
	for range w.IntN(5) {
		b.WriteString(w.pick("word", "Ünï", `{\"o}`, `\'e`, "100\\%", "a_b", "$x^2$", "–", " and ", ", ",
			"~", "@x", "#", "\n  "))
		b.WriteString(" ")
		if depth < 3 && w.IntN(3) == 0 {
			b.WriteString("{" + w.text(depth+1) + "}")
		}
	}
	return b.String()
}

func (w *bibWriter) value() string {
	var parts []string
	for range 1 + w.IntN(3) {
		parts = append(parts, w.pick(
			"{"+w.text(0)+"}", `"`+w.text(0)+`"`, strconv.Itoa(w.IntN(3000)), "jan", "one", "TWO", "undefined"))
	}
	return strings.Join(parts, w.pick("#", " # ", " #\n "))
}

func (w *bibWriter) file() string {
	fmt.Fprintf(&w.out, "@string{one = {%s}}\n@string(two = one # \"x\")\n", w.text(0))
	for i := range 1 + w.IntN(6) {
		if w.IntN(4) == 0 {
			fmt.Fprintf(&w.out, "@string{one = %q}\n", strconv.Itoa(i))
		}
		kind := w.pick("article", "Book", "inProceedings", "x-type")
		fmt.Fprintf(&w.out, "@%s{key:%d/%s,\n", kind, i, w.pick("a", "b(c)", "ü"))
		for n := range w.IntN(7) {
			name := w.pick("title", "Author", "year", "keywords", "annote", "abstract", "crossref", "doi", "url", "x-f")
			fmt.Fprintf(&w.out, "  %s%d = %s,\n", name, n*w.IntN(2), w.value())
		}
		w.out.WriteString("}\n" + w.pick("", "text between entries\n", "% comment\n"))
	}
	return w.out.String()
}

func TestGeneratedBibTeXSurvivesImportAndExport(t *testing.T) {
	t.Parallel()
	entries := 0
	for seed := range uint64(300) {
		w := &bibWriter{Rand: rand.New(rand.NewPCG(seed, 1))}
		content := w.file()
		compared, refused := checkRoundTrip(t, fmt.Sprintf("seed %d\n%s", seed, content), []byte(content))
		entries += compared
		if refused > 0 {
			t.Errorf("seed %d: %d entries are refused\n%s", seed, refused, content)
		}
		if t.Failed() {
			return
		}
	}
	if entries < 500 {
		t.Errorf("only %d entries were generated", entries)
	}
}

func TestEntriesThatWouldBreakAFileAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		`{"type":"article","key":"a","fields":[{"name":"title","value":"{open"}]}`,
		`{"type":"article","key":"a","fields":[{"name":"title","value":"{x}, evil = {y}"}]}`,
		`{"type":"article","key":"a","fields":[{"name":"title","value":"{x}}\n@article{b"}]}`,
		`{"type":"article","key":"a","fields":[{"name":"a = {b}, c","value":"{x}"}]}`,
		`{"type":"article","key":"a,b}","fields":[]}`,
		`{"type":"article{x,}@book","key":"a","fields":[]}`,
		`{"type":"article","key":"a","fields":[],"strings":[{"name":"a","value":"b}"}]}`,
		`{"type":"article","key":"a","fields":[],"preamble":["\"x\"} @article{"]}`,
		`{"type":"","fields":[]}`, `7`,
	} {
		got := export(t, FormatBibTeX, Card{ID: "1", JSON: []byte(`{"title":"T","bibtex":` + entry + `}`)})
		if want := "@misc{reft,\n  title = {{T}},\n}\n"; got != want && got != strings.Replace(want, "reft", "t", 1) {
			t.Errorf("%s: exported\n%s", entry, got)
		}
	}
}

func TestChangedTagsAndNotesReplaceThoseOfTheEntry(t *testing.T) {
	t.Parallel()
	entries, err := format.ReadBibTeX(t.Context(),
		[]byte(`@misc{a, title = {T}, keywords = {x, y}, annote = {Old}, custom = {kept}}`))
	if err != nil {
		t.Fatal(err)
	}
	cards, _ := cardsOf(t, entries)
	if got := cards[0]; !slices.Equal(got.Tags, []string{"x", "y"}) || got.Note != "Old" {
		t.Errorf("imported %+v", got)
	}
	cards[0].Tags, cards[0].Note, cards[0].Abstract = []string{"z"}, "", "From the document."
	want := "@misc{a,\n  title = {T},\n  custom = {kept},\n  keywords = {z},\n  abstract = {From the document.},\n}\n"
	if got := export(t, FormatBibTeX, cards...); got != want {
		t.Errorf("exported\n%s\nwant\n%s", got, want)
	}
}
