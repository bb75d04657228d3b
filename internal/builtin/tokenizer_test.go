package builtin

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// slowTokenizer is a tokenizer as simple as possible, without tables and without a path for ASCII.
type slowTokenizer map[string]uint16

func newSlowTokenizer(tb testing.TB) slowTokenizer {
	tb.Helper()
	w, err := openWeights(weightsFile)
	if err != nil {
		tb.Fatal(err)
	}
	t := slowTokenizer{}
	for i, entry := range strings.Split(strings.TrimSuffix(w.text("vocab", -1), "\n"), "\n") {
		t[entry] = uint16(i)
	}
	if len(t) != vocabularySize {
		tb.Fatalf("%d entries", len(t))
	}
	return t
}

func (t slowTokenizer) tokens(text string) []uint16 {
	var spaced strings.Builder
	for _, r := range norm.NFD.String(strings.Map(unicode.ToLower, text)) {
		ideograph := unicode.Is(unicode.Unified_Ideograph, r) && (r < 0x2CEB0 || r > 0x2EBEF) && r < 0x30000
		switch {
		case unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar:
			spaced.WriteRune(' ')
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r):
		case unicode.IsPunct(r) || strings.ContainsRune("$+<=>^`|~", r) || ideograph:
			spaced.WriteString(" " + string(r) + " ")
		default:
			spaced.WriteRune(r)
		}
	}
	var ids []uint16
	for _, word := range strings.Split(spaced.String(), " ") {
		ids = append(ids, t.word([]rune(word))...)
	}
	return ids
}

func (t slowTokenizer) word(runes []rune) []uint16 {
	if len(runes) > 100 {
		return []uint16{100}
	}
	var ids []uint16
	mark := ""
	for len(runes) > 0 {
		n := len(runes)
		for ; n > 0; n-- {
			if id, ok := t[mark+string(runes[:n])]; ok {
				ids = append(ids, id)
				break
			}
		}
		if n == 0 {
			return []uint16{100}
		}
		runes, mark = runes[n:], "##"
	}
	return ids
}

var tokenizerSeeds = []string{
	"", " ", "The bridge was opened to traffic on 4 May 1931.", "Naïve Bayes", "back-propagation", "COVID-19: 95%?",
	"[CLS] [SEP] [unused1] [MASK] ##ing ### ##", "don't can’t “quoted” — dash… x²",
	"ΑΒΓΔ ΟΔΟΣ", "Straße İstanbul ı ſ",
	"日本語のテキスト 中文 한국어", "مرحبا بالعالم", "हिन्दी ไทย Việt", "e\u0301 A\u030a ≠ \u212b ﬁ ½ Ⅳ",
	"a\u00adb zero\u200bwidth\ufeff",
	"a\x00b\tc\nd\re\vf\x1fg\x7fh", "\xff\xfe broken \xc3( utf8", strings.Repeat("a", 100), strings.Repeat("a", 101),
	strings.Repeat("é", 100), strings.Repeat("é", 101), "😀 emoji 👩‍💻", "π≈3.14159 α-helix", "𝒜𝓁𝑔 𠀀 豈 㐀",
}

func FuzzTokenizer(f *testing.F) {
	for _, seed := range tokenizerSeeds {
		f.Add(seed)
	}
	f.Add(abstract)
	tok, err := defaultTokenizer()
	if err != nil {
		f.Fatal(err)
	}
	slow := newSlowTokenizer(f)
	known := new(knownWords)
	f.Fuzz(func(t *testing.T, text string) {
		got, want := tok.append(nil, text, nil), slow.tokens(text)
		if !slices.Equal(got, want) {
			t.Errorf("tokens of %q are %v, want %v", text, got, want)
		}
		for range 2 { // the second time, words are known
			if got := tok.append(nil, text, known); !slices.Equal(got, want) {
				t.Errorf("tokens of %q with known words are %v, want %v", text, got, want)
			}
		}
		if i := slices.IndexFunc(got, func(id uint16) bool { return id < 999 && id != tokenUnknown }); i >= 0 {
			t.Errorf("text %q gives special token %d", text, got[i])
		}
	})
}

func TestTokensOfWordsOfTheVocabularyAreTheirEntries(t *testing.T) {
	tok, err := defaultTokenizer()
	if err != nil {
		t.Fatal(err)
	}
	for entry, id := range newSlowTokenizer(t) {
		if id < 999 || strings.HasPrefix(entry, "##") {
			continue
		}
		if got := tok.appendWord(nil, []byte(entry)); !slices.Equal(got, []uint16{id}) {
			t.Errorf("tokens of %q are %v, want %d", entry, got, id)
		}
	}
}
