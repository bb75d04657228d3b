package pdf_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// lines draws lines of text below each other, 12 points apart.
func lines(x, y int, texts ...string) string {
	var b strings.Builder
	for i, text := range texts {
		b.WriteString(show(x, y-12*i, text))
	}
	return b.String()
}

func TestColumnsAreReadOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var program strings.Builder
	program.WriteString(show(60, 760, "A title that reaches over both of the two columns of the page"))
	var left, right []string
	for i := range 8 {
		l, r := fmt.Sprintf("the left column, line number %d", i), fmt.Sprintf("the right column, line number %d", i)
		left, right = append(left, l), append(right, r)
		// The file draws line by line across the gutter, as some programs do.
		program.WriteString(show(50, 700-12*i, l) + show(300, 700-12*i, r))
	}
	got := extract(t, onePageOf(helvetica, program.String())).String()
	want := "A title that reaches over both of the two columns of the page\n\n" + strings.Join(
		append(left, right...), "\n",
	)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableIsReadRowByRow(t *testing.T) {
	t.Parallel()
	var program strings.Builder
	var want []string
	for i := range 8 {
		program.WriteString(show(50, 700-12*i, fmt.Sprintf("row %d", i)) + show(200, 700-12*i, strconv.Itoa(i*i)))
		want = append(want, fmt.Sprintf("row %d %d", i, i*i))
	}
	wantText(t, onePageOf(helvetica, program.String()), strings.Join(want, "\n"))
}

func TestLinesOfAPageAreSortedByPosition(t *testing.T) {
	t.Parallel()
	program := show(50, 676, "third") + show(50, 700, "first") + show(50, 688, "second")
	wantText(t, onePageOf(helvetica, program), "first\nsecond\nthird")
}

func TestWordsBrokenAtTheEndOfALineAreJoined(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, second, want string }{
		{"a hyphen-", "ated word", "a hyphenated word"},
		{"the Anglo-", "Saxon world", "the Anglo-\nSaxon world"}, // a capital letter starts a word
		{"pages 12-", "14 of it", "pages 12-\n14 of it"},         // no letter before the hyphen
		{"an aside -", "like this", "an aside -\nlike this"},
	} {
		wantText(t, onePageOf(helvetica, lines(50, 700, c.first, c.second)), c.want)
	}
}

func TestParagraphsAreSeparatedByAnEmptyLine(t *testing.T) {
	t.Parallel()
	program := lines(
		50, 700, "One line.", "And the next.", "And a third one.",
	) + lines(50, 640, "A paragraph after a gap.", "Its second line.")
	wantText(t, onePageOf(helvetica, program),
		"One line.\nAnd the next.\nAnd a third one.\n\nA paragraph after a gap.\nIts second line.")
}

func TestAccentsDrawnOverLettersBecomeOneCharacter(t *testing.T) {
	t.Parallel()
	// TeX's older fonts have accents as characters of their own: dieresis over "o", and the reverse order for acute.
	font := object(
		"<</Type/Font/Subtype/Type1/BaseFont/CMR10/Encoding<</Differences[1/dieresis/acute/dotlessi/caron]>>>>",
	)
	for name, c := range map[string]struct{ program, want string }{
		"accent first": {"[(G) (\\001) 500 (odel)] TJ", "Gödel"},
		"letter first": {"[(caf) (e) 500 (\\002)] TJ", "café"},
		"dotless i":    {"[(na) (\\001) 500 (\\003) (ve)] TJ", "naïve"},
		"caron":        {"[(Dvo) (\\004) 500 (r)] TJ", "Dvoř"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, onePageOf(font, "BT /F 10 Tf 50 700 Td "+c.program+" ET"), c.want)
		})
	}
}

func TestLigaturesAreWrittenOut(t *testing.T) {
	t.Parallel()
	font := object("<</Type/Font/Subtype/Type1/BaseFont/X/Encoding/WinAnsiEncoding/ToUnicode 7 0 R>>")
	cmap := stream("4 beginbfchar <41> <FB01> <42> <FB02> <43> <FB03> <44> <FB00> endbfchar")
	wantText(t, onePageOf(font, show(50, 700, "A B C D"), cmap), "fi fl ffi ff")
}

func TestGapsSeparateWordsAndKerningDoesNot(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"[(W) 80 (orld)] TJ":           "World",     // kerning
		"[(two) -300 (words)] TJ":      "two words", // a gap of 0.3 em
		"[(two ) -300 (words)] TJ":     "two words", // a gap and a space are one
		"3 Tw (wide word) Tj":          "wide word", // word spacing
		"1 Tc (let) Tj":                "let",       // character spacing
		"(base) Tj 4 Ts (2) Tj":        "base2",     // an exponent stays in its line
		"100 Tz (a) Tj 12 TL T* (b) '": "a\n\nb",    // T* and ' start lines
		"(tab) Tj 40 0 Td (stop) Tj":   "tab stop",  // positioned words
		"<4865 6C6C 6F> Tj":            "Hello",     // white space in hexadecimal strings
		`(\110\145llo \(x\)) Tj`:       "Hello (x)", // octal and escaped parentheses
		"(nested (paren) ) Tj":         "nested (paren)",
	} {
		got := strings.Join(
			strings.Fields(extract(t, onePageOf(helvetica, "BT /F 10 Tf 50 700 Td "+program+" ET")).String()), " ",
		)
		if want := strings.Join(strings.Fields(want), " "); got != want {
			t.Errorf("%s: got %q, want %q", program, got, want)
		}
	}
}

func TestTransformedTextIsPlacedByItsMatrix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ program, want string }{
		"cm moves the page": {"q 1 0 0 1 0 100 cm " + show(
			50, 600, "upper",
		) + "Q " + show(50, 650, "lower"), "upper\nlower"},
		"Tm sets the position": {"BT /F 10 Tf 1 0 0 1 50 650 Tm (lower) Tj 1 0 0 1 50 700 Tm (upper) Tj ET", "upper\nlower"},
		"Q restores the matrix": {"q 1 0 0 1 0 -500 cm Q " + show(
			50, 700, "upper",
		) + show(50, 650, "lower"), "upper\nlower"},
		"vertical margin text": {
			show(50, 700, "body") + "BT /F 10 Tf 0 1 -1 0 20 300 Tm (margin) Tj ET", "body\n\nmargin",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, onePageOf(helvetica, c.program), c.want)
		})
	}
}

func TestHeadingIsTheLargestTextAtTheTop(t *testing.T) {
	t.Parallel()
	program := "BT /F 20 Tf 50 760 Td (The Title of the Paper) Tj ET\n" +
		lines(50, 700, "Some text of the paper that goes on.", "And more of it.", "And more.", "And the end of it.")
	if got := extract(t, onePageOf(helvetica, program)).Heading; got != "The Title of the Paper" {
		t.Errorf("got %q", got)
	}
	plain := onePageOf(helvetica, lines(50, 700, "Only text", "of one size", "on the page"))
	if got := extract(t, plain).Heading; got != "" {
		t.Errorf("a page of one size has the heading %q", got)
	}
}

func FuzzContentStream(f *testing.F) {
	f.Add("BT /F 10 Tf 1 0 0 1 50 700 Tm [(a) -500 (b)] TJ 4 Ts T* (c) ' 1 2 (d) \" ET")
	f.Add("q 0 1 -1 0 0 0 cm /X Do BI /W 1 /H 1 ID x EI Q q q q Q")
	f.Add("BT /F 1e38 Tf 1e38 1e38 Td (x) Tj -1e38 0 Td (y) Tj 0 Tz (z) Tj ET")
	f.Fuzz(func(t *testing.T, program string) { fuzzExtract(t, onePageOf(helvetica, program)) })
}
