package core

import (
	"cmp"
	"slices"
	"strconv"
)

// Limits of the tags that a user gives to an object.
const (
	MaxTag  = 100
	MaxTags = 50
)

// Tag is a tag with the number of objects that have it.
type Tag struct {
	Name  string
	Count int
}

// CleanTags returns tags as single lines in alphabetical order, each once in any case, and the invalid ones.
func CleanTags(tags []string) ([]string, []FieldError) {
	if len(tags) > MaxTags {
		return nil, []FieldError{{Pointer: "/tags", Detail: "Must be at most 50 tags."}}
	}
	var bad []FieldError
	out := make([]string, 0, len(tags))
	for i, tag := range tags {
		if detail := (TextRule{Min: 1, Max: MaxTag}).Check(tag); detail != "" {
			bad = append(bad, FieldError{Pointer: "/tags/" + strconv.Itoa(i), Detail: detail})
		}
		if tag = OneLine(tag); tag != "" {
			out = append(out, tag)
		}
	}
	slices.SortFunc(out, CompareFolded)
	return slices.CompactFunc(out, func(a, b string) bool { return Fold(a) == Fold(b) }), bad
}

// CompareFolded compares texts by their folded forms, then as they are.
func CompareFolded(a, b string) int {
	return cmp.Or(cmp.Compare(Fold(a), Fold(b)), cmp.Compare(a, b))
}

// TagSpellings returns the spellings of a tag, which is compared without regard to case. It always returns the given
// one, so that an unknown tag selects nothing.
func TagSpellings(tag string, known []Tag) []string {
	out := []string{tag}
	for _, t := range known {
		if Fold(t.Name) == Fold(tag) {
			out = append(out, t.Name)
		}
	}
	return out
}

// MergeTags adds up tags that differ only in case, in alphabetical order. The spelling is that of the first one.
func MergeTags(spellings []Tag) []Tag {
	places, out := map[string]int{}, []Tag{}
	for _, t := range spellings {
		at, known := places[Fold(t.Name)]
		if !known {
			places[Fold(t.Name)], out = len(out), append(out, t)
			continue
		}
		out[at].Count += t.Count
	}
	slices.SortFunc(out, func(a, b Tag) int { return CompareFolded(a.Name, b.Name) })
	return out
}
