package search

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// marked returns what stands at the highlights of a snippet.
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
			snippet, spans := NewHighlighter(test.query, 0).Snippet("title", test.text)
			if got := marked(snippet, spans); !slices.Equal(got, test.want) {
				t.Errorf("marked %q in %q, want %q", got, snippet, test.want)
			}
		})
	}
}

func TestASnippetIsTheDensestPartCutBetweenWords(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("lorem ipsum dolor ", 40)
	text := "ranking " + filler + "retrieval by ranking, " + filler + "retrieval retrieval " + filler
	snippet, spans := NewHighlighter("ranking retrieval", 0).Snippet("", text)

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
			snippet, spans := NewHighlighter("zebra", 16).Snippet(test.title, test.text)
			if snippet != test.want || spans != nil {
				t.Errorf("snippet %q %v, want %q", snippet, spans, test.want)
			}
		})
	}
}

func TestASnippetOfTheTitleIsHighlightedToo(t *testing.T) {
	t.Parallel()
	snippet, spans := NewHighlighter("foxes", 0).Snippet("Red fox", "")
	if got := marked(snippet, spans); !slices.Equal(got, []string{"fox"}) {
		t.Errorf("marked %q in %q", got, snippet)
	}
}

func TestAMatchLongerThanTheSnippetIsShownInPart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 2)
	snippet, spans := NewHighlighter(long, 10).Snippet("", "before "+long+" after")
	if want := "…abcdefghij…"; snippet != want || !slices.Equal(spans, []Span{{1, 11}}) {
		t.Errorf("snippet %q %v, want %q", snippet, spans, want)
	}
}

func TestACutNeverPartsWhatReadsAsOneCharacter(t *testing.T) {
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
				snippet, spans := NewHighlighter("fox", width).Snippet("", text)
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

// checkSnippet fails unless the snippet of the text is sound, whatever was given.
func checkSnippet(t rapid.TB, queryText, title, text string, width int) {
	h := NewHighlighter(queryText, width)
	snippet, spans := h.Snippet(title, text)
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
	// What is shown on one line has the words that were ranked.
	if a := NewAnalyser(); !slices.Equal(a.Terms(flatten(text)), a.Terms(text)) {
		t.Fatalf("flattening %q changed its terms", text)
	}
}

func TestSnippetsAreSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		checkSnippet(rt, phrase(rt, "query", 5), phrase(rt, "title", 4), phrase(rt, "text", 60), rapid.IntRange(1, 80).Draw(rt, "width"))
	})
}

func FuzzSnippet(f *testing.F) {
	f.Add("fox", "title", "the quick brown fox jumps over the lazy dog", 12)
	f.Add("自然言語", "", "機械学習と自然言語処理の研究と自然言語", 5)
	f.Add("cafe", "", "e\u0301\u0301\u0301\u0301 cafe\u0301\u0301\u0301\u0301", 3)
	f.Add("the who", "\x00", "\xff\u202eהכ\u202c the\twho", 4)
	f.Add("½ ﷺ", "", "½ﷺ½", 1)
	f.Fuzz(checkFuzzed)
}

func checkFuzzed(t *testing.T, queryText, title, text string, width int) {
	checkSnippet(t, queryText, title, text, width%500)
}
