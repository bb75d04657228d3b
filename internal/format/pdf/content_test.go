package pdf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"carrel/internal/format/pdf"
)

// Artifacts such as running headers and page numbers repeat on every page (ISO 32000-1, section 14.8.2.2).
func TestArtifactsAreNotText(t *testing.T) {
	t.Parallel()
	body, mark := show(50, 688, "body"), show(50, 700, "header")
	for name, program := range map[string]string{
		"BMC":                     "/Artifact BMC " + mark + " EMC " + body,
		"BDC":                     "/Artifact <</Type/Pagination>> BDC " + mark + " EMC " + body,
		"a span in an artifact":   "/Artifact BMC /Span BMC " + mark + " EMC " + mark + " EMC " + body,
		"an artifact in a span":   "/P BMC /Artifact BMC " + mark + " EMC " + body + " EMC",
		"an unbalanced end":       "EMC EMC /Artifact BMC " + mark + " EMC " + body,
		"two artifacts":           "/Artifact BMC " + mark + " EMC /Artifact BMC " + mark + " EMC " + body,
		"an artifact without end": body + "/Artifact BMC " + mark,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, onePageOf(helvetica, program), "body")
		})
	}
}

func TestTextOperators(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ program, want string }{
		"Td is relative to the line":    {"50 700 Td (a) Tj 0 -12 Td (b) Tj 0 -12 Td (c) Tj", "a\nb\nc"},
		"TD sets the leading":           {"50 700 Td (a) Tj 0 -12 TD (b) Tj T* (c) Tj", "a\nb\nc"},
		"TL and T*":                     {"12 TL 50 700 Td (a) Tj T* (b) Tj", "a\nb"},
		"' moves and shows":             {"12 TL 50 700 Td (a) Tj (b) ' (c) '", "a\nb\nc"},
		"\" sets the spacing":           {"12 TL 50 700 Td (a) Tj 0 0 (b) \" (c) '", "a\nb\nc"},
		"\" needs three operands":       {"12 TL 50 700 Td (a) Tj (b) \" (c) '", "a\nc"},
		"Tm is absolute":                {"1 0 0 1 50 688 Tm (b) Tj 1 0 0 1 50 700 Tm (a) Tj", "a\nb"},
		"Tz narrows":                    {"50 700 Td 50 Tz (ab) Tj 100 Tz (c) Tj", "abc"},
		"Tz narrows, so a gap opens":    {"50 700 Td 50 Tz (ab) Tj 1 0 0 1 60 700 Tm (c) Tj", "ab c"},
		"Tc widens a letter":            {"50 700 Td 8 Tc (ab) Tj", "a b"},
		"Tw applies to spaces only":     {"50 700 Td 30 Tw (ab) Tj", "ab"},
		"TJ subtracts its numbers":      {"50 700 Td [(a) -1000 (b) 100 (c)] TJ", "a bc"},
		"no font, no text":              {"/None 10 Tf 50 700 Td (x) Tj /F 10 Tf (y) Tj", "xy"},
		"a size of zero":                {"50 700 Td /F 0 Tf (x) Tj /F 10 Tf (y) Tj", "y"},
		"a negative size":               {"1 0 0 -1 50 700 Tm /F -10 Tf (x) Tj", "x"},
		"operands of the wrong kind":    {"(a) (b) Td /x Tf 50 700 Td 5 Tj (y) Tj", "y"},
		"missing operands":              {"Td Tj TJ Tm ' \" Tf 50 700 Td (y) Tj", ""},
		"more operands than an op has":  {strings.Repeat("9 ", 300) + "50 700 Td 50 700 Td (y) Tj", "y"},
		"unknown operators are skipped": {"50 700 Td 1 2 3 foo (y) Tj BX bar EX", "y"},
		"coordinates far off the page":  {"50 700 Td (y) Tj 1e9 0 Td 99999999 0 Td (z) Tj", "y"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := onePageOf(helvetica, "BT /F 10 Tf "+c.program+" ET")
			text, err := pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits)
			if err != nil && !errors.Is(err, pdf.ErrNoText) {
				t.Fatal(err)
			}
			if got := text.String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestGraphicsStateIsSavedAndRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ program, want string }{
		"the font": {"/F 10 Tf q /None 1 Tf Q BT 50 700 Td (a) Tj ET", "a"},
		"the matrix": {
			"q 1 0 0 1 0 -200 cm " + show(50, 700, "low") + " Q " + show(50, 600, "high"), "high\n\nlow",
		},
		"nested":           {"q q 1 0 0 1 0 -50 cm q Q Q Q " + show(50, 700, "a") + show(50, 688, "b"), "a\nb"},
		"unbalanced Q":     {"Q Q Q " + show(50, 700, "a"), "a"},
		"q without an end": {strings.Repeat("q ", 1000) + show(50, 700, "a"), "a"},
		"a scaled page":    {"2 0 0 2 0 0 cm " + show(25, 350, "a") + show(25, 344, "b"), "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, onePageOf(helvetica, c.program), c.want)
		})
	}
}

func TestInlineImagesAreSkipped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ image, want string }{
		"an image":              {"BI /W 1 /H 1 ID \x00\x01\x02 EI", "a b"},
		"text in the image":     {"BI /W 9 ID (x) Tj BT ET EI", "a b"},
		"EI in a word":          {"BI ID xEIx yEI EIz EI", "a b"},
		"an open string in it":  {"BI ID ((((( EI", "a b"},
		"an image without end":  {"BI ID data", "a"},
		"an image without data": {"BI /W 1", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := onePageOf(helvetica, show(50, 700, "a")+c.image+"\n"+show(60, 700, "b"))
			wantText(t, data, c.want)
		})
	}
}

func form(entries, program string) object {
	return object(fmt.Sprintf("<</Subtype/Form%s/Length %d>>stream\n%s\nendstream", entries, len(program), program))
}

func TestForms(t *testing.T) {
	t.Parallel()
	text := show(50, 700, "form")
	for name, c := range map[string]struct {
		program string
		form    object
		want    string
	}{
		"fonts of the page": {"/X Do", form("", text), "form"},
		"fonts of its own":  {"/X Do", form("/Resources<</Font<</G 5 0 R>>>>", "BT /G 10 Tf 50 700 Td (own) Tj ET"), "own"},
		"its own state": {
			"/X Do " + show(50, 650, "page"), form("", "q q 1 0 0 1 0 -300 cm "+text), "page\n\nform",
		},
		"drawn twice": {"/X Do q 1 0 0 1 0 -12 cm /X Do Q", form("", text), "form\nform"},
		"an image":    {"/X Do " + show(50, 650, "page"), "<</Subtype/Image/Length 2>>stream\nxx\nendstream", "page"},
		"not there":   {"/Y Do Do 5 Do " + show(50, 650, "page"), "null", "page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, build(catalogue, onePage, thePage, stream(c.program), helvetica, c.form), c.want)
		})
	}
}

// A form that draws itself ends at the limit of nesting.
func TestFormsThatDrawThemselvesEnd(t *testing.T) {
	t.Parallel()
	data := build(catalogue, onePage, thePage, stream("/X Do"), helvetica,
		form("", "1 0 0 1 0 -20 cm "+show(50, 700, "again")+" /X Do"))
	if n := strings.Count(extract(t, data).String(), "again"); n < 2 || n > 20 {
		t.Errorf("drawn %d times", n)
	}
}

// The glyphs of one page are laid out in batches, because layout takes several times their memory.
func TestVeryLongPagesAreReadWhole(t *testing.T) {
	t.Parallel()
	var program strings.Builder
	program.WriteString("BT /F 10 Tf 12 TL 50 0 Td\n")
	const n = 3000
	for i := range n {
		fmt.Fprintf(&program, "(line number %05d of a long page) '\n", i)
	}
	program.WriteString("ET")
	text := extract(t, onePageOf(helvetica, program.String())).String()
	at := -1
	for i := range n {
		next := strings.Index(text, fmt.Sprintf("line number %05d of a long page", i))
		if next <= at {
			t.Fatalf("line %d is at %d, after a line at %d", i, next, at)
		}
		at = next
	}
}
