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
	// batchPassages is how many passages the model is shown at once, and evidenceTokens the limit of its reply.
	batchPassages  = 12
	evidenceTokens = 2000
	// evidenceShare is the part of the turn's time that a choice of quotes may take: a third.
	evidenceShare = 3
	// shortestQuote and longestQuote limit a quote in code points. A shorter one could occur anywhere.
	shortestQuote, longestQuote = 12, 1200
	// leastRelevance is the relevance, out of 10, that a quote must have.
	leastRelevance = 3
)

var evidenceSchema = &model.Schema{Name: "evidence", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"evidence":{"type":"array","items":{"type":"object","properties":{` +
	`"passage":{"type":"integer"},"quote":{"type":"string"},"relevance":{"type":"integer"}},` +
	`"required":["passage","quote","relevance"],"additionalProperties":false}}},` +
	`"required":["evidence"],"additionalProperties":false}`)}

// evidence is a verified quote with its relevance.
type evidence struct {
	quote.Quote
	relevance int
}

// chooseEvidence has the model choose quotes from passages, and keeps those that are verbatim.
func (t *turn) chooseEvidence(ctx context.Context, g *gathered, passages []quote.Passage) error {
	if t.slow {
		g.add(t.chooseByWords(passages))
		return nil
	}
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
		answer, err := t.askWithin(ctx, "evidence", label, r, nil, t.limits.Time/evidenceShare)
		if err != nil {
			return err
		}
		if answer.Failure != nil {
			g.failure = answer.Failure
			return nil
		}
		chosen, read := readEvidence(answer.Text, batch)
		if !read {
			// The model did not follow the format or was too slow, so the words of the question choose.
			chosen = t.chooseByWords(batch)
		}
		g.add(chosen)
		if t.slow = answer.Expired; t.slow {
			return nil
		}
		if !g.enough(t.limits) {
			g.timeShort, g.exhausted = answer.MustAnswerNow, t.exhausted()
		}
		if g.timeShort || g.exhausted {
			return nil
		}
	}
	return nil
}

// evidenceText returns the passages and the question for the model.
func (t *turn) evidenceText(g *gathered, passages []quote.Passage) string {
	var b strings.Builder
	for i, p := range passages {
		title := "title: " + p.Title
		if p.Year != 0 {
			title += fmt.Sprintf(" (%d)", p.Year)
		}
		b.WriteString(t.ready.fence(fmt.Sprintf(`kind="passage" number="%d"`, i+1), title+"\n\n"+p.Text))
	}
	b.WriteString(t.questionText(g))
	return b.String()
}

// questionText returns the question, with the model's rewording of it if there is one. The rewording is fenced, because
// the model that wrote it has read untrusted text.
func (t *turn) questionText(g *gathered) string {
	text := "Question: " + t.ready.defuse(t.q.Text)
	if g.part {
		return t.ready.fence(`kind="part of the question to work on now"`, g.question) + text
	}
	if g.question != "" && g.question != t.q.Text {
		text = t.ready.fence(`kind="question in other words"`, g.question) + text
	}
	return text
}

// readEvidence parses the model's choice leniently and keeps the quotes that are verbatim in their passages. It reports
// whether the reply had the form of a choice, which may be empty.
func readEvidence(text string, passages []quote.Passage) (chosen []evidence, read bool) {
	type item struct {
		Passage   lenientInt `json:"passage"`
		Quote     string     `json:"quote"`
		Relevance lenientInt `json:"relevance"`
	}
	var items []item
	for _, raw := range jsonObjects(text) {
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
		// The passage number may be wrong although the words are right, so the other passages are tried as well.
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

// order returns the indexes 0..n-1, with first in front if it is one of them.
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

// quoteOf returns a part of a passage as a quote of its document.
func quoteOf(p quote.Passage, start, end int) quote.Quote {
	return quote.Quote{
		DocumentID: p.DocumentID, SourceID: p.SourceID, Title: p.Title, Year: p.Year, Page: p.Page, Heading: p.Heading,
		Text: slice(p.Text, start, end), Start: p.Start + start, End: p.Start + end,
	}
}

// chooseByWords chooses quotes without a model.
func (t *turn) chooseByWords(passages []quote.Passage) []evidence {
	var out []evidence
	t.withExtractor(func(x *quote.Extractor, q quote.Query) {
		for _, quote := range x.Answer(q, passages, t.statistics()).Quotes {
			out = append(out, evidence{quote, leastRelevance})
		}
	})
	return out
}

// gathered is the state of a turn with a model.
type gathered struct {
	question string // understandable without the conversation
	// part is set if the question is the question of a section.
	part     bool
	lookups  []lookup
	unread   []place
	passages []quote.Passage
	evidence []evidence
	failure  *failure
	// timeShort and exhausted are set if the search ended early for lack of time or tokens.
	timeShort, exhausted bool
}

// next returns up to n passages to read: new ones, then with goBack those skipped in earlier rounds. Only research
// turns go back; for a quick answer a passage that was not among the first is not worth a call.
func (g *gathered) next(fresh []place, n int, goBack bool) []place {
	if goBack {
		fresh = slices.Concat(fresh, g.unread)
	}
	n = min(n, len(fresh))
	g.unread = fresh[n:]
	return fresh[:n]
}

// add adds quotes. Of two overlapping ones it keeps the more relevant.
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

// best returns the n most relevant quotes.
func (g *gathered) best(n int) []quote.Quote {
	sorted := slices.Clone(g.evidence)
	slices.SortStableFunc(sorted, func(a, b evidence) int { return cmp.Compare(b.relevance, a.relevance) })
	out := make([]quote.Quote, min(n, len(sorted)))
	for i := range out {
		out[i] = sorted[i].Quote
	}
	return out
}

// enough reports whether there are enough quotes from enough documents for an answer.
func (g *gathered) enough(l Limits) bool {
	documents := map[string]bool{}
	for _, e := range g.evidence {
		documents[e.DocumentID] = true
	}
	return len(g.evidence) >= l.Enough && len(documents) >= l.EnoughDocuments
}
