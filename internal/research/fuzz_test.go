package research

import (
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

// FuzzMessages checks the rules that read messages: they never panic, and an action names words of the message.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		"hello", "Save the second paper to my favourites", "Forget that I like tea. When?", "Translate it into German",
		"merk dir, dass x",
		"both", "[99999999999999999999]", "remember: \x00", "the last", "»save« ‘it’ to my favourites",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		guessKind(text, true)
		position(text)
		for _, i := range must(chosen(text, 3)) {
			if i < 0 || i > 2 {
				t.Errorf("chose %d", i)
			}
		}
		requests, _ := requestsIn(text)
		for _, r := range requests {
			joined := strings.Join(strings.Fields(text), " ")
			if r.Words == "" || !strings.Contains(joined, r.Words) {
				t.Errorf("%q asks for %q", text, r)
			}
		}
	})
}

func must(at []int, _ bool) []int { return at }

// FuzzReplies checks the parsers of model replies: plans name known kinds, and a verdict changes only an open sentence.
func FuzzReplies(f *testing.F) {
	for _, s := range []string{
		`{"kinds":["sources","conversation"],"question":"q","queries":["a"],"answers":["1",2.5],"actions":[{"kind":"save","words":"x"}]}`,
		`{"kind":"action, sources","queries":[{"query":1}]}`, `{"sentences":[{"n":1,"verdict":"says","words":"was built"}]}`,
		`{"n":"1","verdict":"contradicts","words":"was built"}`, `{"actions":[1,null,"x"],"kinds":{"a":1},"question":"q"}`,
	} {
		f.Add(s)
	}
	quotes := []numbered{{Quote: quote.Quote{Text: "The bridge was built in 1850."}, n: 1}}
	f.Fuzz(func(t *testing.T, text string) {
		p := readPlan(text, nil)
		if len(p.kinds) > len(allKinds) || !utf8.ValidString(p.question) && utf8.ValidString(text) {
			t.Errorf("planned %+v", p)
		}
		for _, v := range readVerdicts(text) {
			refuted := thread.Check{State: thread.Contradicted, By: thread.ByRules}
			s := openSentence{Check: &refuted, keys: []int{1}}
			if v.apply(s, quotes, ""); refuted.State != thread.Contradicted || refuted.By != thread.ByRules {
				t.Errorf("%+v overruled the rules", v)
			}
			open := thread.Check{State: thread.Cited}
			s.Check = &open
			if v.apply(s, quotes, ""); open.State == thread.Supported && v.quoteWith([]int{1}, quotes) == 0 {
				t.Errorf("%+v supported a sentence", v)
			}
		}
	})
}

// FuzzOutlines checks the parsers of outlines and disagreements: titles and questions are plain text on one line, and a
// disagreement cites two quotes of different documents.
func FuzzOutlines(f *testing.F) {
	for _, s := range []string{
		`{"sections":[{"title":"Stone","question":"q","queries":["a"]},"Masons",{"heading":1,"queries":"x"}]}`,
		"# [x](https://evil.test) ![y](//evil.test) <img src=x> `c` \u202e", `{"title":"](x)[","question":"![\\](x)"}`,
		`{"disagreements":[{"about":"[x](y)","a":"1","b":2,"how":"One says 1850. The other says 1860 [3]."}]}`,
		"<<a>b>[[a](b)](c)", "| a |\n|---|", "https:/[]/evil.test www[].evil.test", "&#91;a&#93;(b)",
	} {
		f.Add(s)
	}
	quotes := []numbered{
		{Quote: quote.Quote{DocumentID: "a", Text: "The bridge was built in 1850."}, n: 1},
		{Quote: quote.Quote{DocumentID: "b", Text: "The bridge was built in 1860."}, n: 2},
		{Quote: quote.Quote{DocumentID: "b", Text: "It is of stone."}, n: 3},
	}
	f.Fuzz(func(t *testing.T, text string) {
		sections := append(readOutline(text), plannedSection{Title: plainTitle(text), Question: plainLine(text)})
		if len(sections) > maxSections+1 {
			t.Errorf("%d sections", len(sections))
		}
		for _, s := range sections {
			for _, plain := range []string{s.Title, s.Question} {
				if strings.ContainsAny(plain, "[]<>`*|\\\n\r\x00") || quote.Plain(plain, nil) != plain {
					t.Errorf("%q is not plain", plain)
				}
			}
			if strings.HasPrefix(s.Title, "#") {
				t.Errorf("the title %q is a heading", s.Title)
			}
			if utf8.RuneCountInString(s.Title) > longestTitle+1 {
				t.Errorf("the title %q is too long", s.Title)
			}
		}
		for _, d := range readDisagreements(text) {
			line := d.render(quotes)
			if line == "" {
				continue
			}
			if strings.Contains(line, "\n") || d.A == d.B || d.A+d.B == 5 || !strings.HasSuffix(line, "].") {
				t.Errorf("%+v is %q", d, line)
			}
		}
	})
}
