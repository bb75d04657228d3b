package source

import (
	"cmp"
	"slices"
	"strings"
)

// fusion is the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): how little the first places of a
// list count more than the next.
const fusionConstant = 60

// reciprocal is what a place in a list is worth, from 0.
func reciprocal(rank int) float64 { return 1 / float64(fusionConstant+rank+1) }

// merge puts ranked lists of different sources into one. Their scores can't be compared (those of the index are sums over
// words, and most catalogues tell none), but their orders can: a document counts by its places in all lists. Two records
// of one work, told by the DOI, are one hit that counts for both; the record of the first list is shown, which is what is
// stored here where there is one.
func merge(lists [][]Card) []Card {
	var out []Card
	at := map[string]int{}
	for _, list := range lists {
		counted := map[string]bool{} // a list that has a work twice counts once
		for rank, c := range list {
			key := workKey(c.Document)
			i, known := at[key]
			switch {
			case counted[key]:
				continue
			case known:
				out[i].Score += reciprocal(rank)
			default:
				at[key] = len(out)
				c.Score = reciprocal(rank)
				out = append(out, c)
			}
			counted[key] = true
		}
	}
	// Stable, so that of equal ones those of the first list come first.
	slices.SortStableFunc(out, func(a, b Card) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// workOf names the work that a document is of.
func workKey(d Document) string {
	doi := strings.ToLower(d.DOI)
	if i := strings.Index(doi, "10."); i >= 0 { // after the address of a resolver, or none
		return doi[i:]
	}
	return d.ID
}
