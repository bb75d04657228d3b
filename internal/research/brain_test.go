package research_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"carrel/internal/testkit/modelfake"
)

// brain defines the answers of a fake model for each stage; nil fields get a sensible default.
type brain struct {
	plan, evidence, answer, repair   func(modelfake.Request) modelfake.Reply
	judge, reply, transform, summary func(modelfake.Request) modelfake.Reply
	outline, section, disagree       func(modelfake.Request) modelfake.Reply
}

// stage returns the stage of a request.
func stage(r modelfake.Request) string {
	switch {
	case strings.HasPrefix(r.System, "You plan"):
		return "plan"
	case strings.HasPrefix(r.System, "You choose"):
		return "evidence"
	case strings.HasPrefix(r.System, "You judge"):
		return "judge"
	case strings.HasPrefix(r.System, "You correct"):
		return "repair"
	case strings.HasPrefix(r.System, "You are an assistant"):
		return "reply"
	case strings.HasPrefix(r.System, "You turn earlier answers"):
		return "transform"
	case strings.HasPrefix(r.System, "You summarize"):
		return "summary"
	case strings.HasPrefix(r.System, "You outline"):
		return "outline"
	case strings.HasPrefix(r.System, "You write one section"):
		return "section"
	case strings.HasPrefix(r.System, "You find out where"):
		return "disagree"
	}
	return "answer"
}

func (b brain) answerTo(r modelfake.Request) modelfake.Reply {
	switch stage(r) {
	case "plan":
		return or(b.plan, plans())(r)
	case "evidence":
		return or(b.evidence, firstSentences)(r)
	case "repair":
		return or(b.repair, says("It is so [1]."))(r)
	case "judge":
		return or(b.judge, says(`{"sentences":[]}`))(r)
	case "reply":
		return or(b.reply, says("Hello. Ask me about the library."))(r)
	case "transform":
		return or(b.transform, says("In short, it is so [1]."))(r)
	case "summary":
		return or(b.summary, says("The user asked about bridges."))(r)
	case "outline":
		return or(b.outline, says(`{"sections":[]}`))(r)
	case "section":
		return or(b.section, quoteBack)(r)
	case "disagree":
		return or(b.disagree, says(`{"disagreements":[]}`))(r)
	}
	return or(b.answer, quoteBack)(r)
}

// quoteBack answers with the first two quotes.
func quoteBack(r modelfake.Request) modelfake.Reply {
	var sentences []string
	for _, q := range passagesOf(r, "quote") {
		sentences = append(sentences, fmt.Sprintf("%s [%d].", strings.TrimRight(q.text, ". "), q.number))
	}
	return modelfake.Say(strings.Join(sentences[:min(2, len(sentences))], " "))
}

func or(f, d func(modelfake.Request) modelfake.Reply) func(modelfake.Request) modelfake.Reply {
	if f != nil {
		return f
	}
	return d
}

// says answers with a text.
func says(text string) func(modelfake.Request) modelfake.Reply {
	return func(modelfake.Request) modelfake.Reply { return modelfake.Say(text) }
}

// plans answers with queries.
func plans(queries ...string) func(modelfake.Request) modelfake.Reply {
	type query struct {
		Query                    string `json:"query"`
		Source, FromYear, ToYear int
	}
	out := struct {
		Question string  `json:"question"`
		Queries  []query `json:"queries"`
	}{Queries: []query{}}
	for _, q := range queries {
		out.Queries = append(out.Queries, query{Query: q})
	}
	b, _ := json.Marshal(out) // never fails
	return says(string(b))
}

type quote struct {
	Passage   int    `json:"passage"`
	Quote     string `json:"quote"`
	Relevance int    `json:"relevance"`
}

// quotes answers with evidence.
func quotes(list ...quote) func(modelfake.Request) modelfake.Reply {
	if list == nil {
		list = []quote{}
	}
	b, _ := json.Marshal(map[string][]quote{"evidence": list}) // never fails
	return says(string(b))
}

var (
	fenced = regexp.MustCompile(
		`(?s)<(text-[A-Z2-7]+) kind="(\w+)[^"]*"(?: number="(\d+)")?>\n(.*?)\n</(text-[A-Z2-7]+)>`,
	)
	sentence = regexp.MustCompile(`(?s)^.*?[.!?](\s|$)`)
)

// passage is a passage in a request.
type passage struct {
	number int
	text   string
}

// passagesOf returns the fenced texts of a kind in a request.
func passagesOf(r modelfake.Request, kind string) []passage {
	var out []passage
	for _, m := range fenced.FindAllStringSubmatch(r.Last(), -1) {
		if m[2] != kind {
			continue
		}
		_, text, _ := strings.Cut(m[4], "\n\n")
		n, _ := strconv.Atoi(m[3]) // 0 without a number
		out = append(out, passage{n, text})
	}
	return out
}

// firstSentences chooses the first sentence of every passage.
func firstSentences(r modelfake.Request) modelfake.Reply {
	var list []quote
	for _, p := range passagesOf(r, "passage") {
		list = append(list, quote{p.number, strings.TrimSpace(sentence.FindString(p.text)), 10 - p.number})
	}
	return quotes(list...)(r)
}
