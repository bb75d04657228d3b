package xquad

import (
	"slices"
	"testing"

	"carrel/internal/research/quote"
)

// lengths ranks candidates by their length and counts how many it was asked for.
type lengths struct {
	asked int
	fails bool
}

func (*lengths) Most() int { return 10 }

func (*lengths) Similarities(string, []string) []float64 { return nil }

func (r *lengths) Rank(_ string, candidates []quote.Candidate) []float64 {
	if r.fails {
		return nil
	}
	r.asked += len(candidates)
	out := make([]float64, len(candidates))
	for i, c := range candidates {
		out[i] = float64(len(c.Text))
	}
	return out
}

func TestLogitsOfTheLastQuestionAreRemembered(t *testing.T) {
	t.Parallel()
	inner := &lengths{}
	r := &remembering{Ranker: inner}
	one, three := quote.Candidate{Text: "a"}, quote.Candidate{Text: "abc"}
	for _, test := range []struct {
		question   string
		candidates []quote.Candidate
		want       []float64
		asked      int // so far
	}{
		{"first", []quote.Candidate{one}, []float64{1}, 1},
		{"first", []quote.Candidate{three, one}, []float64{3, 1}, 2},
		{"first", []quote.Candidate{one, three}, []float64{1, 3}, 2},
		{"second", []quote.Candidate{three}, []float64{3}, 3},
	} {
		if got := r.Rank(test.question, test.candidates); !slices.Equal(got, test.want) || inner.asked != test.asked {
			t.Errorf("%v for %v, of %d asked", got, test.candidates, inner.asked)
		}
	}
	inner.fails = true
	if got := r.Rank("third", []quote.Candidate{one}); got != nil {
		t.Errorf("a ranker that fails gives %v", got)
	}
}
