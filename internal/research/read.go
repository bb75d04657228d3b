package research

import (
	"cmp"
	"context"
	"slices"

	"carrel/internal/core"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
	"carrel/internal/task"
)

const (
	// longestRead is how much of a document around the found passage is read, in code points.
	longestRead = 50_000
	// quotePassages is how many passages are read without a model, and quoteDocuments how many documents are read for
	// further passages.
	quotePassages  = 20
	quoteDocuments = 5
)

type reading struct {
	Passages []quote.Passage `json:"passages,omitempty"`
}

// read reads the found documents and returns up to n passages that are most relevant to the question, which is
// understandable without the conversation. Their order is part of the step, so a resumed turn shows the model the same
// passages in the same order.
func (t *turn) read(ctx context.Context, question string, places []place, n int) ([]quote.Passage, error) {
	label := "Reading " + count(len(places), "document")
	out, err := step(ctx, t, "read", label, func(ctx context.Context, _ *task.Step) (reading, error) {
		passages, err := t.passages(ctx, places, len(places), n)
		if err != nil {
			return reading{}, err
		}
		return reading{t.rankPassages(ctx, question, passages)}, nil
	})
	return out.Passages, err
}

// passages returns up to n passages: those that the search found, in its order, then the most relevant others of the
// first documents. Documents deleted since the search are left out.
func (t *turn) passages(ctx context.Context, places []place, through, n int) ([]quote.Passage, error) {
	var first, further []quote.Passage
	for i, p := range places {
		d, err := t.document(ctx, p.DocumentID)
		if core.IsKind(err, core.KindNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		reach := 0
		if i < through {
			reach = t.reach()
		}
		at, others := cut(d, p, reach)
		if at.Text != "" {
			first = append(first, at)
		}
		further = append(further, others...)
	}
	first = first[:min(len(first), n)]
	if room := n - len(first); room > 0 && len(further) > 0 {
		first = append(first, t.best(further, room)...)
	}
	return first, nil
}

// cut returns the found passage of a document, and its neighbours within reach.
func cut(d source.Document, p place, reach int) (at quote.Passage, others []quote.Passage) {
	for _, part := range analysis.Passages(d.Text) {
		here := part.Start <= p.Start && p.Start < part.End || at.Text == "" && part.End >= p.End
		near := reach > 0 && part.End > p.Start-reach && part.Start < p.Start+reach
		if !here && !near {
			continue
		}
		passage := quote.Passage{
			DocumentID: d.ID, SourceID: d.SourceID, Title: d.Title, Year: d.Year, Text: part.Of(d.Text), Start: part.Start,
			Page: part.Page, Heading: part.Heading,
		}
		if here && at.Text == "" {
			passage.Score = p.Score
			at = passage
		} else {
			others = append(others, passage)
		}
	}
	return at, others
}

// best returns the n passages with the highest-ranked sentences.
func (t *turn) best(passages []quote.Passage, n int) []quote.Passage {
	var chosen []int
	t.withExtractor(func(x *quote.Extractor, q quote.Query) {
		for _, r := range x.Rank(q, passages, t.statistics()) {
			if len(chosen) == n {
				return
			}
			if !slices.Contains(chosen, r.Passage) {
				chosen = append(chosen, r.Passage)
			}
		}
	})
	out := make([]quote.Passage, len(chosen))
	for i, at := range chosen {
		out[i] = passages[at]
	}
	return out
}

// withExtractor calls do with an extractor for the language of the found passages and the parsed question: of the
// section of a report, if one is worked on.
func (t *turn) withExtractor(do func(x *quote.Extractor, q quote.Query)) {
	question, before := cmp.Or(t.found.Corrected, t.text), t.ready.before()
	if t.section != nil && t.section.title != "" {
		question, before = t.section.question, quote.Talk{}
	}
	t.extractors.use(t.ready.language(t.found.Places), func(x *quote.Extractor) {
		do(x, x.Ask(question, before, nil))
	})
}

// statistics returns the term statistics of the index, or nil if they are not known.
func (t *turn) statistics() quote.Statistics {
	if t.found.Total == 0 {
		return nil
	}
	return &t.found
}
