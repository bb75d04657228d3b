package source

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/search"
)

// SearchOrder is the order of search results.
type SearchOrder string

// The orders: best first, which is the default, by year, newest or oldest first, and by the time of adding, newest
// first.
const (
	OrderRelevance SearchOrder = "relevance"
	OrderYear      SearchOrder = "year"
	OrderOldest    SearchOrder = "oldest"
	OrderAdded     SearchOrder = "added"
)

// SearchFilter selects documents by their metadata. A document must match every field that is not empty, and one entry
// of each list.
type SearchFilter struct {
	Types, Authors, Venues, Languages, Tags []string
	HasYear                                 *bool
}

// active reports whether the filter excludes anything.
func (f SearchFilter) active() bool {
	return len(f.Types)+len(f.Authors)+len(f.Venues)+len(f.Languages)+len(f.Tags) > 0 || f.HasYear != nil
}

const (
	maxFilterEntries = 20
	// maxCounts limits the values that are counted for one field.
	maxCounts = 50
)

// fold replaces the entries by their normalized form, and returns an error for the invalid ones.
func (f *SearchFilter) fold() error {
	var bad []core.FieldError
	for name, list := range map[string]*[]string{
		"types": &f.Types, "authors": &f.Authors, "venues": &f.Venues, "languages": &f.Languages, "tags": &f.Tags,
	} {
		at := "/filter/" + name
		if len(*list) > maxFilterEntries {
			bad = append(bad, core.FieldError{Pointer: at, Detail: "Must have at most 20 entries."})
			continue
		}
		folded := make([]string, len(*list))
		for i, entry := range *list {
			if detail := (core.TextRule{Min: 1, Max: 200}).Check(entry); detail != "" {
				bad = append(bad, core.FieldError{Pointer: at + "/" + strconv.Itoa(i), Detail: detail})
			}
			folded[i] = core.Fold(entry)
		}
		*list = folded
	}
	if bad != nil {
		slices.SortFunc(bad, func(a, b core.FieldError) int { return cmp.Compare(a.Pointer, b.Pointer) })
		return core.Invalid(bad...)
	}
	return nil
}

// matches reports whether a document matches a filter with folded entries.
func (f SearchFilter) matches(d Document) bool {
	return one(f.Types, []string{d.Type}, equalTo) && one(f.Authors, d.Authors, strings.Contains) &&
		one(f.Venues, []string{d.Venue}, strings.Contains) && one(f.Languages, []string{d.Language}, equalTo) &&
		one(f.Tags, d.Tags, equalTo) && (f.HasYear == nil || *f.HasYear == (d.Year != 0))
}

func equalTo(value, wanted string) bool { return value == wanted }

// one reports whether a value matches an entry of a list. An empty list matches everything.
func one(wanted, values []string, match func(value, wanted string) bool) bool {
	if len(wanted) == 0 {
		return true
	}
	for _, v := range values {
		folded := core.Fold(v)
		if folded != "" && slices.ContainsFunc(wanted, func(w string) bool { return match(folded, w) }) {
			return true
		}
	}
	return false
}

// sortCards sorts cards that are in order of relevance. Cards that are equal stay in that order, and cards without a
// year follow the others.
func sortCards(cards []Card, o SearchOrder) {
	switch o {
	case OrderYear:
		slices.SortStableFunc(cards, func(a, b Card) int { return cmp.Compare(b.Year, a.Year) })
	case OrderOldest:
		slices.SortStableFunc(cards, func(a, b Card) int { return cmp.Compare(uint(a.Year-1), uint(b.Year-1)) })
	case OrderAdded:
		slices.SortStableFunc(cards, func(a, b Card) int { return b.CreatedAt.Compare(a.CreatedAt) })
	case OrderRelevance:
	}
}

// CountField is a field by which matches are counted.
type CountField string

// countValues returns the values of a document for each field.
var countValues = map[CountField]func(Document) []string{
	"type":     func(d Document) []string { return []string{d.Type} },
	"author":   func(d Document) []string { return d.Authors },
	"venue":    func(d Document) []string { return []string{d.Venue} },
	"language": func(d Document) []string { return []string{d.Language} },
	"tag":      func(d Document) []string { return d.Tags },
	"source":   func(d Document) []string { return []string{d.SourceID} },
}

// Counts are the matches counted by the values of a field, most frequent first.
type Counts struct {
	Field  CountField
	Values []ValueCount
}

// ValueCount is the number of matches with a value.
type ValueCount struct {
	Value string
	Count int
}

// countCards counts cards by a field. A value that a document has twice counts once; spellings that differ in case are
// one value, shown as in the best match.
func countCards(cards []Card, field CountField) Counts {
	out := Counts{Field: field, Values: []ValueCount{}}
	places := map[string]int{}
	for _, c := range cards {
		seen := map[string]bool{"": true}
		for _, value := range countValues[field](c.Document) {
			folded := core.Fold(value)
			if seen[folded] {
				continue
			}
			seen[folded] = true
			at, known := places[folded]
			if !known {
				at, places[folded] = len(out.Values), len(out.Values)
				out.Values = append(out.Values, ValueCount{Value: value})
			}
			out.Values[at].Count++
		}
	}
	slices.SortStableFunc(out.Values, func(a, b ValueCount) int { return cmp.Compare(b.Count, a.Count) })
	out.Values = out.Values[:min(len(out.Values), maxCounts)]
	return out
}

// SearchRequest is a search with a choice of sources, a filter, an order, counts and pages.
type SearchRequest struct {
	search.Query
	// AllSources searches all sources of the agent. Otherwise Query.Sources are searched, or the default source.
	AllSources bool
	Filter     SearchFilter
	Order      SearchOrder
	CountBy    []CountField
	Cursor     string
}

// Check completes and validates a request.
func (r *SearchRequest) Check() error {
	if err := checkQuery(&r.Query); err != nil {
		return err
	}
	if r.Order = cmp.Or(r.Order, OrderRelevance); !slices.Contains(
		[]SearchOrder{OrderRelevance, OrderYear, OrderOldest, OrderAdded}, r.Order) {
		return core.InvalidField("/sort", "Must be relevance, year, oldest or added.")
	}
	for i, field := range r.CountBy {
		if countValues[field] == nil {
			return core.InvalidField("/countBy/"+strconv.Itoa(i),
				"Must be type, author, venue, language, tag or source.")
		}
	}
	return r.Filter.fold()
}

// key identifies the matches of a request and their order. It is part of cursors, so that the cursor of another request
// is refused.
func (r SearchRequest) key() string {
	b, _ := json.Marshal([]any{ // texts and numbers always marshal
		r.Text, r.FromYear, r.ToYear, r.Sources, r.AllSources, r.Filter, r.Order,
	})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// cursorList is the name of search results in cursors.
const cursorList = "search"

// offset returns the number of results before the page of the cursor.
func (r SearchRequest) offset() (int, error) {
	key, err := core.DecodeCursor(cursorList, r.Cursor, 2)
	if key == nil && err == nil {
		return 0, nil
	}
	if err == nil && key[0] == r.key() {
		if n, err := strconv.Atoi(key[1]); err == nil && n > 0 && n < searchWindow {
			return n, nil
		}
	}
	return 0, core.InvalidField("/cursor",
		"Not a cursor of this search. Use nextCursor of the previous reply with the same request, or leave it out.")
}
