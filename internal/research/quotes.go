package research

import (
	"context"

	"carrel/internal/research/quote"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// searchResult is the result of a search without a model. Searching and reading share a step, because no paid call
// has to be journaled in between.
type searchResult struct {
	Found    found           `json:"found"`
	Passages []quote.Passage `json:"passages,omitempty"`
}

// answerWithQuotes answers with quotes from the sources, without a model.
func (t *turn) answerWithQuotes(ctx context.Context) (thread.Answer, error) {
	from, to := t.query.Years()
	lookups := []lookup{{Text: t.query.Text, FromYear: from, ToYear: to}}
	label := searchLabel(t.ready.Sources, lookups)
	out, err := step(ctx, t, "search", label, func(ctx context.Context, _ *task.Step) (searchResult, error) {
		var out searchResult
		var err error
		if t.query.Form() == quote.List && t.query.Words() == 0 {
			out.Found.Searches = 1
			out.Passages, err = t.heads(ctx, from, to, quotePassages)
			return out, err
		}
		if out.Found, err = t.find(ctx, lookups); err != nil {
			return out, err
		}
		t.found = out.Found // its language decides how passages are analysed
		documents, passages := t.quoteLimits()
		out.Passages, err = t.passages(ctx, out.Found.Places, documents, passages)
		if out.Found.Corrected != "" && !t.correctionHelps(out.Passages) {
			out.Found.Corrected = ""
		}
		return out, err
	})
	if err != nil {
		return thread.Answer{}, err
	}
	t.found = out.Found
	if t.found.Failed > 0 {
		return thread.Answer{}, t.found.Error.err() // it was the only search
	}
	return t.quote(ctx, out.Passages, nil, quoteReason{})
}

// heads returns the first passages of documents that were published in the given years.
func (t *turn) heads(ctx context.Context, from, to, n int) ([]quote.Passage, error) {
	if t.ofDocuments() {
		results, err := t.lookUpInDocuments(ctx, []lookup{{}})
		if err != nil {
			return nil, err
		}
		years := search.Query{FromYear: from, ToYear: to}
		var documents []source.Document
		for _, c := range results[0].found.Cards {
			if years.Covers(c.Year) {
				documents = append(documents, c.Document)
			}
		}
		return firstPassages(documents[:min(len(documents), n)]), nil
	}
	documents, err := t.Documents.Heads(ctx, t.q.UserID, t.q.AgentID, t.q.Scope.SourceIDs, from, to, n)
	if err != nil {
		return nil, err
	}
	return firstPassages(documents), nil
}

func firstPassages(documents []source.Document) []quote.Passage {
	var out []quote.Passage
	for _, d := range documents {
		if first, _ := cut(d, place{}, 0); first.Text != "" {
			out = append(out, first)
		}
	}
	return out
}

// correctionHelps reports whether the passages answer the corrected question better than the original. A word that no
// source holds need not be wrong, and the nearest known word need not be the intended one.
func (t *turn) correctionHelps(passages []quote.Passage) bool {
	var corrected, asked quote.Answer
	words := 0
	t.withExtractor(func(x *quote.Extractor, q quote.Query) {
		corrected = x.Answer(q, passages, t.statistics())
		own := x.Ask(t.text, t.ready.before(), nil)
		asked, words = x.Answer(own, passages, t.statistics()), own.Words()
	})
	if words > 1 && len(asked.Unmatched) == words {
		return false // it is unlikely that all of several words are misspelt
	}
	return corrected.Coverage > asked.Coverage
}

// mostQuotes is how many quotes are shown when the model chose them but did not write an answer.
const mostQuotes = 8

// quoteReason explains an answer of quotes.
type quoteReason struct {
	// Failure is the failure of the model, or the limit that was reached.
	Failure *failure
	// Unanswered is set if the model found no answer; the quotes are then only the closest passages.
	Unanswered bool
	// Shown is the stream position before readers were shown text that this answer replaces; empty if none was.
	Shown string
}

// quote answers with the chosen quotes, or with the best of the passages. Without any quote the answer says so, unless
// the model failed or the spending cap was reached, which is then returned as an error. A model that was too slow is no
// error.
func (t *turn) quote(
	ctx context.Context, passages []quote.Passage, chosen []quote.Quote, w quoteReason,
) (thread.Answer, error) {
	type written struct {
		Answer thread.Answer `json:"answer"`
		Empty  bool          `json:"empty,omitempty"`
	}
	out, err := step(ctx, t, "quote", "Choosing quotes", func(ctx context.Context, _ *task.Step) (written, error) {
		var answer quote.Answer
		t.withExtractor(func(x *quote.Extractor, q quote.Query) {
			answer = x.Ranked(t.ranker(ctx)).Answer(q, passages, t.statistics())
		})
		if len(chosen) > 0 {
			answer.Outcome, answer.Form, answer.Quotes = quote.Answered, quote.Quotes, chosen[:min(len(chosen), mostQuotes)]
		}
		if w.Unanswered {
			answer.Outcome = min(answer.Outcome, quote.Closest)
		}
		survey := t.surveyOf(&answer, passages)
		citations, err := t.cite(ctx, number(answer.Quotes))
		if err != nil {
			return written{}, err
		}
		subjects := make([]string, len(citations))
		for i := range citations {
			subjects[i] = answer.Quotes[citations[i].N-1].Subject
			citations[i].N = i + 1 // renumber, because some quotes may be missing
		}
		if len(citations) == 0 {
			answer.Outcome = quote.Nothing
		}
		if len(citations) == 0 && w.Failure != nil && !w.Failure.isTimeout() {
			return written{Empty: true}, nil
		}
		p := replyWriter{say: t.run.Delta, Phrases: t.phrases()}
		t.discard(w.Shown)
		if survey != nil && len(citations) > 0 {
			t.writeSurvey(&p, survey, answer, citations)
		} else {
			t.write(&p, answer, citations, subjects, w)
		}
		reply := thread.Answer{
			Text: p.String(), Citations: citations, Checks: p.checks, FollowUps: answer.FollowUps,
			Partial: w.Failure != nil && w.Failure.isLimit(),
		}
		if len(reply.Checks) == 0 {
			reply.Checks = wholeText(reply.Text)
		}
		return written{Answer: reply}, nil
	})
	if err != nil {
		return thread.Answer{}, err
	}
	if out.Empty {
		return thread.Answer{}, w.Failure.err()
	}
	out.Answer.Query = t.searchedText()
	return out.Answer, nil
}

// discard makes stream readers drop everything after a position, if there is one.
func (t *turn) discard(mark string) {
	if at, err := task.ParsePosition(mark); mark != "" && err == nil {
		t.run.Discard(at)
	}
}

// searchedText returns the text that was searched, if it is not the question itself.
func (t *turn) searchedText() string {
	switch {
	case t.found.Corrected != "":
		return t.found.Corrected
	case len(t.query.Added) > 0:
		return t.query.Text
	}
	return ""
}
