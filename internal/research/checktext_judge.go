package research

import (
	"cmp"
	"context"
	"slices"

	"carrel/internal/research/check"
	"carrel/internal/thread"
)

// Shares of a claim's weight that evidence must hold.
const (
	// onSubject is the least share in the quote, its paragraph and the title for evidence to be on the subject.
	onSubject = 0.5
	// sameThing is the least share, without numbers, for evidence that differs to be about the same thing. If a name
	// differs, names do not count either.
	sameThing = 0.75
)

const (
	// judgedEvidence is how many candidates are judged, and shownEvidence how many are part of the reply.
	judgedEvidence = 4
	shownEvidence  = 3
)

// judge judges all claims by rules.
func (t *textCheck) judge(ctx context.Context) error {
	for _, c := range t.claims {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.judgeClaim(c)
	}
	return t.rankEvidence(ctx)
}

// opinion is the finding of the rules on one piece of evidence.
type opinion struct {
	candidate
	check.Finding
	stance Stance
}

// judgeClaim sets the state of a claim from the findings on each piece of evidence. Support outweighs contradiction,
// because other evidence may be about something else.
func (t *textCheck) judgeClaim(c *claim) {
	var opinions []opinion
	for _, k := range c.found {
		if len(opinions) == judgedEvidence {
			break
		}
		if k.found < onSubject && k.known < sameThing && !k.likely || !k.onSubject && c.isShort(k.code) ||
			slices.ContainsFunc(opinions, func(o opinion) bool { return o.overlaps(k) }) {
			continue
		}
		if o, ok := t.opinionOn(c, k); ok {
			opinions = append(opinions, o)
		}
	}
	if len(opinions) == 0 {
		return
	}
	// Among equals, the candidate that the ranker prefers comes first, or the one that holds more of the claim.
	slices.SortStableFunc(opinions, func(a, b opinion) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(c.preference(b.candidate), c.preference(a.candidate)))
	})
	s, best := c.sentence, opinions[0]
	s.Check, s.Evidence = thread.Check{Start: s.Start, End: s.End}, nil
	for _, o := range opinions[:min(len(opinions), shownEvidence)] {
		if o.byParagraph() && !best.byParagraph() {
			o.stance = Related // another quote says it
		}
		s.Evidence = append(s.Evidence, o.cited(o.stance))
	}
	switch {
	case best.stance == Supports:
		s.State, s.By = thread.CheckState(best.State), thread.ByRules
	case best.stance == Contradicts,
		best.State == check.Unsupported && best.onSubject && best.isAboutTheSame(best.Reason):
		s.State, s.By = thread.CheckState(best.State), thread.ByRules
		s.Reason, s.Detail = string(best.Reason), best.Detail
	default:
		s.State = thread.Cited
	}
}

// opinionOn judges a claim by one candidate. It returns false if the candidate is about something else.
func (t *textCheck) opinionOn(c *claim, k candidate) (opinion, bool) {
	o := opinion{k, check.Judge(c.text, t.language, []check.Evidence{k.evidence()}, nil), Related}
	if o.State == check.Cited && k.first < k.last {
		// One of two sentences can decide what both together do not.
		k.first, k.last, k.score = k.core, k.core, k.coreScore
		if f := check.Judge(c.text, t.language, []check.Evidence{k.evidence()}, nil); f.State != check.Unsupported {
			o.candidate, o.Finding = k, f
		}
	}
	if o.State == check.Cited && k.inCore >= sameThing {
		// The paragraph can hold the disputed number in another place, for something else.
		if f := check.Judge(c.text, t.language, []check.Evidence{k.alone()}, nil); f.State == check.Contradicted {
			o.Finding = f
		}
	}
	switch {
	case !k.onSubject && o.State != check.Quoted:
		// A pronoun refers to something else.
	case o.State == check.Quoted, o.State == check.Supported:
		o.stance = Supports
	case o.State == check.Contradicted && k.isAboutTheSame(o.Reason):
		o.stance = Contradicts
	}
	return o, o.State != check.Talk && (o.Reason != check.NotCovered || k.likely)
}

// byParagraph reports whether the paragraph supports the claim, and not the quote itself.
func (o opinion) byParagraph() bool { return o.State == check.Supported && o.Start == o.End }

// isShort reports whether a claim has so few terms that they could be about anything.
func (c *claim) isShort(code string) bool {
	const few = 5
	return len(c.terms[code].own) < few
}

// isAboutTheSame reports whether evidence that differs from a claim is about the same thing.
func (k candidate) isAboutTheSame(r check.Reason) bool {
	if r == check.NameDiffers || r == check.NameAbsent {
		return k.apart >= sameThing
	}
	return k.known >= sameThing
}

// rank orders opinions by how much they decide.
func (o opinion) rank() int {
	switch {
	case o.stance == Supports && o.State == check.Quoted:
		return 4
	case o.stance == Supports && !o.byParagraph():
		return 3
	case o.stance == Supports:
		return 2
	case o.stance == Contradicts:
		return 1
	}
	return 0
}
