package source

import (
	"cmp"
	"slices"
	"strings"
)

// fusionConstant is the k of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). A larger k flattens the
// difference between ranks.
const fusionConstant = 60

// reciprocal returns the score of a rank, counted from 0.
func reciprocal(rank int) float64 { return 1 / float64(fusionConstant+rank+1) }

// merge combines ranked lists of different sources by reciprocal rank fusion. Their scores are not comparable: the
// index sums over words, and most catalogues return none. Records with the same DOI are one hit that scores for both;
// the record of the first list is shown, which is the stored one if it exists.
func merge(lists [][]Card) []Card {
	var out []Card
	at := map[string]int{}
	for _, list := range lists {
		counted := map[string]bool{} // a work counts once per list
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
	// Stable, so that hits of the first list come first among equal scores.
	slices.SortStableFunc(out, func(a, b Card) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// workKey identifies a work by its DOI, else by the document.
func workKey(d Document) string {
	doi := strings.ToLower(d.DOI)
	if i := strings.Index(doi, "10."); i >= 0 { // the DOI may follow a resolver address
		return doi[i:]
	}
	return d.ID
}
