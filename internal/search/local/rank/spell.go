package rank

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"carrel/internal/search/local/segment"
	"carrel/internal/search/spelling"
)

// suggestion is a possible correction.
type suggestion struct {
	term     string
	surface  string
	distance int
	holders  int
}

// Suggest returns a readable form of the term that is closest in spelling to an unknown one, preferring frequent terms.
// Only terms with the same first letter are considered, because typos there are rare. It reports false if there is
// none.
func Suggest(ctx context.Context, views []View, sources []string, term string) (string, bool, error) {
	reach := spelling.Slips(utf8.RuneCountInString(term))
	if reach == 0 {
		return "", false, nil
	}
	found := make(map[string]*suggestion)
	m := spelling.NewMeasure(term)
	for _, v := range views {
		if err := ctx.Err(); err != nil {
			return "", false, err
		}
		if err := suggestFrom(v, sources, m, reach, found); err != nil {
			return "", false, err
		}
	}
	var best *suggestion
	for _, s := range found {
		if s.holders > 0 && (best == nil || compareSuggestions(s, best) < 0) {
			best = s
		}
	}
	if best == nil {
		return "", false, nil
	}
	return best.surface, true, nil
}

func compareSuggestions(x, y *suggestion) int {
	return cmp.Or(cmp.Compare(x.distance, y.distance), cmp.Compare(y.holders, x.holders), cmp.Compare(x.term, y.term))
}

// suggestFrom adds the terms of one segment within the edit distance.
func suggestFrom(v View, sources []string, m *spelling.Measure, reach int, found map[string]*suggestion) error {
	s := v.Segment
	initial := m.Initial()
	var failed error
	first := sort.Search(s.Terms(), func(ord int) bool {
		text, _, err := s.Term(uint32(ord))
		if err != nil {
			failed = err
		}
		return text >= initial
	})
	for ord := first; failed == nil && ord < s.Terms(); ord++ {
		text, t, err := s.Term(uint32(ord))
		if err != nil {
			return err
		}
		if !strings.HasPrefix(text, initial) {
			break
		}
		distance := m.To(text, reach)
		if distance == 0 || distance > reach {
			continue
		}
		if err := note(v, sources, t, suggestion{term: strings.Clone(text), distance: distance}, found); err != nil {
			return err
		}
	}
	return failed
}

// Holders returns how many units of the sources hold a term.
func Holders(views []View, sources []string, term string) (int, error) {
	sum := 0
	for _, v := range views {
		t, ok, err := v.Segment.Lookup(term)
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		n, err := holders(v, sources, t)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// holders returns how many units of the sources hold a term of one segment.
func holders(v View, sources []string, t segment.Term) (int, error) {
	postings, err := v.Segment.Postings(t)
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, source := range sources {
		if r, ok := v.Segment.Source(source); ok {
			first, _ := slices.BinarySearch(postings.Units, r.FirstUnit)
			end, _ := slices.BinarySearch(postings.Units, r.EndUnit)
			sum += end - first - v.Deductions.holders(source, t.Ord)
		}
	}
	return sum, nil
}

// note adds a suggestion with its number of holders and its shortest readable form, as a merge of segments would.
func note(v View, sources []string, t segment.Term, s suggestion, found map[string]*suggestion) (err error) {
	if s.holders, err = holders(v, sources, t); err != nil {
		return err
	}
	if s.holders == 0 {
		return nil
	}
	if s.surface, err = v.Segment.Surface(t.Ord); err != nil {
		return err
	}
	if s.surface == "" {
		s.surface = s.term
	}
	s.surface = strings.Clone(s.surface)
	known := found[s.term]
	if known == nil {
		found[s.term] = &s
		return nil
	}
	known.holders += s.holders
	if cmp.Or(cmp.Compare(len(s.surface), len(known.surface)), cmp.Compare(s.surface, known.surface)) < 0 {
		known.surface = s.surface
	}
	return nil
}
