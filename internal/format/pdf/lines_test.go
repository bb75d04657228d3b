package pdf

import (
	"strings"
	"testing"
)

// set places a text as glyphs of half an em, starting at a position.
func set(x, y, size float64, text string) []glyph {
	var out []glyph
	for _, r := range text {
		out = append(out, glyph{text: string(r), x: x, y: y, end: x + size/2, size: size})
		x += size / 2
	}
	return out
}

func page1(parts ...[]glyph) string {
	var all []glyph
	for _, p := range parts {
		all = append(all, p...)
	}
	return layOut(all).plain
}

func TestLinesBecomeParagraphs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts [][]glyph
		want  string
	}{
		"nothing":       {nil, ""},
		"only spaces":   {[][]glyph{set(50, 700, 10, "   ")}, ""},
		"one line":      {[][]glyph{set(50, 700, 10, "one line")}, "one line"},
		"usual leading": {[][]glyph{set(50, 700, 10, "a"), set(50, 688, 10, "b"), set(50, 676, 10, "c")}, "a\nb\nc"},
		"an extra gap": {[][]glyph{
			set(50, 700, 10, "a"), set(50, 688, 10, "b"), set(50, 676, 10, "c"), set(50, 652, 10, "d"),
		}, "a\nb\nc\n\nd"},
		"an indented line after a sentence": {[][]glyph{
			set(50, 700, 10, "The end."), set(65, 688, 10, "A new start"), set(50, 676, 10, "goes on"),
		}, "The end.\n\nA new start\ngoes on"},
		"an indented line within a sentence": {[][]glyph{
			set(50, 700, 10, "it goes"), set(65, 688, 10, "on and"), set(50, 676, 10, "on"),
		}, "it goes\non and\non"},
		"a change of size": {[][]glyph{set(50, 700, 14, "Title"), set(50, 686, 10, "text")}, "Title\n\ntext"},
		"a hyphen far from the next line": {[][]glyph{
			set(50, 700, 10, "a"), set(50, 688, 10, "b-"), set(50, 600, 10, "c"), set(50, 588, 10, "d"),
		}, "a\nb-\n\nc\nd"},
		"a soft hyphen":        {[][]glyph{set(50, 700, 10, "hy\u00ad"), set(50, 688, 10, "phen")}, "hyphen"},
		"a Unicode hyphen":     {[][]glyph{set(50, 700, 10, "hy\u2010"), set(50, 688, 10, "phen")}, "hyphen"},
		"a soft hyphen inside": {[][]glyph{set(50, 700, 10, "hy\u00adphen")}, "hyphen"},
		"an em dash":           {[][]glyph{set(50, 700, 10, "aside—"), set(50, 688, 10, "like")}, "aside—\nlike"},
		"a superscript": {[][]glyph{
			set(50, 700, 10, "word"), set(70, 703, 7, "2"), set(78, 700, 10, "next"),
		}, "word2 next"},
		"a cell far to the right": {[][]glyph{
			set(50, 700, 10, "left"), set(200, 700, 10, "right"),
		}, "left right"},
		"control characters": {[][]glyph{set(50, 700, 10, "a\x01b\ufffdc")}, "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := page1(c.parts...); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A drop cap is larger than its line and starts it.
func TestDropCapBelongsToItsLine(t *testing.T) {
	t.Parallel()
	got := page1(set(50, 697, 12, "T"), set(57, 697, 10, "he first line"), set(50, 685, 10, "the second line"))
	if !strings.HasPrefix(got, "The first line\n") {
		t.Errorf("got %q", got)
	}
}

// columnsOf draws n lines in columns that start at the given positions, line by line across the page.
func columnsOf(n int, starts ...float64) [][]glyph {
	var out [][]glyph
	for i := range n {
		for k, x := range starts {
			out = append(out, set(x, 700-12*float64(i), 8, strings.Repeat(string(rune('a'+k)), 20)+string(rune('0'+i%10))))
		}
	}
	return out
}

// inOrder fails unless all lines of a column come before the lines of the next.
func inOrder(t *testing.T, text string, columns int) {
	t.Helper()
	last := -1
	for k := range columns {
		line := strings.Repeat(string(rune('a'+k)), 20)
		first := strings.Index(text, line)
		if first < last {
			t.Errorf("column %d starts before the end of column %d: %q", k, k-1, text)
		}
		last = strings.LastIndex(text, line)
	}
}

func TestTwoAndThreeColumns(t *testing.T) {
	t.Parallel()
	inOrder(t, page1(columnsOf(10, 50, 300)...), 2)
	inOrder(t, page1(columnsOf(10, 40, 160, 280, 400)...), 4)
}

// A wide figure caption divides the page: both columns above it come before both columns below it.
func TestWideLinesDivideColumnsIntoBands(t *testing.T) {
	t.Parallel()
	above, below := columnsOf(8, 50, 300), columnsOf(8, 50, 300)
	caption := set(50, 590, 8, strings.Repeat("wide caption ", 8))
	for _, part := range below {
		for i := range part {
			part[i].y -= 150
			part[i].text = strings.ToUpper(part[i].text)
		}
	}
	text := page1(append(append(above, caption), below...)...)
	order := []string{"aaaa", "bbbb", "wide caption", "AAAA", "BBBB"}
	for i := 1; i < len(order); i++ {
		if strings.LastIndex(text, order[i-1]) > strings.Index(text, order[i]) {
			t.Errorf("%s does not come before %s:\n%s", order[i-1], order[i], text)
		}
	}
}

func TestFewOrShortLinesAreNoColumns(t *testing.T) {
	t.Parallel()
	few := page1(columnsOf(4, 50, 300)...)
	if !strings.HasPrefix(few, strings.Repeat("a", 20)+"0 "+strings.Repeat("b", 20)+"0") {
		t.Errorf("four lines are read as columns: %q", few)
	}
	var table [][]glyph
	for i := range 12 {
		y := 700 - 12*float64(i)
		table = append(table, set(50, y, 8, "name"), set(200, y, 8, "12.5"), set(350, y, 8, "yes"))
	}
	if got := page1(table...); got != strings.TrimSuffix(strings.Repeat("name 12.5 yes\n", 12), "\n") {
		t.Errorf("a table is read as %q", got)
	}
}

func TestHeadingOfAPage(t *testing.T) {
	t.Parallel()
	body := [][]glyph{
		set(50, 640, 10, "text of the page"), set(50, 628, 10, "and more of it"), set(50, 616, 10, "and so on"),
		set(50, 400, 10, "the end of it"),
	}
	for name, c := range map[string]struct {
		title [][]glyph
		want  string
	}{
		"one line": {[][]glyph{set(50, 700, 18, "A Title")}, "A Title"},
		"two lines": {[][]glyph{
			set(50, 720, 18, "A Title"), set(50, 700, 18, "in Two Lines"),
		}, "A Title in Two Lines"},
		"no larger text":        {[][]glyph{set(50, 700, 10, "A Title")}, ""},
		"a large page number":   {[][]glyph{set(50, 700, 30, "7"), set(50, 670, 18, "A Title")}, "A Title"},
		"large text at the end": {[][]glyph{set(50, 300, 18, "Large footer")}, ""},
		"a ligature":            {[][]glyph{set(50, 700, 18, "The ﬁrst")}, "The first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []glyph
			for _, part := range append(c.title, body...) {
				all = append(all, part...)
			}
			if got := layOut(all).title; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAccentsAreComposedOnlyOverLetters(t *testing.T) {
	t.Parallel()
	at := func(x float64, text string) glyph { return glyph{text: text, x: x, end: x + 5, size: 10} }
	for _, c := range []struct {
		glyphs []glyph
		want   string
	}{
		{[]glyph{at(0, "¨"), at(0, "u")}, "ü"},
		{[]glyph{at(0, "u"), at(0, "¨")}, "ü"},
		{[]glyph{at(0, "´"), at(0, "ı")}, "í"},
		{[]glyph{at(0, "ˇ"), at(0, "ȷ")}, "ǰ"},
		{[]glyph{at(0, "¸"), at(0, "c")}, "ç"},
		{[]glyph{at(0, "´"), at(5, "e")}, "´e"}, // beside each other
		{[]glyph{at(0, "´"), at(0, "1")}, "´1"}, // not a letter
		{[]glyph{at(0, "´")}, "´"},              // nothing to put it on
		{[]glyph{at(0, "a"), at(0, "b")}, "ab"}, // two letters
		{[]glyph{at(0, "a"), at(20, "˚"), at(20, "a")}, "aå"},
		{[]glyph{{text: "´", y: 90, end: 5, size: 10}, at(0, "e")}, "´e"}, // on another line
	} {
		var got strings.Builder
		for _, g := range compose(c.glyphs) {
			got.WriteString(g.text)
		}
		if got.String() != c.want {
			t.Errorf("got %q, want %q", got.String(), c.want)
		}
	}
}

func TestMatricesCombine(t *testing.T) {
	t.Parallel()
	move, double := matrix{1, 0, 0, 1, 10, 20}, matrix{2, 0, 0, 2, 0, 0}
	if got := move.times(double); got != (matrix{2, 0, 0, 2, 20, 40}) {
		t.Errorf("move, then double: %v", got)
	}
	if got := double.times(move); got != (matrix{2, 0, 0, 2, 10, 20}) {
		t.Errorf("double, then move: %v", got)
	}
	if got := move.times(identity); got != move {
		t.Errorf("move, then nothing: %v", got)
	}
}
