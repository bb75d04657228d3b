package research

import (
	"context"

	"carrel/internal/research/quote"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// searchedAndRead is a search without a model, which reads in the same step: nothing was paid for that a step of its
// own would have to save.
type searchedAndRead struct {
	Found    found           `json:"found"`
	Passages []quote.Passage `json:"passages,omitempty"`
}

// answerWithQuotes answers without a model, in the words of the sources.
func (t *turn) answerWithQuotes(ctx context.Context) (thread.Answer, error) {
	lookups := []lookup{{Text: t.query.Text}}
	out, err := step(ctx, t, "search", searchLabel(t.ready.Sources, lookups), func(ctx context.Context, _ *task.Step) (searchedAndRead, error) {
		var out searchedAndRead
		var err error
		if out.Found, err = t.find(ctx, lookups); err != nil {
			return out, err
		}
		t.found = out.Found // the language of what was found decides how it is read
		out.Passages, err = t.passages(ctx, out.Found.Places, quoteDocuments, quotePassages)
		if out.Found.Corrected != "" && !t.misspelt(out.Passages) {
			out.Found.Corrected = ""
		}
		return out, err
	})
	if err != nil {
		return thread.Answer{}, err
	}
	t.found = out.Found
	if t.found.Failed > 0 {
		return thread.Answer{}, t.found.Error.err() // the only search
	}
	return t.quote(ctx, out.Passages, nil, why{})
}

// misspelt reports whether the passages answer the corrected question better than the one that was asked. A word that
// no source holds need not be wrong, and the nearest one that a source does hold need not be meant.
func (t *turn) misspelt(passages []quote.Passage) bool {
	var corrected, asked quote.Answer
	words := 0
	t.extract(func(x *quote.Extractor, q quote.Query) {
		corrected = x.Answer(q, passages, t.statistics())
		own := x.Ask(t.text, t.ready.before(), nil)
		asked, words = x.Answer(own, passages, t.statistics()), own.Words()
	})
	if words > 1 && len(asked.Unmatched) == words {
		return false // of several words one may be misspelt, but hardly all
	}
	return corrected.Coverage > asked.Coverage
}

// mostQuotes are shown where a model chose them and did not get to write.
const mostQuotes = 8

// why says what is particular about an answer of quotes.
type why struct {
	// Failure is of the model that should have answered, or the limit that was reached.
	Failure *failure
	// Unanswered says that the model found no answer in what was read: then the quotes are at best close to one.
	Unanswered bool
	// Shown is where the stream stood before readers were shown another text, which the reply takes the place of; empty
	// means that they have seen none.
	Shown string
}

// quote answers with quotes: those that were chosen before, or the best of the passages. Where there are none, it says
// so; if a failure is to blame, that is the outcome.
func (t *turn) quote(ctx context.Context, passages []quote.Passage, chosen []quote.Quote, w why) (thread.Answer, error) {
	type written struct {
		Answer thread.Answer `json:"answer"`
		Empty  bool          `json:"empty,omitempty"`
	}
	out, err := step(ctx, t, "quote", "Choosing quotes", func(ctx context.Context, _ *task.Step) (written, error) {
		var answer quote.Answer
		t.extract(func(x *quote.Extractor, q quote.Query) { answer = x.Answer(q, passages, t.statistics()) })
		if len(chosen) > 0 {
			answer.Outcome, answer.Quotes = quote.Answered, chosen[:min(len(chosen), mostQuotes)]
		}
		if w.Unanswered {
			answer.Outcome = min(answer.Outcome, quote.Closest)
		}
		citations, err := t.cite(ctx, answer.Quotes)
		if err != nil {
			return written{}, err
		}
		for i := range citations {
			citations[i].N = i + 1 // without the gaps of those that were left out
		}
		if len(citations) == 0 {
			answer.Outcome = quote.Nothing
		}
		if len(citations) == 0 && w.Failure != nil {
			return written{Empty: true}, nil
		}
		p := page{say: t.run.Delta, Phrases: t.phrases()}
		t.discard(w.Shown)
		t.write(&p, answer, citations, w)
		reply := thread.Answer{
			Text: p.String(), Citations: citations, Checks: p.checks, FollowUps: answer.FollowUps,
			Partial: w.Failure != nil && w.Failure.early(),
		}
		return written{Answer: reply}, nil
	})
	if err != nil {
		return thread.Answer{}, err
	}
	if out.Empty {
		return thread.Answer{}, w.Failure.err()
	}
	out.Answer.Query = t.rewritten()
	return out.Answer, nil
}

// discard has readers of the stream drop what they were shown after a mark, if there is one.
func (t *turn) discard(mark string) {
	if at, err := task.ParsePosition(mark); mark != "" && err == nil {
		t.run.Discard(at)
	}
}

// rewritten is what was searched for, where that is not the question as it stands.
func (t *turn) rewritten() string {
	switch {
	case t.found.Corrected != "":
		return t.found.Corrected
	case len(t.query.Added) > 0:
		return t.query.Text
	}
	return ""
}
