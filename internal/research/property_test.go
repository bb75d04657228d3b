package research_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	quotepkg "carrel/internal/research/quote"
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

func sentences(draw *rand.Rand, least int) string {
	gaps := []string{" ", " ", " ", "  ", "\n", "", ". ", "! ", "\t"}
	var b strings.Builder
	for i := range least + draw.IntN(41-least) {
		if i > 0 {
			b.WriteString(gaps[draw.IntN(len(gaps))])
		}
		b.WriteString(words[draw.IntN(len(words))])
	}
	return b.String() + "."
}

// adversary returns a model whose answers are similar to the truth, or arbitrary.
func adversary(draw *rand.Rand) func(modelfake.Request) modelfake.Reply {
	changes := []string{"\n", "  ", "-", "", " not "}
	return func(r modelfake.Request) modelfake.Reply {
		switch stage(r) {
		case "plan":
			return []modelfake.Reply{
				plans("bridge")(r), plans("stone", "old")(r), modelfake.Say(sentences(draw, 0)),
			}[draw.IntN(3)]
		case "evidence":
			var list []quote
			for _, p := range passagesOf(r, "passage") {
				runes := []rune(p.text)
				from := draw.IntN(len(runes) + 1)
				text := string(runes[from : from+draw.IntN(len(runes)-from+1)])
				if draw.IntN(2) == 0 {
					text = strings.Replace(text, " ", changes[draw.IntN(len(changes))], 1)
				}
				list = append(
					list, quote{draw.IntN(6) - 1, text, draw.IntN(26) - 5},
					quote{p.number, strings.TrimSpace(p.text), 9},
				)
			}
			b, _ := json.Marshal(map[string]any{"evidence": list}) // never fails
			return modelfake.Reply{Text: []string{string(b[:len(b)-draw.IntN(len(b)/2+1)])}}
		}
		return modelfake.Say(sentences(draw, 3) + " It is so [1].")
	}
}

// anyRanker returns arbitrary logits.
type anyRanker struct{}

func (anyRanker) Most() int { return 14 }

func (anyRanker) Similarities(_ string, texts []string) []float64 {
	out := make([]float64, len(texts))
	for i := range out {
		out[i] = 2*rand.Float64() - 1
	}
	return out
}

func (anyRanker) Rank(_ string, candidates []quotepkg.Candidate) []float64 {
	if rand.IntN(4) == 0 {
		return nil
	}
	out := make([]float64, len(candidates))
	for i := range out {
		out[i] = 20*rand.Float64() - 10
	}
	return out
}

func TestEveryQuoteOfEveryReplyStandsInItsDocument(t *testing.T) {
	t.Parallel()
	ranker := func(context.Context) quotepkg.Ranker { return anyRanker{} }
	w := newFixture(t)
	w.ranker = ranker
	plain := w.start(nil)
	var say func(modelfake.Request) modelfake.Reply
	second := newFixture(t)
	second.ranker = ranker
	second.model = instant(func(r modelfake.Request) modelfake.Reply { return say(r) })
	asked := second.start(nil)
	cited := 0
	rapid.Check(t, func(rt *rapid.T) {
		// The model is called in other goroutines, where rapid cannot draw.
		seed := rapid.Uint64().Draw(rt, "seed")
		draw := rand.New(rand.NewPCG(seed, 1))
		say = adversary(rand.New(rand.NewPCG(seed, 2)))
		var docs []source.Document
		for i := range 1 + draw.IntN(4) {
			docs = append(docs, source.Document{
				ID: fmt.Sprint("doc_", i), SourceID: "src_l", Title: sentences(draw, 0),
				Text: "The old bridge. " + sentences(draw, 1),
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
