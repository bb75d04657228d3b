package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// checkPassages checks the invariants of the passages of a text.
func checkPassages(t rapid.TB, text string) []Passage {
	passages := Passages(text)
	runes := []rune(text)
	paged := strings.Contains(text, "\f")
	places := make([]int, 0, len(runes)+1) // byte offsets of the code points
	for i := range text {
		places = append(places, i)
	}
	places = append(places, len(text))
	end, page := 0, 0
	for i, p := range passages {
		if p.Start != end || p.End < p.Start || len(passages) > 1 && p.End == p.Start {
			t.Fatalf("passage %d is %+v, the one before ended at %d", i, p, end)
		}
		if p.Start > 0 && !BetweenCharacters(runes[p.Start-1], runes[p.Start]) {
			t.Fatalf("passage %d begins within a character: %+q", i, runes[max(0, p.Start-3):min(len(runes), p.Start+3)])
		}
		if paged != (p.Page > 0) || p.Page < page {
			t.Fatalf("passage %d is of page %d after %d", i, p.Page, page)
		}
		if own := p.Of(text); own != text[places[p.Start]:places[p.End]] {
			t.Fatalf("passage %d is said to hold %q", i, own)
		}
		if p.Heading != "" && !strings.Contains(text, p.Heading) {
			t.Fatalf("passage %d is below %q, which is not in the text", i, p.Heading)
		}
		if visible := strings.TrimSpace(p.Of(text)); visible == "" && strings.TrimSpace(text) != "" {
			t.Fatalf("passage %d is empty", i)
		}
		end, page = p.End, p.Page
	}
	if end != len(runes) || len(passages) == 0 {
		t.Fatalf("passages end at %d of %d code points", end, len(runes))
	}
	if len(runes) <= wholeLength && len(passages) != 1 {
		t.Fatalf("a text of %d code points has %d passages", len(runes), len(passages))
	}
	return passages
}

func TestAShortTextIsOnePassage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Passage{
		"":                                {},
		" \n ":                            {End: 3},
		"One.\n\nTwo.":                    {End: 10},
		"# Title \nText":                  {End: 13, Heading: "Title"},
		"Text\n# Later":                   {End: 12},
		"one\ftwo":                        {End: 7, Page: 1},
		"\f\f## On Page Three ##\ntext\n": {End: 27, Page: 3, Heading: "On Page Three"},
		"# Part\n\n## Chapter\n\ntext":    {End: 24, Heading: "Chapter"},
		strings.Repeat("# x\n", 700):      {End: 2800, Heading: "x"},
		"\f":                              {End: 1, Page: 1},
	} {
		if got := Passages(text); !slices.Equal(got, []Passage{want}) {
			t.Errorf("Passages(%q) = %+v, want %+v", text, got, want)
		}
	}
	long := strings.Repeat("é", wholeLength)
	if got := Passages(long); len(got) != 1 {
		t.Errorf("%d code points make %d passages", wholeLength, len(got))
	}
	if got := Passages(long + "é"); len(got) != 2 {
		t.Errorf("one more makes %d", len(got))
	}
}

func TestALongTextIsCutWhereItReadsBest(t *testing.T) {
	t.Parallel()
	sentence := "This is a sentence of words. "
	tests := map[string]struct {
		text   string
		before string // end of every passage but the last
		after  string // beginning of every passage but the first
	}{
		"paragraphs": {strings.Repeat(strings.Repeat(sentence, 10)+"End of it.\n\n", 40), "End of it.\n\n", "This"},
		"windows lines": {
			strings.Repeat(strings.Repeat(sentence, 10)+"End of it.\r\n\r\n", 40), "End of it.\r\n\r\n", "This",
		},
		"sentences":        {strings.Repeat(sentence, 400), "words. ", "This"},
		"quoted sentences": {strings.Repeat("He said “no and again no.” ", 400), "no.” ", "He"},
		"words":            {strings.Repeat("word other ", 1000), " ", ""},
		"han sentences":    {strings.Repeat("自然言語処理とは何か（試験。）", 400), "。）", "自"},
		"han characters":   {strings.Repeat("自然言語", 2000), "", ""},
		"arabic":           {strings.Repeat("هل هذا كتاب جديد؟ نعم. ", 400), " ", ""},
		"hindi":            {strings.Repeat("यह हिन्दी भाषा है। ", 500), "है। ", "यह"},
		"endless word":     {strings.Repeat("x", 9000), "", ""},
		"accents":          {strings.Repeat("e\u0301", 5000), "e\u0301", "e\u0301"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passages := checkPassages(t, test.text)
			for i, p := range passages {
				own := p.Of(test.text)
				if i > 0 && !strings.HasPrefix(own, test.after) {
					t.Errorf("passage %d begins with %q", i, own[:20])
				}
				if last := i == len(passages)-1; !last && !strings.HasSuffix(own, test.before) {
					t.Errorf("passage %d ends with %q", i, own[len(own)-20:])
				}
				if length := p.End - p.Start; length < tinyLength || length > maxLength+tinyLength ||
					i < len(passages)-1 && (length < minLength || length > maxLength) {
					t.Errorf("passage %d of %d has %d code points", i, len(passages), length)
				}
			}
		})
	}
}

func TestPagesAndSectionsBeginPassages(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("Some words of text. ", 40) // 800 code points
	text := "# Title\n\n" + body + "\n## Methods\n\n" + body + "\n\f" + body + "\n### Results ###\n" + body +
		"\nShort page.\f# Tiny\nNote.\n## Next\n" + body
	type place struct {
		page    int
		heading string
		begins  string
	}
	var got []place
	for _, p := range checkPassages(t, text) {
		got = append(got, place{p.Page, p.Heading, strings.Fields(p.Of(text))[0]})
	}
	want := []place{
		{1, "Title", "#"}, {1, "Methods", "##"}, {2, "Methods", "Some"}, {2, "Results", "###"}, {3, "Tiny", "#"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("passages at %v, want %v", got, want)
	}
}

func TestLinesThatOnlyLookLikeHeadingsAreText(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("Some words of text. ", 60)
	for name, line := range map[string]string{
		"tag": "#tag", "seven": "####### seven", "empty": "# ", "in a line": "see # here", "code": "```sh\n# comment\n```",
		"wavy code": "~~~\n# comment\n~~~",
		"paragraph": "# " + strings.Repeat("long ", 200),
	} {
		text := body + "\n" + line + "\n" + body + "\n" + body
		for _, p := range checkPassages(t, text) {
			if p.Heading != "" {
				t.Errorf("%s: %q is taken for a heading", name, p.Heading)
			}
		}
	}
	after := "```\n# no\n```\n" + body + "\n# Yes\n" + body + body
	passages := checkPassages(t, after)
	if last := passages[len(passages)-1]; last.Heading != "Yes" {
		t.Errorf("after code: %+v", passages)
	}
}

func TestPassagesKeepTheirInvariants(t *testing.T) {
	t.Parallel()
	parts := []string{
		"word ", "Sentence. ", "\n\n", "\n", "\f", "# Heading\n", "```\n", "自然言語", "。", "e\u0301", "👩\u200d👧", " ", "\u0301",
		strings.Repeat("longword", 100), strings.Repeat(
			"Sentence of a paragraph. ", 30,
		), strings.Repeat(" ", 500), "\u00a0", "\r\n", "\xff",
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 120).Draw(rt, "parts"), "")
		checkPassages(rt, text)
	})
}

func TestPassagesTakeLinearTime(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		"# ", "#", "```", "\u0301", "\f", "x", " ", ".", "# x\n", "\n# " + strings.Repeat("y", 500),
	} {
		text := strings.Repeat(part, 300_000/len(part))
		if n := len(Passages(text)); n > utf8.RuneCountInString(text)/tinyLength+1 {
			t.Errorf("%q repeated makes %d passages", part, n)
		}
	}
}

func FuzzPassages(f *testing.F) {
	f.Add("# Title\n\nText. More text.\f", 300)
	f.Add("自然言語。", 800)
	f.Add("e\u0301\u0301 ", 900)
	f.Add("\xff\xfe```# \r\n", 700)
	f.Fuzz(func(t *testing.T, text string, times int) {
		const enough = 20_000 // bytes for several passages
		checkPassages(t, strings.Repeat(text, int(uint(times)%uint(enough/max(1, len(text))+2))))
	})
}

func ExamplePassages() {
	text := "# Introduction\n\n" + strings.Repeat("Much is known. ", 100) +
		"\n\n# Results\n\n" + strings.Repeat("Little is new. ", 150)
	for _, p := range Passages(text) {
		fmt.Printf("%d to %d: %s\n", p.Start, p.End, p.Heading)
	}
	// Output:
	// 0 to 1518: Introduction
	// 1518 to 3779: Results
}

// A word that is split between passages cannot be found.
func TestEveryWordIsInOnePassage(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "w%d ", i)
		if i%97 == 0 {
			text.WriteString("\n\n")
		}
	}
	var got []string
	for _, p := range Passages(text.String()) {
		got = append(got, strings.FieldsFunc(p.Of(text.String()), unicode.IsSpace)...)
	}
	if want := strings.Fields(text.String()); !slices.Equal(got, want) {
		t.Errorf("%d words in passages, %d in the text", len(got), len(want))
	}
}
