package rank

import "slices"

// Statistics counts the live units of the sources, and for each term those that hold it.
func Statistics(views []View, sources, terms []string) (units int, holders []int, err error) {
	sources = slices.Compact(slices.Sorted(slices.Values(sources)))
	holders = make([]int, len(terms))
	for _, v := range views {
		for _, source := range sources {
			if within, ok := v.Segment.Source(source); ok {
				deleted, _ := v.Deductions.of(source)
				units += int(within.EndUnit-within.FirstUnit) - deleted
			}
		}
	}
	for i, term := range terms {
		if holders[i], err = Holders(views, sources, term); err != nil {
			return 0, nil, err
		}
	}
	return units, holders, nil
}
