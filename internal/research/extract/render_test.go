package extract

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

func TestRenderSaysWhatKindOfAnswerItIs(t *testing.T) {
	t.Parallel()
	quote := Quote{Title: "On Rivers", Year: 1999, Page: 4, Text: "The Seine flows\nthrough Paris.", Start: 10, End: 41}
	some := Query{terms: []term{{text: "sein", word: "Seine"}}}
	for name, test := range map[string]struct {
		answer   Answer
		searched Searched
		want     string
	}{
		"answered": {
			Answer{Query: some, Outcome: Answered, Quotes: []Quote{quote, {Title: "Notes", Heading: "Cities", Text: "Paris."}}},
			Searched{Count: 3},
			"**Quotes from your sources**\n\n> The Seine flows through Paris. [1]\n>\n> — *On Rivers* (1999), p. 4\n" +
				"\n> Paris. [2]\n>\n> — *Notes*, “Cities”\n",
		},
		"closest": {
			Answer{Query: some, Outcome: Closest, Quotes: []Quote{{Text: "Paris.", Start: 4, End: 10}}, Missing: []string{"mouth"}, Unmatched: []string{"Loire"}},
			Searched{Count: 3, Failed: []string{"arXiv"}},
			"**Closest passages; they may not answer this**\n\n> Paris. [1]\n>\n> — *Untitled*, characters 5–10\n" +
				"\nNot in the closest passage: mouth.\n\nNo source holds: Loire.\n\nCould not be searched: arXiv.\n",
		},
		"nothing": {
			Answer{Query: some, Unmatched: []string{"Seine"}},
			Searched{Sources: []string{"My papers", "Wiki_pages"}},
			"**Nothing in 2 sources matched**\n\nNo source holds: Seine.\n\nSearched: My papers, Wiki\\_pages.\n",
		},
		"nothing together": {
			Answer{Query: some},
			Searched{Count: 1},
			"**Nothing in 1 source matched**\n\nThe sources hold these words, but no passage holds enough of them together.\n",
		},
		"no words": {Answer{}, Searched{Count: 2}, "**The question has no word to search for**\n"},
		"follow-ups": {
			Answer{
				Query:   Query{Text: "When? Seine Paris", Added: []string{"Seine", "Paris"}, terms: some.terms},
				Outcome: Answered, Quotes: []Quote{quote}, FollowUps: []string{"What else do the sources say about Ada Lovelace?"},
			},
			Searched{Count: 1},
			"**Quotes from your sources**\n\n> The Seine flows through Paris. [1]\n>\n> — *On Rivers* (1999), p. 4\n" +
				"\nRead as a follow-up; searched for: When? Seine Paris\n" +
				"\nYou could ask:\n\n- What else do the sources say about Ada Lovelace?\n",
		},
	} {
		if got := Render(test.answer, test.searched); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, test.want)
		}
	}
}

func TestWordsOfSourcesWorkNeitherAsMarkdownNorAsHTML(t *testing.T) {
	t.Parallel()
	for _, hostile := range hostileTexts {
		checkRendered(t, hostile)
	}
}

var hostileTexts = []string{
	"# heading", "- item", "12. item", "3) item", "+ x", "> quoted", "=====", "```\ncode", "| a | b |\n|---|---|", "~~x~~",
	"[a](http://evil.test)", "![a](http://evil.test)", "<img src=x>", "<script>x</script>", "<http://evil.test>", "&lt;b&gt; &#60;",
	"https://evil.test/?q=1 and www.evil.test and me@evil.test, HTTP://evil.test", "[a]: http://evil.test", "*a* _b_ `c` \\", "\u202eabc",
	"ends with \\", "a\\\nb", "x\n\n<div>\n",
}

func FuzzRenderedQuotesAreOnlyText(f *testing.F) {
	for _, seed := range hostileTexts {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, quote string) { checkRendered(t, quote) })
}

// checkRendered fails if a quote becomes anything else than text.
func checkRendered(t *testing.T, quote string) {
	t.Helper()
	answer := Answer{
		Query: Query{Text: quote, Added: []string{quote}}, Outcome: Closest, Missing: []string{quote}, Unmatched: []string{quote},
		Quotes: []Quote{{Title: quote, Heading: quote, Text: quote}}, FollowUps: []string{quote},
	}
	rendered := Render(answer, Searched{Sources: []string{quote}, Failed: []string{quote}})
	checkPlain(t, quote, rendered)
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(rendered)))
	for block := document.FirstChild(); block != nil; block = block.NextSibling() {
		for inner := block.FirstChild(); block.Kind() == ast.KindBlockquote && inner != nil; inner = inner.NextSibling() {
			if inner.Kind() != ast.KindParagraph {
				t.Fatalf("the quote %q becomes a %s: %q", quote, inner.Kind(), rendered)
			}
		}
	}
	if strings.Count(rendered, "\n> ") != 2 {
		t.Fatalf("the quote %q has more lines than one: %q", quote, rendered)
	}
}
