package research

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/research/quote"
	"carrel/internal/task"
)

const (
	// sectionRounds is how often the sections of a report are searched. Only sections without enough quotes are searched
	// again.
	sectionRounds = 3
	// enoughOfSection is how many quotes a section needs, and leastOfSection how many it may have in a long report.
	enoughOfSection = 2
	leastOfSection  = 3
	// fewPlaces is how many documents a section reads at least, if the search for the whole question found more.
	fewPlaces = 4
	// longestLabel limits the title of a section in the label of a step, in code points.
	longestLabel = 50
)

// section is a part of a report. The only section of a report has no title.
type section struct {
	gathered
	title string
	// n is the number of the section, of all sections.
	n, of int
	// quotes are the quotes that the section is written from, with the numbers of the report.
	quotes []numbered
	// live is the stream of a text that is being written, and draft a text that has not been checked yet.
	live  *answerStream
	draft string
	// mark is the stream position before the text that is being written, or empty if readers have seen nothing of it.
	mark string
	// part is the finished section, and nil if there is none. written is set if the model wrote it.
	part    *checked
	written bool
	// declined is set if the model found no answer in the quotes.
	declined bool
	// searched is set once the section has been searched, and progressed if the last search found new documents. seen are
	// the places that were found.
	searched, progressed bool
	seen                 []place
}

// label returns the label of a step, with the section that it works on.
func (s *section) label(label string) string {
	if s == nil || s.title == "" {
		return label
	}
	first, size := utf8.DecodeRuneInString(label)
	title := clip(s.title, longestLabel)
	return fmt.Sprintf("Section %d of %d: %s: %c%s", s.n, s.of, title, unicode.ToLower(first), label[size:])
}

// missing reports whether the sources do not answer the question of the section.
func (s *section) missing() bool { return s.declined || s.searched && len(s.evidence) == 0 }

// gatherSections finds quotes for every section of a report. The searches of a round are one step, so that the order of
// the steps does not depend on which of them ends first.
func (t *turn) gatherSections(ctx context.Context, r *report, whole []lookup) error {
	if len(r.sections) == 1 {
		return t.gatherOnly(ctx, r, whole)
	}
	var rest []place // found for the whole question
	open := r.sections
	for round := 1; round <= min(t.limits.Rounds, sectionRounds) && len(open) > 0; round++ {
		wanted, err := t.lookupsOf(ctx, r, open, round == 1)
		if err != nil {
			return err
		}
		of, found, err := t.searchSections(ctx, whole, wanted)
		if err != nil {
			return err
		}
		if round == 1 {
			whole, rest = nil, found
		}
		for i, s := range open {
			if err := t.readSection(ctx, r, s, of[i], rest); err != nil {
				return err
			}
		}
		if r.stopped || t.slow {
			return nil
		}
		open = slices.DeleteFunc(slices.Clone(open), func(s *section) bool {
			return len(s.evidence) >= enoughOfSection || round > 1 && !s.progressed
		})
	}
	return nil
}

// lookupsOf returns the searches for each of the sections: those of the outline, or those that the model plans for the
// information that is still missing.
func (t *turn) lookupsOf(ctx context.Context, r *report, open []*section, first bool) ([][]lookup, error) {
	defer func() { t.section = nil }()
	out := make([][]lookup, len(open))
	for i, s := range open {
		if first {
			out[i] = s.lookups
			continue
		}
		if r.stopped {
			break
		}
		t.section = s
		var err error
		if out[i], err = t.planMore(ctx, &s.gathered); err != nil {
			return nil, err
		}
		r.note(s)
	}
	return out, nil
}

// gatherOnly gathers the quotes of a report with one section like those of an ordinary answer.
func (t *turn) gatherOnly(ctx context.Context, r *report, whole []lookup) error {
	s := r.sections[0]
	for _, l := range s.lookups {
		if !slices.ContainsFunc(whole, l.same) {
			whole = append(whole, l)
		}
	}
	if err := t.gather(ctx, &s.gathered, whole); err != nil {
		return err
	}
	s.searched = true
	r.note(s)
	r.skipped = r.stopped
	return nil
}

// foundSections is the result of the searches of a round.
type foundSections struct {
	Found found `json:"found"`
	// Whole are the places for the whole question, and Sections those of each section, best first.
	Whole    []place   `json:"whole,omitempty"`
	Sections [][]place `json:"sections,omitempty"`
}

// searchSections runs the searches for the whole question and for the sections concurrently, as far as the limit of the
// turn allows. The first searches of all sections go before the second ones.
func (t *turn) searchSections(
	ctx context.Context, whole []lookup, wanted [][]lookup,
) (sections [][]place, rest []place, err error) {
	var lookups []lookup
	use := func(l lookup) {
		if len(lookups) < t.limits.Searches-t.found.Searches && !slices.ContainsFunc(lookups, l.same) {
			lookups = append(lookups, l)
		}
	}
	for _, l := range whole[:min(1, len(whole))] {
		use(l)
	}
	for i := range sectionQueries + planQueries {
		for _, list := range wanted {
			if i < len(list) {
				use(list[i])
			}
		}
	}
	for _, l := range whole {
		use(l)
	}
	if len(lookups) == 0 {
		return make([][]place, len(wanted)), nil, nil
	}
	label := searchLabel(t.ready.Sources, lookups) + " for " + count(len(wanted), "section")
	out, err := step(ctx, t, "search", label, func(ctx context.Context, _ *task.Step) (foundSections, error) {
		results, err := t.runLookups(ctx, lookups)
		if err != nil {
			return foundSections{}, err
		}
		out := foundSections{Found: t.merge(ctx, lookups, results), Whole: fuse(whole, lookups, results)}
		for _, list := range wanted {
			out.Sections = append(out.Sections, fuse(list, lookups, results))
		}
		return out, nil
	})
	if err != nil {
		return nil, nil, err
	}
	t.found.add(out.Found)
	return out.Sections, out.Whole, nil
}

// fuse merges the results of some of the lookups.
func fuse(some, lookups []lookup, results []lookupResult) []place {
	ranks := newRankFusion(true)
	for i, l := range lookups {
		if !slices.ContainsFunc(some, l.same) || results[i].err != nil {
			continue
		}
		for rank, h := range results[i].found.Cards {
			ranks.add(rank, h)
		}
	}
	return ranks.places()
}

// readSection reads the best new documents for a section and chooses quotes. After a failure, or if time or tokens are
// short, the words of its question choose.
func (t *turn) readSection(ctx context.Context, r *report, s *section, places, rest []place) error {
	t.section = s
	defer func() { t.section = nil }()
	for _, p := range rest {
		if len(places) < fewPlaces && !slices.ContainsFunc(places, p.same) {
			places = append(places, p)
		}
	}
	fresh := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return slices.ContainsFunc(s.seen, p.same) })
	s.seen = append(s.seen, fresh...)
	fresh = s.next(fresh, min(t.limits.Documents, batchPassages), true)
	if s.progressed = len(fresh) > 0; !s.progressed {
		s.searched = true
		return nil
	}
	passages, err := t.read(ctx, s.question, fresh, min(t.limits.Passages, batchPassages))
	if err != nil {
		return err
	}
	s.passages = append(s.passages, passages...)
	if !r.stopped && len(passages) > 0 {
		if err := t.chooseEvidence(ctx, &s.gathered, passages); err != nil {
			return err
		}
	}
	if r.stopped || s.failure != nil {
		r.skipped = true
		s.add(t.chooseByWords(passages))
	}
	s.searched = true
	r.note(s)
	return nil
}

// note records that a section ended the search of the whole report: the model failed, or time or tokens are short.
func (r *report) note(s *section) {
	if s.failure != nil && r.failure == nil {
		r.failure = s.failure
	}
	r.timeShort, r.exhausted = r.timeShort || s.timeShort, r.exhausted || s.exhausted
	r.stopped = r.failure != nil || r.timeShort || r.exhausted
	r.unwritten = r.failure != nil && r.failure.Code == codeCap
}

// numberQuotes chooses the quotes of every section and numbers them over the whole report. A quote that several
// sections use has one number; of two quotes where one contains the other, the longer one is used.
func (r *report) numberQuotes(l Limits) {
	r.quotes = nil
	most := l.Quotes
	if len(r.sections) > 1 {
		most = max(leastOfSection, l.Quotes/len(r.sections))
	}
	numbers := make([][]int, len(r.sections))
	for i, s := range r.sections {
		for _, q := range s.best(most) {
			n := r.numberOf(q)
			if around := s.paragraphOf(r.quotes[n-1].Quote); around != "" {
				r.quotes[n-1].paragraph = around
			}
			if !slices.Contains(numbers[i], n) {
				numbers[i] = append(numbers[i], n)
			}
		}
	}
	for i, s := range r.sections {
		s.quotes = nil
		for _, n := range numbers[i] {
			s.quotes = append(s.quotes, r.quotes[n-1])
		}
	}
}

// numberOf returns the number of a quote, which is added if it is new.
func (r *report) numberOf(q quote.Quote) int {
	for i := range r.quotes {
		o := &r.quotes[i]
		switch {
		case o.DocumentID != q.DocumentID:
		case o.Start <= q.Start && q.End <= o.End:
			return o.n
		case q.Start <= o.Start && o.End <= q.End:
			o.Quote = q
			return o.n
		}
	}
	r.quotes = append(r.quotes, numbered{Quote: q, n: len(r.quotes) + 1})
	return len(r.quotes)
}

// titles returns the titles of the sections.
func (r *report) titles() string {
	out := make([]string, len(r.sections))
	for i, s := range r.sections {
		out[i] = s.title
	}
	return strings.Join(out, "; ")
}
