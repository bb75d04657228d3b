package analysis

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"carrel/internal/language"
)

func TestTermsAreFoldedStemmedAndWithoutQuestionWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing":                   {"", nil},
		"punctuation":               {" ?! — … ", nil},
		"case and stems":            {"Indexing INDEXES indexed", []string{"index", "index", "index"}},
		"question words":            {"What is known about the ranking of documents?", []string{"known", "rank", "document"}},
		"digits join letters":       {"word2vec in 2013", []string{"word2vec", "2013"}},
		"apostrophe parts":          {"Zipf's law", []string{"zipf", "s", "law"}},
		"composed accents":          {"Erdős Gödel naïve", []string{"erdo", "godel", "naiv"}},
		"combining accents":         {"Go\u0308del", []string{"godel"}},
		"strokes and ligatures":     {"Łukasiewicz Straße Ægir øre", []string{"lukasiewicz", "strass", "aegir", "ore"}},
		"compatibility letters":     {"ﬁnal ｗｉｄｅ 𝔾raph", []string{"final", "wide", "graph"}},
		"subscripts in formulas":    {"CO₂ and H₂O", []string{"co2", "h2o"}},
		"notes and marks apart":     {"Smith² Carrel™", []string{"smith", "2", "carrel", "tm"}},
		"fraction":                  {"6½", []string{"6", "1", "2"}},
		"dotted capital I":          {"İstanbul", []string{"istanbul"}},
		"soft hyphen":               {"infor\u00admation", []string{"inform"}},
		"zero-width space":          {"data\u200bbase", []string{"data", "base"}},
		"greek":                     {"ΛΌΓΟΣ λόγος", []string{"λογ", "λογ"}},
		"cyrillic":                  {"Поиск поиск", []string{"поиск", "поиск"}},
		"hebrew points":             {"שָׁלוֹם", []string{"שלום"}},
		"arabic vowels and tatweel": {"كِتَاب كـتاب", []string{"كتاب", "كتاب"}},
		"devanagari keeps vowels":   {"हिन्दी", []string{"हिन्दी"}},
		"han bigrams":               {"自然言語", []string{"自然", "然言", "言語"}},
		"han alone":                 {"猫 x", []string{"猫", "x"}},
		"han beside latin":          {"GPU計算機", []string{"gpu", "計算", "算機"}},
		"han broken by a comma":     {"計算、機械", []string{"計算", "機械"}},
		"kana keeps voicing":        {"がか", []string{"がか"}},
		"kana half width":           {"ﾃﾞｰﾀ", []string{"デー", "ータ"}},
		"year in han":               {"二〇二〇", []string{"二〇", "〇二", "二〇"}},
		"hangul":                    {"기계 학습", []string{"기계", "학습"}},
		"hangul decomposed":         {norm.NFD.String("기계 학습"), []string{"기계", "학습"}},
		"thai":                      {"ที่นี่", []string{"ที่นี่"}},
		"invalid bytes part words":  {"a\xffz", []string{"z"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := terms(New(""), test.text); !slices.Equal(got, test.want) {
				t.Errorf("terms of %q are %q; want %q", test.text, got, test.want)
			}
		})
	}
}

func TestTokensPointAtTheirPlaceInTheOriginalText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string // the text of each token
	}{
		{"The ﬁnal Straße", []string{"ﬁnal", "Straße"}},
		{"😀 cafe\u0301s", []string{"cafe\u0301s"}},
		{"x infor\u00admation.", []string{"x", "infor\u00admation"}},
		{"ﾃﾞｰﾀ", []string{"ﾃﾞｰ", "ｰﾀ"}},
		{"学習 ½", []string{"学習", "½", "½"}},
		{"\xff\xfeword", []string{"word"}},
		{norm.NFD.String("학습"), []string{norm.NFD.String("학습")}},
	}
	for _, test := range tests {
		runes := []rune(test.text)
		var got []string
		for token := range New("").Tokens(test.text) {
			if token.Stop {
				continue
			}
			got = append(got, string(runes[token.Start:token.End]))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("Tokens(%q) point at %q; want %q", test.text, got, test.want)
		}
	}
}

func TestAnalyserForgetsRatherThanGrowsWithoutBound(t *testing.T) {
	t.Parallel()
	a := New("")
	for i := range maxKnown + 10 {
		a.look([]byte("w"+strconv.Itoa(i)), nil)
	}
	if a.known.len() > maxKnown {
		t.Errorf("analyser keeps %d words, want at most %d", a.known.len(), maxKnown)
	}
	if got := terms(a, "w1 running"); !slices.Equal(got, []string{"w1", "run"}) {
		t.Errorf("terms after forgetting = %q", got)
	}
}

func TestWordsTooLongForLanguageAreNeitherStemmedNorKept(t *testing.T) {
	t.Parallel()
	a := New("")
	long := strings.Repeat("x", maxKnownWord) + "ing"
	if got := terms(a, long); !slices.Equal(got, []string{long}) || a.known.len() != 0 {
		t.Errorf("terms %q, %d words kept, want the word itself and none", got, a.known.len())
	}
}

// TestEnglishTermsArePorter2 pins a few stems, because the terms of existing indexes must not change.
func TestEnglishTermsArePorter2(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"retrieval": "retriev", "queries": "queri", "generalizations": "general", "skies": "sky", "dying": "die",
		"news":        "news",
		"consistency": "consist", "oscillators": "oscil", "university": "univers", "data": "data", "relational": "relat",
	} {
		if got := terms(New("en"), word); !slices.Equal(got, []string{want}) {
			t.Errorf("%s has the terms %q, want %q", word, got, want)
		}
	}
}

func TestASurfaceIsTheShortestWordOfATerm(t *testing.T) {
	t.Parallel()
	a := New("en")
	terms(a, "retrievals retrieval retrieving indexes index état")
	for term, want := range map[string]string{
		"retriev": "retrieval", "index": "index", "etat": "etat", "unseen": "unseen",
	} {
		if got := a.Surface(term); got != want {
			t.Errorf("surface of %q is %q, want %q", term, got, want)
		}
	}
}

func TestAConsumerMayStopEarly(t *testing.T) {
	t.Parallel()
	a := New("en")
	for _, text := range []string{"one two three", "自然言語", "猫 x 猫 y", "½ ½"} {
		n := 0
		for range a.Tokens(text) {
			if n++; n == 2 {
				break
			}
		}
		for w := range a.Words(text) {
			_ = w
			break
		}
	}
	if got := terms(a, "fresh start"); !slices.Equal(got, []string{"fresh", "start"}) {
		t.Errorf("terms after stopping early are %q", got)
	}
}

func TestKnownWordsCostNoAllocation(t *testing.T) {
	a := New("en")
	count := func(text string) float64 {
		terms(a, text)
		return testing.AllocsPerRun(20, func() {
			for range a.Tokens(text) {
			}
		})
	}
	if one, many := count(abstract), count(strings.Repeat(abstract, 20)); many > one {
		t.Errorf("%v allocations for a text, %v for one twenty times as long", one, many)
	}
}

// terms returns the terms of the text in order, without stop words.
func terms(a *Analyser, text string) []string {
	var out []string
	for token := range a.Tokens(text) {
		if !token.Stop {
			out = append(out, token.Term)
		}
	}
	return out
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		"", "What is BM25?", "cafe\u0301 ﬁn ½ ™ CO₂", "自然言語処理 ﾃﾞｰﾀ", "기계\u1112\u1161", "ﷺ a\u0640b", "\xff\xc3(", "😀\u200d😀",
		"㍿ⅷⅧ", "a\u0300\u0301",
		"İSTANBUL'DA ISI", "Ǿ ǿ i\u0307", "الجامعات والكتاب", "мой ёлка Й", "மொழிகள்", "ς Σ ά",
	} {
		for i := range language.Codes() {
			f.Add(seed, i)
		}
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		codes := language.Codes()
		a := New(codes[uint(at)%uint(len(codes))])
		runes := []rune(text)
		last := Token{}
		for _, token := range slices.Collect(a.Tokens(text)) {
			switch {
			case token.Term == "":
				t.Fatalf("empty term at %d in %q", token.Start, text)
			case !utf8.ValidString(token.Term):
				t.Fatalf("term %q of %q is not UTF-8", token.Term, text)
			case token.Start < 0 || token.Start >= token.End || token.End > len(runes):
				t.Fatalf("token %+v is not within the %d code points of %q", token, len(runes), text)
			case token.Start < last.Start || token.End < last.End:
				t.Fatalf("token %+v comes after %+v in %q", token, last, text)
			}
			// The text of a token alone gives the same term.
			own := string(runes[token.Start:token.End])
			same := func(t Token) bool { return t.Term == token.Term && t.Stop == token.Stop }
			if !slices.ContainsFunc(slices.Collect(a.Tokens(own)), same) {
				t.Fatalf("token %+v of %q points at %q", token, text, own)
			}
			last = token
		}
		checkFolding(t, text)
	})
}

// checkFolding checks that words are folded completely, and to the same form in every language.
func checkFolding(t *testing.T, text string) {
	plain, turkish := New("en"), New("tr")
	var words []string
	for w := range plain.Words(text) {
		words = append(words, string(w.Folded))
		if len(w.Folded) == 0 || w.Start >= w.End {
			t.Fatalf("word %+v of %q", w, text)
		}
	}
	i := 0
	for w := range turkish.Words(text) {
		if i == len(words) || string(w.Folded) != words[i] {
			t.Fatalf("word %d of %q is %q, in another language %q", i, text, w.Folded, words)
		}
		i++
	}
}
