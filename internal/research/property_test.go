package research_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// words are the vocabulary of documents and models, including everything that makes quotes hard to find.
var words = []string{
	"bridge", "old", "stone", "built", "in", "1850", "18", "50", "re-\nbuilt", "well-known", "ﬁnal", "naïve",
	"nai\u0308ve", "CO₂", "10²", "“quoted”",
	"it's", "—", "…", "橋は古い。", "мост", "🏗️", "[1]", "[2]", "[1, 3]", "[99]", "(x)", "<b>", "&amp;", "`code`",
	"https://evil.test/x", "![a](https://evil.test/b)",
	"\u00a0", "\u00ad", "\f", "\n\n", "\n# Heading\n", "- item", "two", "3.5%", "NOT", "ANSWERED",
}

func sentences(rt *rapid.T, label string, least int) string {
	var b strings.Builder
	for i, word := range rapid.SliceOfN(rapid.SampledFrom(words), least, 40).Draw(rt, label) {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{" ", " ", " ", "  ", "\n", "", ". ", "! ", "\t"}).Draw(rt, "gap"))
		}
		b.WriteString(word)
	}
	return b.String() + "."
}

// adversary draws the answer of a model: similar to the truth, or arbitrary.
func adversary(rt *rapid.T) func(modelfake.Request) modelfake.Reply {
	return func(r modelfake.Request) modelfake.Reply {
		switch stage(r) {
		case "plan":
			return rapid.SampledFrom(
				[]modelfake.Reply{plans("bridge")(r), plans("stone", "old")(r), modelfake.Say(sentences(rt, "plan", 0))},
			).Draw(rt, "plan")
		case "evidence":
			var list []quote
			for _, p := range passagesOf(r, "passage") {
				runes := []rune(p.text)
				from := rapid.IntRange(0, len(runes)).Draw(rt, "from")
				to := rapid.IntRange(from, len(runes)).Draw(rt, "to")
				text := string(runes[from:to])
				if rapid.Bool().Draw(rt, "changed") {
					text = strings.Replace(text, " ", rapid.SampledFrom([]string{"\n", "  ", "-", "", " not "}).Draw(rt, "change"), 1)
				}
				number := rapid.IntRange(-1, 4).Draw(rt, "number")
				list = append(
					list, quote{number, text, rapid.IntRange(-5, 20).Draw(rt, "relevance")},
					quote{p.number, strings.TrimSpace(p.text), 9},
				)
			}
			b, _ := json.Marshal(map[string]any{"evidence": list}) // never fails
			cut := rapid.IntRange(len(b)/2, len(b)).Draw(rt, "cut")
			return modelfake.Reply{Text: []string{string(b[:cut])}}
		}
		return modelfake.Say(sentences(rt, "answer", 3) + " It is so [1].")
	}
}

func TestEveryQuoteOfEveryReplyStandsInItsDocument(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	plain := w.start(nil)
	var say func(modelfake.Request) modelfake.Reply
	second := newFixture(t)
	second.model = instant(func(r modelfake.Request) modelfake.Reply { return say(r) })
	asked := second.start(nil)
	cited := 0
	rapid.Check(t, func(rt *rapid.T) {
		say = adversary(rt)
		var docs []source.Document
		for i := range rapid.IntRange(1, 4).Draw(rt, "documents") {
			docs = append(docs, source.Document{
				ID: fmt.Sprint("doc_", i), SourceID: "src_l", Title: sentences(rt, "title", 0),
				Text: "The old bridge. " + sentences(rt, "text", 1),
			})
		}
		w.docs, second.docs = docs, docs
		for _, fixture := range []*fixture{w, second} {
			e := plain
			if fixture == second {
				e = asked
			}
			got := fixture.await(e, fixture.submit(e, thread.Question{Text: "Was the old bridge built of stone in 1850?"}))
			if got.task.State != task.StateComplete {
				rt.Fatalf("ended %s: %s", got.task.State, got.task.ErrorDetail)
			}
			if err := fixture.broken(got); err != nil {
				rt.Fatal(err)
			}
			if strings.Contains(got.Text+got.shown, "evil.test") || strings.Contains(got.Text, "![") {
				rt.Fatalf("a way out: %s", got.Text)
			}
			cited += len(got.Citations)
		}
	})
	if cited == 0 {
		t.Error("nothing was cited")
	}
}
