package query

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"carrel/internal/search/analysis"
)

// show returns the snippet of a text of one passage.
func show(queryText string, width int, title, text string) (string, []Span) {
	a := analysis.New("")
	h := NewHighlighter(a, Parse(a, queryText), width)
	snippet, spans, _ := h.Snippet(title, text, analysis.Passage{End: utf8.RuneCountInString(text)})
	return snippet, spans
}

// marked returns the highlighted parts of a snippet.
func marked(snippet string, spans []Span) []string {
	runes := []rune(snippet)
	var out []string
	for _, s := range spans {
		out = append(out, string(runes[s.Start:s.End]))
	}
	return out
}

func TestHighlightsPointAtTheWordsThatMatch(t *testing.T) {
	t.Parallel()
	decomposed := norm.NFD.String("학습")
	tests := map[string]struct {
		query, text string
		want        []string
	}{
		"stems":                {"index", "Indexes, indexing & INDEXED", []string{"Indexes", "indexing", "INDEXED"}},
		"no question words":    {"what is the index", "the index is here", []string{"index"}},
		"only question words":  {"the who", "by The Who", []string{"The", "Who"}},
		"accent in text":       {"cafe", "Le café de Flore", []string{"café"}},
		"accent in query":      {"café", "the cafe", []string{"cafe"}},
		"combining accent":     {"cafe", "un cafe\u0301, noir", []string{"cafe\u0301"}},
		"lengthening fold":     {"strasse ende", "Straße ﬁn Ende", []string{"Straße", "Ende"}},
		"shortening fold":      {"end", "e\u0301e\u0301 e\u0301nd end", []string{"e\u0301nd", "end"}},
		"after astral":         {"graph", "😀😀 𝔾raph theory 😀 graphs", []string{"𝔾raph", "graphs"}},
		"after folded spaces":  {"fox", "  a\t\n\n quick \u2003 fox ", []string{"fox"}},
		"after invalid bytes":  {"fox", "\xff\xfe fox", []string{"fox"}},
		"hebrew":               {"שלום", "אמר שָׁלוֹם לעולם", []string{"שָׁלוֹם"}},
		"arabic with controls": {"كتاب", "\u202bهذا كِتَاب جديد\u202c", []string{"كِتَاب"}},
		"han":                  {"自然言語", "機械学習と自然言語処理", []string{"自然言語"}},
		"kana half width":      {"データ", "この ﾃﾞｰﾀ は", []string{"ﾃﾞｰﾀ"}},
		"hangul decomposed":    {"학습", "기계 " + decomposed + "!", []string{decomposed}},
		"nothing":              {"zebra", "a quick fox", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snippet, spans := show(test.query, 0, "title", test.text)
			if got := marked(snippet, spans); !slices.Equal(got, test.want) {
				t.Errorf("marked %q in %q, want %q", got, snippet, test.want)
			}
		})
	}
}

func TestVietnameseWordsAreHighlightedWithoutAccents(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		"thư viện": {"thư", "viện"}, "thu vien": {"thư", "viện", "thu"}, "thứ": nil,
	} {
		a := analysis.New("vi")
		const text = "Một thư viện vào mùa thu"
		shown, spans, _ := NewHighlighter(a, Parse(a, query), 0).Snippet("", text, analysis.Passages(text)[0])
		if got := marked(shown, spans); !slices.Equal(got, want) {
			t.Errorf("%q marks %q, want %q", query, got, want)
		}
	}
}

func TestASnippetIsTheDensestPartCutBetweenWords(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("lorem ipsum dolor ", 40)
	text := "ranking " + filler + "retrieval by ranking, " + filler + "retrieval retrieval " + filler
	snippet, spans := show("ranking retrieval", 0, "", text)

	if got := marked(snippet, spans); !slices.Equal(got, []string{"retrieval", "ranking"}) {
		t.Errorf("marked %q in %q", got, snippet)
	}
	if n := utf8.RuneCountInString(snippet); n < SnippetWidth-20 || n > SnippetWidth+2 {
		t.Errorf("snippet has %d code points, want about %d", n, SnippetWidth)
	}
	inner, cutBefore := strings.CutPrefix(snippet, "…")
	inner, cutAfter := strings.CutSuffix(inner, "…")
	if !cutBefore || !cutAfter || !strings.Contains(text, " "+inner+" ") {
		t.Errorf("snippet %q is not cut between words, with an ellipsis on both sides", snippet)
	}
	before := strings.Index(inner, "retrieval")
	if after := len(inner) - before; before < SnippetWidth/3 || after < SnippetWidth/3 {
		t.Errorf("match is not in the middle of %q", inner)
	}
}

func TestASnippetWithoutAMatchIsTheStartOfTheText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		title, text, want string
	}{
		"short text":       {"Title", " one\n\ttwo ", "one two"},
		"long text":        {"Title", "one two three four five", "one two three…"},
		"no text":          {"The  Title", " \n ", "The Title"},
		"nothing":          {"", "", ""},
		"direction set":    {"", "\u202eone\u202c \u2067two\u2069", "one two"},
		"one endless word": {"", strings.Repeat("x", 99), strings.Repeat("x", 16) + "…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snippet, spans := show("zebra", 16, test.title, test.text)
			if snippet != test.want || spans != nil {
				t.Errorf("snippet %q %v, want %q", snippet, spans, test.want)
			}
		})
	}
}

func TestASnippetOfTheTitleIsHighlightedToo(t *testing.T) {
	t.Parallel()
	snippet, spans := show("foxes", 0, "Red fox", "")
	if got := marked(snippet, spans); !slices.Equal(got, []string{"fox"}) {
		t.Errorf("marked %q in %q", got, snippet)
	}
}

func TestAMatchLongerThanTheSnippetIsShownInPart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 2)
	snippet, spans := show(long, 10, "", "before "+long+" after")
	if want := "…abcdefghij…"; snippet != want || !slices.Equal(spans, []Span{{1, 11}}) {
		t.Errorf("snippet %q %v, want %q", snippet, spans, want)
	}
}

func TestTextIsNeverCutWithinACharacter(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"combining accents": "e\u0301",
		"emoji family":      "👩\u200d👩\u200d👧",
		"skin tone":         "👋🏽",
		"hangul decomposed": norm.NFD.String("한"),
		"kana voicing":      "か\u3099",
		"devanagari":        "कि",
	}
	for name, character := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for width := 24; width < 36; width++ {
				text := strings.Repeat(character, 50) + " fox " + strings.Repeat(character, 50)
				snippet, spans := show("fox", width, "", text)
				if got := marked(snippet, spans); !slices.Equal(got, []string{"fox"}) {
					t.Fatalf("marked %q in %q", got, snippet)
				}
				before, after, _ := strings.Cut(strings.Trim(snippet, "…"), "fox")
				for _, side := range []string{strings.TrimSpace(before), strings.TrimSpace(after)} {
					if strings.ReplaceAll(side, character, "") != "" {
						t.Errorf("width %d: %+q is not whole characters", width, side)
					}
				}
			}
		})
	}
}

func TestExcludedWordsAreNotHighlighted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		query, text string
		want        []string
	}{
		"excluded word":      {"fox -red", "the red fox", []string{"fox"}},
		"excluded phrase":    {`fox -"red sky"`, "red fox in the sky", []string{"fox"}},
		"words of a phrase":  {`"art of war"`, "the art of war; arts", []string{"art", "war", "arts"}},
		"words of a field":   {"author:knuth programming", "Knuth on programs", []string{"Knuth", "programs"}},
		"phrase of stops":    {`"the who" tour`, "the tour of The Who", []string{"tour"}},
		"only such a phrase": {`"the who"`, "a tour of The Who", []string{"The", "Who"}},
	}
	for name, test := range tests {
		snippet, spans := show(test.query, 0, "", test.text)
		if got := marked(snippet, spans); !slices.Equal(got, test.want) {
			t.Errorf("%s: marked %q in %q, want %q", name, got, snippet, test.want)
		}
	}
}

func TestASnippetIsOfItsPassage(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("The first part is of foxes. ", 80) + "\n\n" + strings.Repeat(
		"Der zweite handelt von Füchsen. ", 80,
	)
	a := analysis.New("")
	h := NewHighlighter(a, Parse(a, "fuchsen foxes"), 0)
	passages := analysis.Passages(text)
	if len(passages) < 2 {
		t.Fatalf("passages %v", passages)
	}
	for i, want := range map[int]string{0: "foxes", len(passages) - 1: "Füchsen"} {
		snippet, spans, _ := h.Snippet("title", text, passages[i])
		if got := marked(snippet, spans); len(got) == 0 || slices.ContainsFunc(got, func(s string) bool {
			return s != want
		}) {
			t.Errorf("passage %d: marked %q in %q", i, got, snippet)
		}
	}
	if snippet, _, _ := h.Snippet("title", text, analysis.Passage{}); snippet != "title" {
		t.Errorf("an empty passage shows %q, want the title", snippet)
	}
}

func TestASnippetIsOnThePageOfItsFirstMatch(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing to be seen here. ", 20)
	long := strings.Repeat(filler, 4)
	for name, c := range map[string]struct {
		text string
		want []int // for each passage
	}{
		"a short text":                     {"one\fneedle\fthree", []int{2}},
		"pages without words":              {"\f\f one \f\n\f needle", []int{5}},
		"the first page":                   {"a needle\fand more", []int{1}},
		"two of them":                      {"a\fneedle\fneedle", []int{2}},
		"no match":                         {"\f\fone\ftwo", []int{3}},
		"no pages":                         {"a needle", []int{0}},
		"a heading on a page of its own":   {"# Needles\n\f" + filler, []int{1}},
		"the end of a page before another": {long + "\f" + long + "\n\nTail.\fA needle.\n\n" + long, []int{1, 2, 3}},
	} {
		a := analysis.New("")
		h := NewHighlighter(a, Parse(a, "needle"), 0)
		var got []int
		for _, p := range analysis.Passages(c.text) {
			_, _, page := h.Snippet("", c.text, p)
			got = append(got, page)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the snippets are on pages %v, want %v", name, got, c.want)
		}
	}
}

func TestTextsOfEveryScriptAreHighlighted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ language, query, text, want string }{
		"latin":      {"fr", "etude generale", "Une étude très générale", "étude générale"},
		"german":     {"de", "haus", "Die alten Häuser", "Häuser"},
		"turkish":    {"tr", "ışık", "IŞIKLAR ve gölge", "IŞIKLAR"},
		"greek":      {"", "φιλοσοφία", "Η ΦΙΛΟΣΟΦΊΑ του Πλάτωνα", "ΦΙΛΟΣΟΦΊΑ"},
		"cyrillic":   {"ru", "актер библиотека", "Актёры в библиотеке", "Актёры библиотеке"},
		"hebrew":     {"", "שלום", "אמר שָׁלוֹם לעולם", "שָׁלוֹם"},
		"arabic":     {"ar", "جامعة", "\u202bهذه الجامعات والجامعات\u202c", "الجامعات والجامعات"},
		"devanagari": {"", "हिन्दी", "यह हिन्दी भाषा है", "हिन्दी"},
		"tamil":      {"ta", "மொழி", "தமிழ் மொழிகள்", "மொழிகள்"},
		"thai":       {"", "ห้องสมุด", "ไปห้องสมุดวันนี้", "ห้องสมุด"},
		"han":        {"", "自然言語", "機械学習と自然言語処理", "自然言語"},
		"kana":       {"", "データ", "この ﾃﾞｰﾀ は", "ﾃﾞｰﾀ"},
		"hangul":     {"", "학습", "기계 학습을 위한", "학습"},
	}
	for name, test := range tests {
		a := analysis.New(test.language)
		h := NewHighlighter(a, Parse(a, test.query), 0)
		snippet, spans, _ := h.Snippet("", test.text, analysis.Passages(test.text)[0])
		if got := strings.Join(marked(snippet, spans), " "); got != test.want {
			t.Errorf("%s: marked %q in %q, want %q", name, got, snippet, test.want)
		}
	}
}

// checkSnippet checks the invariants of a snippet.
func checkSnippet(t rapid.TB, queryText, title, text string, p analysis.Passage, width int) {
	a := analysis.New("")
	h := NewHighlighter(a, Parse(a, queryText), width)
	snippet, spans, _ := h.Snippet(title, text, p)
	text = p.Of(text)
	line := flatten(text)
	if line == "" {
		line = flatten(title)
	}

	length := utf8.RuneCountInString(snippet)
	if length > h.width+2 || !utf8.ValidString(snippet) || strings.ContainsFunc(snippet, unicode.IsControl) {
		t.Fatalf("snippet %q of %q at width %d", snippet, text, h.width)
	}
	if strings.Contains(snippet, "  ") || snippet != strings.TrimSpace(snippet) {
		t.Fatalf("snippet %q has stray spaces", snippet)
	}
	if inner := strings.TrimSuffix(strings.TrimPrefix(snippet, ellipsis), ellipsis); !strings.Contains(line, inner) {
		t.Fatalf("snippet %q is no part of %q", snippet, line)
	}
	if (snippet == "") != (line == "") {
		t.Fatalf("snippet %q of %q", snippet, line)
	}
	end := 0
	for _, s := range spans {
		if s.Start < end || s.End <= s.Start || s.End > length {
			t.Fatalf("highlights %v of %q are not in order and within", spans, snippet)
		}
		end = s.End
	}
	if (len(spans) > 0) != (len(h.find(line)) > 0) {
		t.Fatalf("highlights %v in %q of %q for %q", spans, snippet, line, queryText)
	}
	// Flattening must not change the terms.
	if !slices.Equal(termsOf(a, flatten(text)), termsOf(a, text)) {
		t.Fatalf("flattening %q changed its terms", text)
	}
}

func termsOf(a *analysis.Analyser, text string) []string {
	var out []string
	for token := range a.Tokens(text) {
		out = append(out, token.Term)
	}
	return out
}

func TestSnippetsAreSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := phrase(rt, "text", 60)
		p := analysis.Passage{Start: rapid.IntRange(0, 40).Draw(rt, "start")}
		p.End = p.Start + rapid.IntRange(0, 400).Draw(rt, "length")
		checkSnippet(rt, phrase(rt, "query", 5), phrase(rt, "title", 4), text, p, rapid.IntRange(1, 80).Draw(rt, "width"))
	})
}

// phrase draws up to n words of a small vocabulary, so that queries match texts.
func phrase(t *rapid.T, label string, n int) string {
	vocabulary := []string{
		"fox", "foxes", "red", "the", "who", "sky", "Erdős", "cafe\u0301", "自然言語", "言語", "ﬁn", "½", "👩\u200d👧", "שָׁלוֹם",
		"कि", "-", "\n", "\"", "author:", ".",
	}
	return strings.Join(
		rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, n).Draw(t, label),
		rapid.SampledFrom([]string{" ", " ", ""}).Draw(t, label+" gap"),
	)
}

func FuzzSnippet(f *testing.F) {
	f.Add("fox", "title", "the quick brown fox jumps over the lazy dog", 12, 0, 40)
	f.Add("自然言語", "", "機械学習と自然言語処理の研究と自然言語", 5, 3, 12)
	f.Add("cafe", "", "e\u0301\u0301\u0301\u0301 cafe\u0301\u0301\u0301\u0301", 3, 0, 99)
	f.Add("the who", "\x00", "\xff\u202eהכ\u202c the\twho", 4, 1, 99)
	f.Add("½ ﷺ", "", "½ﷺ½", 1, 0, 3)
	f.Add("x", "", "👩\u200dx\u0301\u0301", 1, 0, 9)
	f.Fuzz(func(t *testing.T, queryText, title, text string, width, start, length int) {
		p := analysis.Passage{Start: start % 1000}
		p.End = p.Start + length%1000
		checkSnippet(t, queryText, title, text, p, width%500)
	})
}

func BenchmarkSnippet(b *testing.B) {
	text := strings.Repeat(
		"We present a method for ranking the passages of long documents by how well they answer a question. ", 2000,
	)
	passages := analysis.Passages(text)
	a := analysis.New("")
	h := NewHighlighter(a, Parse(a, "ranking passages of documents"), 0)
	for name, p := range map[string]analysis.Passage{"first": passages[0], "last": passages[len(passages)-1]} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Snippet("", text, p)
			}
		})
	}
}

func TestSentenceIsShownAndHighlighted(t *testing.T) {
	t.Parallel()
	text := "The first sentence says nothing, e.g. this. (It is the second one that matters!) A third one follows here. " +
		"短い文です。そして、もう一つの長い文がここにありますので、分けてください。"
	want := []string{
		"The first sentence says nothing, e.g. this.", "(It is the second one that matters!)", "A third one follows here.",
		"短い文です。そして、もう一つの長い文がここにありますので、分けてください。",
	}
	a := analysis.New("")
	h := NewHighlighter(a, Parse(a, "query"), 80)
	for i := range want {
		var got []string
		whole := analysis.Passage{End: utf8.RuneCountInString(text)}
		shown, spans, _ := h.Sentence("Title", text, whole, func(s []string) int {
			got = s
			return i
		})
		if !slices.Equal(got, want) {
			t.Fatalf("sentences %q, want %q", got, want)
		}
		if lit := marked(shown, spans); len(lit) != 1 || lit[0] != want[i] {
			t.Errorf("highlights %q of %q, want %q", lit, shown, want[i])
		}
	}
	none := func([]string) int { return -1 }
	if shown, spans, _ := h.Sentence("Title", "", analysis.Passage{}, none); shown != "Title" || spans != nil {
		t.Errorf("a document without text is shown as %q with %v", shown, spans)
	}
}

func TestSentencesCoverTheLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := []rune(flatten(rapid.StringMatching(`[a-z .!?)。"]{0,80}`).Draw(t, "line")))
		at := 0
		for _, s := range sentences(line) {
			if s.Start >= s.End || strings.TrimSpace(string(line[at:s.Start])) != "" {
				t.Fatalf("sentences %v of %q", sentences(line), string(line))
			}
			at = s.End
		}
		if strings.TrimSpace(string(line[at:])) != "" {
			t.Fatalf("sentences %v of %q", sentences(line), string(line))
		}
	})
}
