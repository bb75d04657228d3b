package favourite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
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

func readBibTeX(t *testing.T, content []byte) (entries []format.Entry, err error) {
	t.Helper()
	file := format.File{Reader: bytes.NewReader(content), Size: int64(len(content))}
	err = format.ReadBibTeX(t.Context(), file, func(e format.Entry) error {
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// roundTrip counts the parts of files that were imported and exported, and those that did not come back.
type roundTrip struct{ entries, refused, fields, lost, changed, strings, lostStrings int }

func (r *roundTrip) add(o roundTrip) {
	r.entries, r.refused, r.fields = r.entries+o.entries, r.refused+o.refused, r.fields+o.fields
	r.lost, r.changed = r.lost+o.lost, r.changed+o.changed
	r.strings, r.lostStrings = r.strings+o.strings, r.lostStrings+o.lostStrings
}

// stringDefinition finds @string definitions independently of the parser.
var stringDefinition = regexp.MustCompile(`(?im)^\s*@string\s*[{(]\s*([^\s=]+)\s*=`)

// definedNames returns the names of the @string definitions of a file in lower case.
func definedNames(content string) map[string]bool {
	names := map[string]bool{}
	for _, m := range stringDefinition.FindAllStringSubmatch(content, -1) {
		names[strings.ToLower(m[1])] = true
	}
	return names
}

// checkRoundTrip imports and exports a file and compares all entries as written.
func checkRoundTrip(t *testing.T, name string, content []byte) (sum roundTrip) {
	t.Helper()
	before, err := readBibTeX(t, content)
	if err != nil {
		return sum // not a BibTeX file
	}
	cards, kept := cardsOf(t, before)
	sum.entries, sum.refused = len(before), len(before)-len(kept)
	out := export(t, FormatBibTeX, cards...)
	after, err := readBibTeX(t, []byte(out))
	if err != nil || len(after) != len(kept) {
		t.Errorf("%s: %d entries after %d, %v\n%s", name, len(after), len(kept), err, out)
		return sum
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
		if was.Type != is.Type || was.Key != is.Key || !slices.Equal(was.Strings, is.Strings) {
			t.Errorf("%s, line %d: was\n%+v\nis\n%+v", name, e.Line, was, is)
		}
		for n, f := range was.Fields {
			sum.fields++
			switch {
			case n >= len(is.Fields) || is.Fields[n].Name != f.Name:
				sum.lost++
				t.Errorf("%s, line %d: the field %s is lost", name, e.Line, f.Name)
			case is.Fields[n] != f:
				sum.changed++
				t.Errorf("%s, line %d: was %q, is %q", name, e.Line, f, is.Fields[n])
			}
		}
		for _, content := range was.Preamble {
			if !strings.Contains(out, "@preamble{"+content+"}") {
				t.Errorf("%s: the preamble %s is lost", name, content)
			}
		}
	}
	defined := definedNames(out)
	for macro := range definedNames(string(content)) {
		if sum.strings++; !defined[macro] && len(kept) > 0 {
			sum.lostStrings++
		}
	}
	return sum
}

func TestBibTeXSurvivesImportAndExport(t *testing.T) {
	t.Parallel()
	want := map[string]roundTrip{
		"strings.bib": {entries: 3, fields: 14, strings: 5},
		"fields.bib":  {entries: 13, fields: 38},
	}
	for name, n := range want {
		content, err := os.ReadFile(filepath.Join("testdata", "bibtex", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := checkRoundTrip(t, name, content); got != n {
			t.Errorf("%s: %+v, want %+v", name, got, n)
		}
	}
}

// TestBibTeXCorpusSurvivesImportAndExport reads all .bib files below the folder that CARREL_BIBTEX_CORPUS names and
// prints a line for each file with entries.
func TestBibTeXCorpusSurvivesImportAndExport(t *testing.T) {
	t.Parallel()
	root := os.Getenv("CARREL_BIBTEX_CORPUS")
	if root == "" {
		t.Skip("CARREL_BIBTEX_CORPUS names no folder")
	}
	var table strings.Builder
	row := func(name string, r roundTrip) {
		fmt.Fprintf(&table, "%7d %7d %7d %5d %7d %7d %5d  %s\n",
			r.entries, r.refused, r.fields, r.lost, r.changed, r.strings, r.lostStrings, name)
	}
	files := 0
	var all roundTrip
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".bib" {
			return err
		}
		content, err := os.ReadFile(path)
		files++
		sum := checkRoundTrip(t, path, content)
		if all.add(sum); sum.entries > 0 {
			row(d.Name(), sum)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
	row(fmt.Sprintf("all %d files", files), all)
	t.Logf("\nentries refused  fields  lost changed strings  lost  file\n%s", &table)
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
		sum := checkRoundTrip(t, fmt.Sprintf("seed %d\n%s", seed, content), []byte(content))
		entries += sum.entries
		if sum.refused > 0 || sum.lostStrings > 0 {
			t.Errorf("seed %d: %+v\n%s", seed, sum, content)
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
	entries, err := readBibTeX(t,
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

func readReferences(t *testing.T, content []byte) (entries []format.Entry, err error) {
	t.Helper()
	file := format.File{Reader: bytes.NewReader(content), Size: int64(len(content))}
	err = format.ReadRIS(t.Context(), file, func(e format.Entry) error {
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// checkRISRoundTrip imports and exports a file and compares the lines of all references.
func checkRISRoundTrip(t *testing.T, name string, content []byte) (sum roundTrip) {
	t.Helper()
	before, err := readReferences(t, content)
	if err != nil {
		return sum // not a RIS file
	}
	cards, kept := cardsOf(t, before)
	sum.entries, sum.refused = len(before), len(before)-len(kept)
	out := export(t, FormatRIS, cards...)
	after, err := readReferences(t, []byte(out))
	if err != nil || len(after) != len(kept) {
		t.Errorf("%s: %d references after %d, %v\n%s", name, len(after), len(kept), err, out)
		return sum
	}
	for i, e := range kept {
		sum.fields += len(e.RIS)
		if !slices.Equal(e.RIS, after[i].RIS) {
			sum.changed++
			t.Errorf("%s, line %d: was\n%q\nis\n%q", name, e.Line, e.RIS, after[i].RIS)
		}
	}
	return sum
}

func TestRISSurvivesImportAndExport(t *testing.T) {
	t.Parallel()
	const file = "TY  - CHAP\r\nA1  - Bee, A.\r\nA2  - Editor, B.\r\nTI  - On X\r\nT2  - A book\r\nC1  - custom\r\n" +
		"KW  - b\r\nKW  - a\r\nN1  - Mine.\r\nN1  - A second note\r\n  on two lines\r\nN2  - It is.\r\n" +
		"Y1  - 2001/02/03/\r\nL1  - file:///x.pdf\r\nSN  - 1234-5678\r\nER  - \r\n" +
		"TY  - CHAP\r\nTI  - On X\r\nPY  - 2001\r\nA1  - Bee, A.\r\nAN  - 7\r\nER  - \r\n" +
		"TY  - Journal Article\r\nAU  - No title\r\nER  - \r\n"
	if got := checkRISRoundTrip(t, "file", []byte(file)); got != (roundTrip{entries: 3, fields: 21}) {
		t.Errorf("%+v", got)
	}
	entries, err := readReferences(t, []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	cards, _ := cardsOf(t, entries[:1])
	cards[0].Tags, cards[0].Note = []string{"z"}, "Changed."
	want := "TY  - CHAP\r\nA1  - Bee, A.\r\nA2  - Editor, B.\r\nTI  - On X\r\nT2  - A book\r\nC1  - custom\r\n" +
		"N1  - A second note on two lines\r\nN2  - It is.\r\nY1  - 2001/02/03/\r\nL1  - file:///x.pdf\r\n" +
		"SN  - 1234-5678\r\nKW  - z\r\nN1  - Changed.\r\nER  - \r\n\r\n"
	if got := export(t, FormatRIS, cards...); got != want {
		t.Errorf("with another tag and note:\n%s", got)
	}
}

func TestLinesThatWouldBreakARISFileAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{
		`[{"tag":"TY","value":"JOUR"},{"tag":"ER","value":""}]`, `[{"tag":"TI","value":"T"}]`, `[]`, `7`,
		`[{"tag":"TY","value":"JOUR\r\nER  - "}]`, `[{"tag":"TY","value":"JOUR"},{"tag":"TI","value":"x\r\nER  - "}]`,
		`[{"tag":"TY","value":"JOUR"},{"tag":"A\nB","value":"x"}]`, `[{"tag":"TY","value":"JOUR"},{"tag":"TY","value":"x"}]`,
	} {
		got := export(t, FormatRIS, Card{ID: "1", JSON: []byte(`{"title":"T","ris":` + lines + `}`)})
		if want := "TY  - GEN\r\nID  - 1\r\nTI  - T\r\nER  - \r\n\r\n"; got != want {
			t.Errorf("%s: exported\n%s", lines, got)
		}
	}
}

// TestRISCorpusSurvivesImportAndExport reads all .ris files below the folder that CARREL_BIBTEX_CORPUS names.
func TestRISCorpusSurvivesImportAndExport(t *testing.T) {
	t.Parallel()
	root := os.Getenv("CARREL_BIBTEX_CORPUS")
	if root == "" {
		t.Skip("CARREL_BIBTEX_CORPUS names no folder")
	}
	var all roundTrip
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".ris" {
			return err
		}
		content, err := os.ReadFile(path)
		all.add(checkRISRoundTrip(t, path, content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d references, %d refused, %d lines, %d references changed", all.entries, all.refused, all.fields, all.changed)
}
