package quote

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestFindReturnsTheOffsetsOfAQuote(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, quote, want string }{
		{"The cat sat on the mat.", "cat sat", "cat sat"},
		{"The cat sat.", "The cat sat.", "The cat sat."},
		{"The  cat\n\tsat.", "cat sat", "cat\n\tsat"},
		{"a b", " a  b\n", "a b"},
		{"The ﬁnal eﬀect", "final effect", "ﬁnal eﬀect"},
		{"the final", "the ﬁnal", "the final"},
		{"well‐known – and — so", "well-known - and - so", "well‐known – and — so"},
		{"a word—another one", "word - another", ""},
		{"a word—another one", "word--another", "word—another"},
		{"a word---another one", "word—another", "word---another"},
		{"He said “yes” and ‘no’.", `"yes" and 'no'`, "“yes” and ‘no’"},
		{"He said ``yes'' twice.", "“yes” twice", "``yes'' twice"},
		{"«Oui», dit-il", `"Oui", dit-il`, "«Oui», dit-il"},
		{"an exam\u00adple here", "example here", "exam\u00adple here"},
		{"an exam\u00ad\nple here", "example here", "exam\u00ad\nple here"},
		{"an exam-\nple here", "example here", "exam-\nple here"},
		{"an exam-\nple here", "exam- ple here", "exam-\nple here"},
		{"a well-\nknown fact", "well-known fact", "well-\nknown fact"},
		{"a well-known fact", "well-\nknown fact", "well-known fact"},
		{"a well-known fact", "wellknown fact", ""},
		{"pre- and postwar", "pre- and", "pre- and"},
		{"pre- and postwar", "pre-", "pre-"},
		{"pre- and postwar", "pre-and", ""},
		{"pre- and postwar", "preand", ""},
		{"we resign now", "re-sign now", ""},
		{"we re-sign now", "resign now", ""},
		{"COVID-\n19 is here", "COVID-19 is", "COVID-\n19 is"},
		{"in 1990–2000 it", "1990-2000", "1990–2000"},
		{"in 1990–2000 it", "2000 it", "2000 it"},
		{"−5 degrees", "-5 degrees", "−5 degrees"},
		{"cafe\u0301 noir", "café noir", "cafe\u0301 noir"},
		{"café noir", "cafe\u0301 noir", "café noir"},
		{"café noir", "cafe noir", ""},
		{"Ｆｕｌｌ　ｗｉｄｔｈ", "Full width", "Ｆｕｌｌ　ｗｉｄｔｈ"},
		{"wait… what", "wait... what", "wait… what"},
		{"CO₂ rose, m² fell", "CO2 rose, m2", "CO₂ rose, m²"},
		{"10² is", "102 is", ""},
		{"10² is", "10", ""},
		{"10²5 is", "5 is", ""},
		{"a fact² is", "a fact", "a fact"},
		{"CO₂ is", "CO", ""},
		{"The Cat", "the cat", ""},
		{"a concatenation", "cat", ""},
		{"cats sat", "cat", ""},
		{"2.5 percent", "5 percent", ""},
		{"1,500 men", "500 men", ""},
		{"1,500 men", "1", ""},
		{"rose to 2.5", "rose to 2", ""},
		{"rose to 2.", "rose to 2", "rose to 2"},
		{".5 percent", "5 percent", ""},
		{"-5 percent", "5 percent", ""},
		{"½ cup", "1", ""},
		{"1/2 cup", "2 cup", ""},
		{"a non-linear effect", "linear effect", ""},
		{"a non-linear effect", "a non", ""},
		{"see https://evil.test/x and y", "evil.test/x and y", ""},
		{"see https://evil.test/x and y", "://evil.test/x and y", ""},
		{"see https://evil.test/x and y", "/evil.test/x and y", ""},
		{"see https://evil.test/x and y", "and y", "and y"},
		{"see https://evil.test/x and y", "https://evil.test/x and", "https://evil.test/x and"},
		{"word—linear effect", "linear effect", "linear effect"},
		{"he can't go", "he can", ""},
		{"Zipf's law", "Zipf", "Zipf"},
		{"l'homme est", "homme est", "homme est"},
		{"自然言語処理は", "言語処理", "言語処理"},
		{"zero\u200bwidth and \ufefftext", "zerowidth and text", "zero\u200bwidth and \ufefftext"},
		{"cat cats cat", "cats cat", "cats cat"},
		{"recats cats", "cats", "cats"},
		{"", "x", ""},
		{"x", "", ""},
		{"x . y", ".", ""},
		{"x - y", "-", ""},
		{"x", "x y", ""},
		{"\xff bad \xfe bytes", "bad", "bad"},
		{"x\x00y z", "y z", "y z"},
	} {
		start, end, ok := Find(test.text, test.quote)
		got := ""
		if ok {
			got = string([]rune(test.text)[start:end])
		}
		if got != test.want || ok != (test.want != "") {
			t.Errorf("Find(%q, %q) is %q, %v; want %q", test.text, test.quote, got, ok, test.want)
		}
	}
}

func TestATextIsReadOnceForManyQuotes(t *testing.T) {
	t.Parallel()
	text := NewText("One sentence here. Another sentence there.")
	for quote, at := range map[string]int{"One sentence": 0, "sentence there": 27} {
		if start, _, ok := text.Find(quote); !ok || start != at {
			t.Errorf("%q is at %d, %v; want %d", quote, start, ok, at)
		}
	}
}

// words is the vocabulary of random texts: no two are similar, so that a quote has one position.
var words = []string{
	"alpha", "Bravo", "well-known", "café", "ﬁnal", "naïve", "42", "3.14", "1,500", "don't", "CO₂", "state-of-the-art",
	"“quoted”",
	"‘single’", "Straße", "данные", "एक", "end.", "(aside)", "U.S.", "x²", "–", "1990–2000", "per\u00adhaps", "…",
	"naïve;", "5%", "e\u0301tude",
}

// texts draws a text as its words and the white space between them.
func texts(t *rapid.T) []string {
	n := rapid.IntRange(3, 40).Draw(t, "words")
	out := make([]string, n)
	for i := range out {
		out[i] = rapid.SampledFrom(words).Draw(t, "word")
		if rapid.IntRange(0, 3).Draw(t, "numbered") == 0 {
			out[i] = out[i] + "n" + strings.Repeat("o", i%7) + string(rune('a'+i%26))
		}
	}
	return out
}

// mangle writes a quote in another, equivalent form.
func mangle(t *rapid.T, quote string) string {
	if rapid.Bool().Draw(t, "compatibility") {
		quote = norm.NFKC.String(strings.NewReplacer("²", "2").Replace(quote))
	}
	if rapid.Bool().Draw(t, "decomposed") {
		quote = norm.NFD.String(quote)
	}
	if rapid.Bool().Draw(t, "dashes") {
		quote = strings.NewReplacer("–", "—", "-", "‐").Replace(quote)
	}
	if rapid.Bool().Draw(t, "quotation marks") {
		quote = strings.NewReplacer("“", `"`, "”", "„", "‘", "'", "’", "'", "'", "’").Replace(quote)
	}
	if rapid.Bool().Draw(t, "ellipsis") {
		quote = strings.ReplaceAll(quote, "…", "...")
	}
	if rapid.Bool().Draw(t, "white space") {
		quote = "\n " + strings.ReplaceAll(quote, " ", " \u00a0\n") + "\t"
	}
	if rapid.Bool().Draw(t, "soft hyphens") {
		quote = strings.NewReplacer("al", "a\u00adl", "na", "n\u00ada").Replace(quote)
	}
	if rapid.Bool().Draw(t, "broken lines") {
		quote = strings.NewReplacer("Bravo", "Bra-\nvo", "Straße", "Stra-\n ße").Replace(quote)
	}
	return quote
}

func TestEveryMangledPartOfATextIsFoundAtItsPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := texts(t)
		text := strings.Join(parts, " ")
		from := rapid.IntRange(0, len(parts)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(parts)).Draw(t, "to")
		quote := strings.Join(parts[from:to], " ")
		if !strings.ContainsFunc(quote, isWordRune) {
			t.Skip()
		}
		start, end, ok := Find(text, mangle(t, quote))
		if !ok {
			t.Fatalf("%q is not found in %q", quote, text)
		}
		// The same words may occur earlier, or the quote may lack a note.
		before := strings.Join(parts[:from], " ")
		if place := utf8.RuneCountInString(before); start > place+1 {
			t.Fatalf("%q is found at %d of %q, not at %d", quote, start, text, place)
		}
		found := string([]rune(text)[start:end])
		if norm.NFKC.String(found) != norm.NFKC.String(quote) {
			t.Fatalf("found %q instead of %q", found, quote)
		}
	})
}

func TestNoQuoteWithAChangedLetterOrDigitIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := texts(t)
		text := strings.Join(parts, " ")
		from := rapid.IntRange(0, len(parts)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(parts)).Draw(t, "to")
		quote := []rune(strings.Join(parts[from:to], " "))
		var places []int
		for i, r := range quote {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				places = append(places, i)
			}
		}
		if len(places) == 0 {
			t.Skip()
		}
		at := rapid.SampledFrom(places).Draw(t, "changed")
		// Neither occurs in any of the words.
		if unicode.IsDigit(quote[at]) {
			quote[at] = '7'
		} else {
			quote[at] = rapid.SampledFrom([]rune{'Z', 'K', '7', 'ж'}).Draw(t, "into")
		}
		if start, end, ok := Find(text, mangle(t, string(quote))); ok {
			t.Fatalf("%q is found in %q at %d–%d", string(quote), text, start, end)
		}
	})
}

func FuzzFindReturnsPlacesOfTheText(f *testing.F) {
	f.Add("The ﬁnal exam-\nple “here”", "final example \"here\"")
	f.Add("½ 10² CO₂ \u00ad-\n-- ''x``", "1 10 CO2 -x")
	f.Add("\xff\xfe a\u0301- b", "á-")
	f.Add("a\u0301-\u0301b", "á-")
	f.Add("ﷺ…‥㍿ a-\u00ad\n\u0301b", "a-b")
	f.Fuzz(func(t *testing.T, text, quote string) {
		start, end, ok := Find(text, quote)
		if !ok {
			return
		}
		if start < 0 || start >= end || end > len([]rune(text)) {
			t.Fatalf("Find(%q, %q) is %d, %d", text, quote, start, end)
		}
		// A found text is found again by its own words.
		if _, _, ok := Find(text, slice(text, start, end)); !ok {
			t.Fatalf("%q of %q is not found", slice(text, start, end), text)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	english := strings.Repeat("The quick brown fox jumps over the lazy dog; a well-known exam-\nple of “text”. ", 650)
	for name, test := range map[string]struct{ text, quote string }{
		"last words":   {english + "and then the end came quickly", "and then the end came quickly"},
		"not there":    {english, "the lazy cat; a well-known example"},
		"german":       {strings.Repeat("Die schöne Straße führt über die Brücke. ", 1250) + "Das Ende.", "Das Ende."},
		"chinese":      {strings.Repeat("自然语言处理是人工智能的一个分支。", 3000) + "完了", "完了"},
		"near matches": {strings.Repeat("a a a a a-a ", 4200), strings.Repeat("a a a a a-a ", 40) + "b"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(test.text)))
			for b.Loop() {
				Find(test.text, test.quote)
			}
		})
	}
}
