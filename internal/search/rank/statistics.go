package rank

import "slices"

// Statistics counts the live units of the sources and how many of them hold each term.
func Statistics(views []View, sources, terms []string) (units int, holders []int, err error) {
	sources = slices.Compact(slices.Sorted(slices.Values(sources)))
	holders = make([]int, len(terms))
	for _, v := range views {
		for _, source := range sources {
			if within, ok := v.Segment.Source(source); ok {
				lost, _ := v.Lost.of(source)
				units += int(within.EndUnit-within.FirstUnit) - lost
			}
		}
		for i, term := range terms {
			n, err := holdersIn(v, sources, term)
			if err != nil {
				return 0, nil, err
			}
			holders[i] += n
		}
	}
	return units, holders, nil
}

// holdersIn counts the live units of one segment that hold a term.
func holdersIn(v View, sources []string, term string) (int, error) {
	t, ok, err := v.Segment.Lookup(term)
	if err != nil || !ok {
		return 0, err
	}
	postings, err := v.Segment.Postings(t)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, source := range sources {
		within, ok := v.Segment.Source(source)
		if !ok {
			continue
		}
		first, _ := slices.BinarySearch(postings.Units, within.FirstUnit)
		end, _ := slices.BinarySearch(postings.Units, within.EndUnit)
		n += end - first - v.Lost.holders(source, t.Ord)
	}
	return n, nil
}
