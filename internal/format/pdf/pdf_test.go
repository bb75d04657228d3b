package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/format/budget"
	"carrel/internal/format/pdf"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func extract(t *testing.T, data []byte) pdf.Text {
	t.Helper()
	text, err := pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newBudget(ctx context.Context, data []byte) *budget.Budget {
	return budget.New(ctx, budget.Default, int64(len(data)), nil)
}

// shared returns the fraction of the wanted items that got contains, counting repetitions.
func shared(want, got []string) float64 {
	have := map[string]int{}
	for _, w := range got {
		have[w]++
	}
	n := 0
	for _, w := range want {
		if have[w] > 0 {
			have[w]--
			n++
		}
	}
	return float64(n) / float64(len(want))
}

// triples returns every three consecutive words, which show the reading order.
func triples(words []string) []string {
	var out []string
	for i := 2; i < len(words); i++ {
		out = append(out, words[i-2]+" "+words[i-1]+" "+words[i])
	}
	return out
}

// The reference is the output of pdftotext 22.12, and of the installed pdftotext if there is one.
func TestAPaperInTwoColumnsHasItsWordsInReadingOrder(t *testing.T) {
	t.Parallel()
	references := map[string][]byte{"kept": sample(t, "two-columns.txt")}
	if program, err := exec.LookPath("pdftotext"); err == nil {
		out, err := exec.CommandContext(
			t.Context(), program, filepath.Join("testdata", "two-columns.pdf"), "-",
		).Output()
		if err != nil {
			t.Fatal(err)
		}
		references["installed"] = out
	}
	text := extract(t, sample(t, "two-columns.pdf"))
	got := strings.Fields(text.String())
	for which, reference := range references {
		want := strings.Fields(string(reference))
		words, order := shared(want, got), shared(triples(want), triples(got))
		t.Logf("%s: %.4f of %d words, %.4f of triples", which, words, len(want), order)
		if words < 0.97 || order < 0.95 {
			t.Errorf("%s: %.4f of the words and %.4f of the triples", which, words, order)
		}
	}
	if len(text.Pages) != 14 || text.Heading != "Reading Order in Two Columns" || strings.Contains(text.String(), "ﬁ") {
		t.Errorf("%d pages, heading %q", len(text.Pages), text.Heading)
	}
	if !strings.Contains(text.String(), "Gödel") || !strings.Contains(text.String(), "Dvořák") {
		t.Error("accents that are drawn over letters are not part of them")
	}
}

func TestPagesOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"office.pdf":  {"fine affluent words", "another", "Grüße aus Zürich."},                 // LibreOffice
		"browser.pdf": {"Office paper", "fine affluent words", "another", "Grüße aus Zürich."}, // Chromium
	} {
		got := strings.Join(strings.Fields(extract(t, sample(t, name)).String()), " ")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s lacks %q: %q", name, w, got)
			}
		}
	}
}

func TestADamagedFileIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	whole := build(catalogue, onePage, thePage, packed(hello, 1), helvetica)
	noTable := bytes.Replace(whole, []byte("startxref"), []byte("startfoo1"), 1)
	wrongTable := bytes.Replace(whole, []byte("000000"), []byte("000077"), 8)
	for name, data := range map[string][]byte{
		"whole": whole, "no table": noTable, "wrong table": wrongTable,
		"noise around": append(append([]byte("noise\n"), whole...), "more noise"...),
		"cut":          whole[:bytes.LastIndex(whole, []byte("xref\n0"))],
		"wrong length": bytes.Replace(whole, []byte("<</Length "), []byte("<</Length 9"), 1),
	} {
		if got := extract(t, data).String(); got != "Hello, world" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// locked returns a file that is encrypted with RC4 and does not open with an empty password.
func locked() []byte {
	data := build(catalogue, onePage, thePage, stream(hello), helvetica)
	const encrypt = "/ID[<00><00>]/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O<%064d>/U<%064d>>>/Root"
	return bytes.Replace(data, []byte("/Root"), fmt.Appendf(nil, encrypt, 1, 2), 1)
}

func TestHostileFilesEndInAClearErrorWithinTheirLimits(t *testing.T) {
	t.Parallel()
	forms := object(fmt.Sprintf("<</Subtype/Form/Length %d>>stream\n%s\nendstream", 60, strings.Repeat("/X Do ", 10)))
	cases := map[string]struct {
		data []byte
		want error // nil for any text
		// limit is the setting of the exceeded limit, or empty.
		limit string
	}{
		"nothing":        {nil, pdf.ErrNotPDF, ""},
		"another format": {[]byte("PK\x03\x04 this is a zip"), pdf.ErrNotPDF, ""},
		"only a header":  {[]byte("%PDF-1.7\n%%EOF"), pdf.ErrNotPDF, ""},
		// Written by LibreOffice with AES-256.
		"a password":        {sample(t, "locked.pdf"), pdf.ErrEncrypted, ""},
		"a password of RC4": {locked(), pdf.ErrEncrypted, ""},
		"no text": {build(
			catalogue, onePage, thePage, stream("0 0 10 10 re f"), helvetica,
		), pdf.ErrNoText, ""},
		"pages in a circle":        {build(catalogue, "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>"), pdf.ErrNotPDF, ""},
		"an object that is itself": {build("1 0 R", "2 0 R"), pdf.ErrNotPDF, ""},
		"a length that is its own": {
			build(catalogue, onePage, thePage, "<</Length 4 0 R>>stream\n"+hello+"\nendstream", helvetica), nil, "",
		},
		"brackets": {build(
			catalogue, onePage, thePage, object(strings.Repeat("[", 3<<20)), helvetica,
		), pdf.ErrNoText, ""},
		"dictionaries": {build(object(strings.Repeat("<</A", 1<<20)), onePage), pdf.ErrNotPDF, ""},
		"brackets on a page": {build(
			catalogue, onePage, thePage, packed(strings.Repeat("[", 3<<20), 1), helvetica,
		), pdf.ErrNoText, ""},
		"a bomb": {build(
			catalogue, onePage, thePage, packed(strings.Repeat(" ", 200<<20), 1), helvetica,
		), nil, "import-memory-mib"},
		"a bomb in a bomb": {build(
			catalogue, onePage, thePage, packed(strings.Repeat(" ", 200<<20), 2), helvetica,
		), nil, "import-memory-mib"},
		"drawings in themselves": {
			build(catalogue, onePage, thePage, stream("/X Do"), helvetica, forms), nil, "import-work",
		},
		"a table that leads to itself": {
			bytes.Replace(
				build(catalogue, onePage, thePage, stream(hello), helvetica), []byte("/Root"), []byte("/Prev 9/Root"),
				1,
			),
			nil, "",
		},
		"a table without end": {
			bytes.Replace(
				build(catalogue, onePage, thePage, stream(hello), helvetica), []byte("xref\n0 6"),
				[]byte("xref\n0 999999999999"), 1,
			),
			nil, "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := pdf.Extract(c.data, newBudget(t.Context(), c.data), pdf.DefaultLimits)
			exceeded, over := errors.AsType[*budget.Exceeded](err)
			if c.limit != "" && (!over || exceeded.Setting != c.limit) || c.limit == "" && !errors.Is(err, c.want) {
				t.Errorf("want %v %s, got %v", c.want, c.limit, err)
			}
			if c.want == nil && c.limit == "" && text.String() != "Hello, world" {
				t.Errorf("got %q", text.String())
			}
		})
	}
}

func TestReadingEndsWhenItsCallerGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdf.Extract(
		sample(t, "two-columns.pdf"), newBudget(ctx, nil), pdf.DefaultLimits,
	); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPagesPastTheLimitAreLeftOut(t *testing.T) {
	t.Parallel()
	limits := pdf.DefaultLimits
	limits.Pages = 3
	text, err := pdf.Extract(sample(t, "two-columns.pdf"), newBudget(t.Context(), nil), limits)
	if err != nil || len(text.Pages) != 3 || !text.Cut {
		t.Errorf("%d pages, cut %v, %v", len(text.Pages), text.Cut, err)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(build(catalogue, onePage, thePage, packed(hello, 1), helvetica))
	f.Add(
		build(
			catalogue, onePage, thePage,
			stream("BT /F 1 Tf [(a) -500 <6263>] TJ T* (x\\051\\\n) ' ET BI /W 1 ID xx EI q Q"), helvetica,
		),
	)
	f.Add([]byte("%PDF-1.5\n1 0 obj<</Type/XRef/W[1 2 1]/Size 3/Index[0 3]/Length 9>>stream\n123456789\n" +
		"endstream endobj startxref 9 %%EOF"))
	for _, name := range []string{"office.pdf", "browser.pdf"} {
		f.Add(sample(f, name))
	}
	f.Fuzz(fuzzExtract)
}

func BenchmarkExtract(b *testing.B) {
	data := sample(b, "two-columns.pdf")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pdf.Extract(data, newBudget(b.Context(), data), pdf.DefaultLimits); err != nil {
			b.Fatal(err)
		}
	}
}

const picture = object("<</Subtype/Image/Width 1/Height 1/Length 1>>stream\nx\nendstream")

// pagesOf builds a file of pages that draw these programs with the font F and the image X.
func pagesOf(font object, programs ...string) []byte {
	objects := []object{catalogue, "", font, picture}
	kids := ""
	for _, program := range programs {
		kids += fmt.Sprintf("%d 0 R ", len(objects)+1)
		objects = append(objects, object(fmt.Sprintf(
			"<</Type/Page/Contents %d 0 R/Resources<</Font<</F 3 0 R>>/XObject<</X 4 0 R>>>>>>", len(objects)+2,
		)), stream(program))
	}
	objects[1] = object("<</Type/Pages/Kids[" + kids + "]>>")
	return build(objects...)
}

func TestPagesThatAreImagesAreCounted(t *testing.T) {
	t.Parallel()
	inline := "BI /W 1 /H 1 ID x EI "
	text := extract(t, pagesOf(helvetica, hello, "/X Do", inline, "0 0 1 1 re f", "/X Do "+hello))
	if len(text.Pages) != 5 || text.Empty != 3 || text.Images != 2 {
		t.Errorf("%d pages, %d empty, %d images", len(text.Pages), text.Empty, text.Images)
	}
}

func TestTheReasonForAFileWithoutTextIsExact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"images":     {pagesOf(helvetica, "/X Do", "0 0 1 1 re f"), pdf.ErrImages},
		"drawings":   {pagesOf(helvetica, "0 0 1 1 re f"), pdf.ErrNoText},
		"odd glyphs": {onePageOf(composite(""), "BT /F 10 Tf <00010002> Tj ET", cidFont), pdf.ErrNoUnicode},
	} {
		if _, err := pdf.Extract(c.data, newBudget(t.Context(), c.data), pdf.DefaultLimits); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestGlyphsWithoutTextAreCounted(t *testing.T) {
	t.Parallel()
	data := onePageOf(composite("/ToUnicode 8 0 R"), "BT /F 10 Tf 50 700 Td <00010099009800970002> Tj ET", cidFont,
		stream(toUnicode))
	if text := extract(t, data); text.Drawn != 5 || text.Unread != 3 {
		t.Errorf("%d of %d glyphs are unread", text.Unread, text.Drawn)
	}
}
