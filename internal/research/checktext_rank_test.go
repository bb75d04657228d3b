package research_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"carrel/internal/builtin"
	"carrel/internal/research"
	quotepkg "carrel/internal/research/quote"
	"carrel/internal/source"
	"carrel/internal/thread"
)

// scriptedRanker prefers candidates with a phrase, and counts the pairs that it was given.
type scriptedRanker struct {
	prefers string
	failing bool // returns no logits

	mu    sync.Mutex
	pairs int
	seen  []quotepkg.Candidate
}

func (r *scriptedRanker) of(context.Context) quotepkg.Ranker { return r }

func (r *scriptedRanker) Most() int { return 1 }

func (r *scriptedRanker) Similarities(string, []string) []float64 { return nil }

func (r *scriptedRanker) Rank(_ string, candidates []quotepkg.Candidate) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pairs += len(candidates)
	r.seen = append(r.seen, candidates...)
	if r.failing {
		return nil
	}
	out := make([]float64, len(candidates))
	for i, c := range candidates {
		out[i] = -8
		if strings.Contains(c.Text, r.prefers) {
			out[i] = 8
		}
	}
	return out
}

// passwords are documents about one subject, of which only the second says how long passwords matter.
var passwords = []source.Document{
	{Title: "Passwords", Text: "A password is how a user proves an identity. Most systems store hashes of a password."},
	{Title: "Strength", Text: "Some factors are weak. Length has been found to be the primary factor in characterizing " +
		"password strength. Others matter less."},
	{Title: "Keys", Text: "A key of a lock has a shape. The lock depends on it."},
}

const aboutLength = "How strong a password is depends mainly on its length."

func TestRankerFindsEvidenceThatSharesFewWords(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	w.put(w.source, passwords...)
	if got := w.check(research.Draft{Text: aboutLength}).Sentences[0]; got.State != thread.Uncited {
		t.Fatalf("by words: %+v", got)
	}
	ranker := &scriptedRanker{prefers: "primary factor"}
	w.ranker = ranker.of
	got := w.check(research.Draft{Text: aboutLength}).Sentences[0]
	if got.State != thread.Cited || len(got.Evidence) != 1 || got.Evidence[0].Stance != research.Related ||
		!strings.HasPrefix(got.Evidence[0].Quote, "Length has been") {
		t.Errorf("ranked: %+v", got)
	}
	for _, c := range ranker.seen {
		if strings.HasPrefix(c.Text, "Length") && (c.Title != "Strength" || c.Before != "Some factors are weak.") {
			t.Errorf("the ranker reads %+v", c)
		}
	}
	ranker.failing = true
	if got := w.check(research.Draft{Text: aboutLength}).Sentences[0]; got.State != thread.Uncited {
		t.Errorf("with a ranker that fails: %+v", got)
	}
}

func TestBuiltInRankerFindsAParaphrase(t *testing.T) {
	t.Parallel()
	if !builtin.Fast() {
		t.Skip("the ranker is too slow without vector instructions")
	}
	w := newTextFixture(t)
	w.put(w.source, append(slices.Clone(passwords), source.Document{
		Title: "Strength of memorized secrets",
		Text: "Passwords are widely used. Humans, however, have only a limited ability to memorize complex, arbitrary " +
			"secrets, so they often choose passwords that can be easily guessed.",
	})...)
	w.ranker = quotepkg.Builtin
	got := w.check(research.Draft{Text: "People are bad at remembering complicated secrets and so pick passwords that " +
		"are easy to guess. The orchestra performed a symphony in Vienna."})
	first, second := got.Sentences[0], got.Sentences[1]
	if first.State != thread.Cited || !strings.HasPrefix(first.Evidence[0].Quote, "Humans, however") {
		t.Errorf("the paraphrase: %+v", first)
	}
	if second.State != thread.Uncited || len(second.Evidence) > 0 {
		t.Errorf("another subject: %+v", second)
	}
}

func TestRankerDoesNotDecideAState(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	w.put(w.source, source.Document{Title: "The tower", Text: "The iron tower in Paris was finished in 1889."},
		source.Document{Title: "Visitors", Text: "The iron tower in Paris has seven million visitors."})
	for _, c := range []struct {
		text  string
		state thread.CheckState
	}{
		{"The iron tower in Paris was finished in 1889.", thread.Quoted},
		{"The iron tower in Paris was finished in 1890.", thread.Contradicted},
	} {
		for _, prefers := range []string{"1889", "visitors", "nothing"} {
			w.ranker = (&scriptedRanker{prefers: prefers}).of
			got := w.check(research.Draft{Text: c.text}).Sentences[0]
			if got.State != c.state || !strings.Contains(got.Evidence[0].Quote, "1889") {
				t.Errorf("%s, preferring %s: %+v", c.text, prefers, got)
			}
		}
	}
}

func TestRankerReadsABoundedNumberOfPairs(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	w.put(w.source, passwords...)
	ranker := &scriptedRanker{prefers: "primary factor"}
	w.ranker = ranker.of
	var text strings.Builder
	for i := range 90 {
		fmt.Fprintf(&text, "A strong password %d depends mainly on the shape of the lock. ", i)
	}
	if w.check(research.Draft{Text: text.String()}); ranker.pairs == 0 || ranker.pairs > 64 {
		t.Errorf("the ranker read %d pairs", ranker.pairs)
	}
}

func TestRankerReadsEnglishOnly(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	ranker := &scriptedRanker{}
	w.ranker = ranker.of
	w.put(w.source, source.Document{Title: "Turm", Text: "Der eiserne Turm in Paris wurde im Jahr 1889 fertig."})
	w.check(research.Draft{Text: "Der eiserne Turm steht seit dem Jahr 1889 in der Stadt und ist sehr hoch."})
	if ranker.pairs != 0 {
		t.Errorf("the ranker read %d pairs", ranker.pairs)
	}
}

func TestRankingOfEvidenceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	w.put(w.source, passwords...)
	ctx, cancel := context.WithCancel(t.Context())
	w.ranker = func(context.Context) quotepkg.Ranker {
		cancel()
		return &scriptedRanker{failing: true}
	}
	_, err := w.checker().CheckText(ctx, w.Ada, w.Agent, research.Draft{Text: aboutLength})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}
