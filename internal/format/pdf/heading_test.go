package pdf_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// typed draws lines of 10-point text, and those that begin with a size and a bar in that size: "14|A heading". A size
// of b selects the bold font.
func typed(texts ...string) []byte {
	var b strings.Builder
	y := 760.0
	for _, text := range texts {
		font, size := "F", 10.0
		if mark, rest, found := strings.Cut(text, "|"); found {
			text = rest
			if mark == "b" {
				font = "B"
			} else {
				_, _ = fmt.Sscanf(mark, "%f", &size)
			}
		}
		fmt.Fprintf(&b, "BT /%s %g Tf 50 %g Td (%s) Tj ET\n", font, size, y, text)
		y -= 1.2 * size
	}
	return build(catalogue, onePage, "<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R/B 6 0 R>>>>>>",
		stream(b.String()), helvetica, boldFont)
}

const boldFont = object("<</Type/Font/Subtype/Type1/BaseFont/Sample-Bold/Encoding/WinAnsiEncoding>>")

const sentence = "The vessel was measured in every harbour, station by station."

func TestHeadingsAreMarked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"larger type": {
			[]string{sentence, sentence, "12|3. Section", "It was warm and dry in all of them.", sentence},
			sentence + "\n" + sentence + "\n\n## 3. Section\n\nIt was warm and dry in all of them.\n" + sentence,
		},
		"bold type": {
			[]string{sentence, "b|4. Results", sentence, sentence},
			sentence + "\n\n### 4. Results\n\n" + sentence + "\n" + sentence,
		},
		"several lines": {
			[]string{"20|The measure-", "20|ment of harbours", sentence, sentence, sentence, sentence},
			"# The measurement of harbours\n\n" + strings.Repeat("\n"+sentence, 4)[1:],
		},
		"two headings": {
			[]string{sentence, "b|4. Results", "b|4.1 Harbours", sentence, sentence},
			sentence + "\n\n### 4. Results\n\n### 4.1 Harbours\n\n" + sentence + "\n" + sentence,
		},
		"a bold sentence": {
			[]string{sentence, "b|" + sentence + " It was warm.", sentence, sentence},
			sentence + "\n" + sentence + " It was warm.\n" + sentence + "\n" + sentence,
		},
		"a sentence in larger type": {
			[]string{sentence, sentence, sentence, "12|" + sentence}, strings.Repeat(sentence+"\n", 3) + "\n" + sentence,
		},
		"a bold page": {
			[]string{"b|Name", "b|Address", "Ada"},
			"Name\nAddress\nAda",
		},
		"a long quotation": {
			append([]string{sentence, sentence, sentence, sentence, sentence, sentence},
				"14|A quotation in large type", "14|goes on and on for lines", "14|and is still not finished", "14|here",
				"14|or there."),
			strings.Repeat(sentence+"\n", 6) + "\nA quotation in large type\ngoes on and on for lines\n" +
				"and is still not finished\nhere\nor there.",
		},
		"a number": {
			[]string{sentence, sentence, "20|42"}, sentence + "\n" + sentence + "\n\n42",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := extract(t, typed(c.lines...))
			if got.String() != c.want {
				t.Errorf("got  %q\nwant %q", got.String(), c.want)
			}
			if strings.Contains(got.First, "#") {
				t.Errorf("the plain text has marks: %q", got.First)
			}
		})
	}
}

func TestInitialLetterMakesNoHeading(t *testing.T) {
	t.Parallel()
	program := "BT /F 30 Tf 50 690 Td (T) Tj ET\n" + show(66, 690, "he vessel was measured in every harbour.") +
		lines(50, 678, sentence, sentence, sentence)
	if got := extract(t, onePageOf(helvetica, program)).String(); strings.Contains(got, "#") {
		t.Errorf("got %q", got)
	}
}

func TestRunningHeadersAreNotHeadings(t *testing.T) {
	t.Parallel()
	var kids strings.Builder
	objects := []object{catalogue, "", helvetica}
	for n := range 5 {
		program := fmt.Sprintf("BT /F 20 Tf 50 770 Td (Annual report %d) Tj ET\n", n) +
			lines(50, 700, sentence, sentence, sentence)
		if n == 2 {
			program += "BT /F 20 Tf 50 600 Td (Harbours) Tj ET\n"
		}
		fmt.Fprintf(&kids, "%d 0 R ", len(objects)+1)
		objects = append(objects,
			object(fmt.Sprintf("<</Type/Page/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>", len(objects)+2)),
			stream(program))
	}
	objects[1] = object("<</Type/Pages/Count 5/Kids[" + kids.String() + "]>>")
	got := extract(t, build(objects...)).String()
	if strings.Contains(got, "# Annual") || !strings.Contains(got, "Annual report 3") ||
		!strings.Contains(got, "\n# Harbours") {
		t.Errorf("got %q", got)
	}
}

func TestTitleIsTheLargestPrintedText(t *testing.T) {
	t.Parallel()
	large := func(x, y, size int, text string) string {
		return fmt.Sprintf("BT /F %d Tf %d %d Td (%s) Tj ET\n", size, x, y, text)
	}
	body := lines(50, 600, sentence, sentence, sentence, sentence, sentence, sentence, sentence, sentence)
	for name, c := range map[string]struct{ program, want, below string }{
		"beside smaller text": {
			large(50, 700, 20, "INVOICE") + show(300, 700, "23 Main Street") + body, "INVOICE", "INVOICE",
		},
		"two texts": {large(50, 760, 20, "A title") + large(50, 690, 20, "A table") + body, "A title", "A title"},
		"two lines": {
			large(50, 760, 20, "A title") + large(50, 736, 20, "in lines") + body, "A title in lines", "A title in lines",
		},
		"a bold subtitle": {
			"BT /B 20 Tf 50 760 Td (A title) Tj ET BT /B 14 Tf 50 736 Td (and what it is about) Tj ET\n" + body,
			"A title: and what it is about", "A title: and what it is about",
		},
		"authors in bold": {
			"BT /B 20 Tf 50 760 Td (A title) Tj ET BT /B 14 Tf 50 736 Td (Ada Lovelace, Alan Mathison Turing) Tj ET\n" + body,
			"A title", "A title",
		},
		"below a page of text": {
			lines(50, 780, slices.Repeat([]string{sentence}, 20)...) + large(50, 520, 20, "A section") + lines(50, 500,
				slices.Repeat([]string{sentence}, 30)...), "", "",
		},
		"in the lower half": {body + large(50, 500, 20, "A title") + show(50, 480, sentence), "", "A title"},
	} {
		got := extract(t, build(catalogue, onePage,
			"<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R/B 6 0 R>>>>>>", stream(c.program), helvetica, boldFont))
		if got.Heading != c.want || got.HeadingBelow != c.below {
			t.Errorf("%s: %q and %q", name, got.Heading, got.HeadingBelow)
		}
	}
	note := build(catalogue, onePage, "<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>/Annots[6 0 R]>>",
		stream(large(50, 700, 20, "A title")+body), helvetica,
		"<</Type/Annot/Subtype/FreeText/Rect[50 720 300 790]/AP<</N 7 0 R>>>>",
		object("<</Type/XObject/Subtype/Form/BBox[0 0 250 70]/Resources<</Font<</F 5 0 R>>>>"+
			strings.TrimPrefix(string(stream("BT /F 30 Tf 0 0 Td (A note) Tj ET")), "<<")))
	got := extract(t, note)
	if got.Heading != "A title" || !strings.Contains(got.String(), "A note") || strings.Contains(got.First, "A note") {
		t.Errorf("with an annotation: %q, %q", got.Heading, got.String())
	}
}

func TestTableRowIsNoTitleLine(t *testing.T) {
	t.Parallel()
	row := show(50, 700, "Year") + show(150, 700, "Port") + show(250, 700, "Depth") + show(350, 700, "Width")
	if !extract(t, onePageOf(helvetica, row+lines(50, 680, sentence))).FirstIsRow {
		t.Error("the row of a table is not recognized")
	}
	if extract(t, onePageOf(helvetica, lines(50, 700, sentence, sentence))).FirstIsRow {
		t.Error("a sentence is a row")
	}
}
