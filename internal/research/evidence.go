package research

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/model"
	"carrel/internal/research/quote"
)

const (
	// batchPassages are shown to the model at once, and evidenceTokens is how long its choice may be.
	batchPassages  = 12
	evidenceTokens = 2000
	// Quotes have at least shortestQuote code points, else they could stand anywhere, and at most longestQuote.
	shortestQuote, longestQuote = 12, 1200
	// leastRelevance is what a quote must have, of 10.
	leastRelevance = 3
)

var evidenceSchema = &model.Schema{Name: "evidence", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"evidence":{"type":"array","items":{"type":"object","properties":{` +
	`"passage":{"type":"integer"},"quote":{"type":"string"},"relevance":{"type":"integer"}},` +
	`"required":["passage","quote","relevance"],"additionalProperties":false}}},` +
	`"required":["evidence"],"additionalProperties":false}`)}

// evidence is a quote that stands in its document, and how much it helps.
type evidence struct {
	quote.Quote
	relevance int
}

// weigh has the model choose quotes of passages, and keeps those that really stand there.
func (t *turn) weigh(ctx context.Context, g *gathered, passages []quote.Passage) error {
	batches := slices.Collect(slices.Chunk(passages, batchPassages))
	for i, batch := range batches {
		label := "Choosing quotes"
		if len(batches) > 1 {
			label = fmt.Sprintf("Choosing quotes, %d of %d", i+1, len(batches))
		}
		r := model.Request{
			System: t.ready.rules(evidencePrompt), Schema: evidenceSchema,
			MaxTokens: evidenceTokens, Temperature: new(float64),
			Messages: []model.Message{{Role: model.RoleUser, Text: t.evidenceText(g, batch)}},
		}
		answer, err := t.ask(ctx, "evidence", label, r, nil)
		if err != nil {
			return err
		}
		if answer.Failure != nil {
			g.failure = answer.Failure
			return nil
		}
		chosen, read := readEvidence(answer.Text, batch)
		if !read {
			// The model does not know the form; the words of the question choose as well.
			chosen = t.chooseByWords(batch)
		}
		g.add(chosen)
		if !g.enough(t.limits) {
			g.late, g.exhausted = answer.Late, t.exhausted()
		}
		if g.late || g.exhausted {
			return nil
		}
	}
	return nil
}

// evidenceText is what the model chooses from.
func (t *turn) evidenceText(g *gathered, passages []quote.Passage) string {
	var b strings.Builder
	for i, p := range passages {
		title := "title: " + p.Title
		if p.Year != 0 {
			title += fmt.Sprintf(" (%d)", p.Year)
		}
		b.WriteString(t.ready.fence(fmt.Sprintf(`kind="passage" number="%d"`, i+1), title+"\n\n"+p.Text))
	}
	b.WriteString(t.asked(g))
	return b.String()
}

// asked is the question, and in other words if it needs them: a model's, which has read what others wrote.
func (t *turn) asked(g *gathered) string {
	text := "Question: " + t.ready.defuse(t.q.Text)
	if g.question != "" && g.question != t.q.Text {
		text = t.ready.fence(`kind="question in other words"`, g.question) + text
	}
	return text
}

// readEvidence reads the choice of the model, whatever form it has, and keeps the quotes that stand in their passages.
// It reports whether there was a choice at all, which may be none.
func readEvidence(text string, passages []quote.Passage) (chosen []evidence, read bool) {
	type item struct {
		Passage   loose  `json:"passage"`
		Quote     string `json:"quote"`
		Relevance loose  `json:"relevance"`
	}
	var items []item
	for _, raw := range objects(text) {
		var all struct {
			Evidence *[]item `json:"evidence"`
		}
		var one item
		switch {
		case json.Unmarshal(raw, &all) == nil && all.Evidence != nil:
			items, read = append(items, *all.Evidence...), true
		case json.Unmarshal(raw, &one) == nil && one.Quote != "":
			items, read = append(items, one), true
		}
	}
	texts := make([]quote.Text, len(passages))
	for i, p := range passages {
		texts[i] = quote.NewText(p.Text)
	}
	for _, it := range items {
		length := utf8.RuneCountInString(it.Quote)
		if it.Relevance < leastRelevance || length < shortestQuote || length > longestQuote {
			continue
		}
		// The number may be wrong where the words are not: then the passage that holds them is the right one.
		named := int(it.Passage) - 1
		for _, at := range order(named, len(passages)) {
			if start, end, ok := texts[at].Find(it.Quote); ok {
				chosen = append(chosen, evidence{quoteOf(passages[at], start, end), min(int(it.Relevance), 10)})
				break
			}
		}
	}
	return chosen, read
}

// order returns the places 0..n-1, the first one first if it is one.
func order(first, n int) []int {
	var out []int
	if first >= 0 && first < n {
		out = append(out, first)
	}
	for i := range n {
		if i != first {
			out = append(out, i)
		}
	}
	return out
}

// quoteOf is a part of a passage as a quote of its document.
func quoteOf(p quote.Passage, start, end int) quote.Quote {
	return quote.Quote{
		DocumentID: p.DocumentID, SourceID: p.SourceID, Title: p.Title, Year: p.Year, Page: p.Page, Heading: p.Heading,
		Text: slice(p.Text, start, end), Start: p.Start + start, End: p.Start + end,
	}
}

// chooseByWords chooses quotes without a model.
func (t *turn) chooseByWords(passages []quote.Passage) []evidence {
	var out []evidence
	t.extract(func(x *quote.Extractor, q quote.Query) {
		for _, quote := range x.Answer(q, passages, t.statistics()).Quotes {
			out = append(out, evidence{quote, leastRelevance})
		}
	})
	return out
}

// gathered is what a turn with a model has found out so far.
type gathered struct {
	question string // in words that need no conversation
	lookups  []lookup
	unread   []place
	passages []quote.Passage
	evidence []evidence
	failure  *failure
	// late and exhausted say that the search ended before there was enough, for the time or the tokens that were left.
	late, exhausted bool
}

// next returns up to n places to read: the new ones, then those that there was no time for before. Only research
// goes back to these; for a quick answer what was not among the first is not worth a call.
func (g *gathered) next(fresh []place, n int, goBack bool) []place {
	if goBack {
		fresh = slices.Concat(fresh, g.unread)
	}
	n = min(n, len(fresh))
	g.unread = fresh[n:]
	return fresh[:n]
}

// add takes quotes to those that are there. Of two that overlap the more relevant one stays.
func (g *gathered) add(chosen []evidence) {
	for _, e := range chosen {
		at := slices.IndexFunc(g.evidence, func(o evidence) bool {
			return o.DocumentID == e.DocumentID && e.Start < o.End && o.Start < e.End
		})
		switch {
		case at < 0:
			g.evidence = append(g.evidence, e)
		case e.relevance > g.evidence[at].relevance:
			g.evidence[at] = e
		}
	}
}

// best returns the n quotes to write from, the most relevant first.
func (g *gathered) best(n int) []quote.Quote {
	sorted := slices.Clone(g.evidence)
	slices.SortStableFunc(sorted, func(a, b evidence) int { return cmp.Compare(b.relevance, a.relevance) })
	out := make([]quote.Quote, min(n, len(sorted)))
	for i := range out {
		out[i] = sorted[i].Quote
	}
	return out
}

// enough reports whether there are as many quotes, of as many documents, as an answer needs.
func (g *gathered) enough(l Limits) bool {
	documents := map[string]bool{}
	for _, e := range g.evidence {
		documents[e.DocumentID] = true
	}
	return len(g.evidence) >= l.Enough && len(documents) >= l.EnoughDocuments
}
