package research

import (
	"cmp"
	"context"
	"math"
	"slices"

	"carrel/internal/language"
	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

const (
	// rankedPairs is how many pairs of a claim and a candidate the ranker reads for a text, so that it takes less than a
	// second.
	rankedPairs = 64
	// leastRanked is how many candidates of a claim the ranker reads at least.
	leastRanked = 2
)

// Values that were tuned on the labelled sentences of package check.
const (
	// evidenceWords is the weight of the logarithm of the score by words against the logit of the ranker.
	evidenceWords = 8
	// likelyLogit is the least logit of a candidate that is evidence although it shares few words with the claim.
	likelyLogit = -1
)

// rankEvidence orders the candidates of claims by the ranker and judges these claims again. Rules still decide the
// state. Candidates of other claims stay in their order by words.
func (t *textCheck) rankEvidence(ctx context.Context) error {
	if t.Ranker == nil || !isEnglish(t.language) {
		return nil
	}
	ranker := t.Ranker(ctx)
	claims := t.undecided()
	each := max(leastRanked, rankedPairs/max(1, len(claims)))
	left := rankedPairs
	for _, c := range claims {
		n := min(each, left, len(c.found))
		left -= n
		ranked := c.rank(ranker, n)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ranked {
			t.judgeClaim(c)
		}
	}
	return nil
}

// isEnglish reports whether a code is that of the only language that the built-in ranker knows. An unknown language is
// read as the default one.
func isEnglish(code string) bool { return cmp.Or(code, language.Default) == "en" }

// undecided returns the claims for which the order of their candidates matters: those without evidence, then those that
// the rules left open, then those that they refute.
func (t *textCheck) undecided() []*claim {
	var out []*claim
	for _, state := range []thread.CheckState{
		thread.Uncited, thread.Cited, thread.Contradicted, thread.Unsupported,
	} {
		for _, c := range t.claims {
			if c.sentence.State == state && len(c.found) > 0 {
				out = append(out, c)
			}
		}
	}
	return out
}

// rank has the ranker read the first n candidates of a claim, and reports whether it did. The rules see the same
// candidates as before, unless words have found no evidence.
func (c *claim) rank(ranker quote.Ranker, n int) bool {
	head := c.found[:n]
	sentences := make([]quote.Candidate, n)
	for i, k := range head {
		if !isEnglish(k.code) {
			return false
		}
		sentences[i] = quote.Candidate{Title: k.document.Title, Text: k.quote(), Before: k.before()}
	}
	logits := ranker.Rank(c.text, sentences)
	if n == 0 || len(logits) != n {
		return false
	}
	c.ranked = true
	lowest := slices.Min(logits)
	for i := range c.found {
		c.found[i].logit = lowest
	}
	for i, logit := range logits {
		head[i].logit = logit
	}
	if c.sentence.State == thread.Uncited {
		for i := range head {
			head[i].likely = head[i].logit >= likelyLogit
		}
		slices.SortStableFunc(c.found, func(a, b candidate) int { return cmp.Compare(c.preference(b), c.preference(a)) })
	}
	return true
}

// preference is the value by which candidates of the claim are ordered, the higher the better.
func (c *claim) preference(k candidate) float64 {
	if !c.ranked {
		return k.score
	}
	return k.logit + evidenceWords*math.Log(k.score)
}

// before returns the sentence before the candidate, or "".
func (k candidate) before() string {
	if k.first == 0 {
		return ""
	}
	s := k.sentences[k.first-1]
	return string(k.text[s.Body:s.End])
}
