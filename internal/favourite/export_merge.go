package favourite

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"carrel/internal/core"
)

// mergeWorks merges references to the same work into the oldest one, which keeps its position and its citation key.
// References come newest first.
func mergeWorks(refs []reference) []reference {
	kept := make([]reference, 0, len(refs))
	// byKey holds the positions of kept references by the properties that identify a work.
	byKey := map[string][]int{}
	for _, r := range slices.Backward(refs) {
		at := -1
		for _, key := range workKeys(&r) {
			at = slices.IndexFunc(byKey[key], func(i int) bool { return sameWork(&kept[i], &r) })
			if at >= 0 {
				at = byKey[key][at]
				break
			}
		}
		if at < 0 {
			at = len(kept)
			kept = append(kept, r)
		} else {
			kept[at].merge(&r)
		}
		for _, key := range workKeys(&r) {
			if !slices.Contains(byKey[key], at) {
				byKey[key] = append(byKey[key], at)
			}
		}
	}
	slices.Reverse(kept)
	return kept
}

// workKeys returns the properties that identify a work, the most reliable first.
func workKeys(r *reference) []string {
	var keys []string
	if r.documentID != "" {
		keys = append(keys, "document "+r.documentID)
	}
	if r.doi != "" {
		keys = append(keys, "doi "+strings.ToLower(r.doi))
	}
	if title := titleKey(r.title); title != "" && r.year != 0 {
		keys = append(keys, "title "+title)
	}
	return keys
}

func titleKey(title string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return c
		}
		return -1
	}, fold(title))
}

// sameWork decides whether references that share a key are one work. A title and a year are not enough if the DOIs or
// the first authors differ, as for the editorials of a journal.
func sameWork(a, b *reference) bool {
	switch {
	case a.entry != nil && b.entry != nil, a.lines != nil && b.lines != nil:
		return false // a file may hold a work twice, with other fields
	case a.documentID != "" && a.documentID == b.documentID:
		return true
	case a.doi != "" && b.doi != "":
		return strings.EqualFold(a.doi, b.doi)
	case len(a.authors) > 0 && len(b.authors) > 0 && firstAuthor(a) != firstAuthor(b):
		return false
	}
	return a.year == b.year && titleKey(a.title) == titleKey(b.title)
}

func firstAuthor(r *reference) string {
	return fold(cmp.Or(r.authors[0].family, r.authors[0].literal))
}

// merge fills the empty fields of a reference from a newer one and adds its tags and its note.
func (r *reference) merge(o *reference) {
	if len(r.authors) == 0 {
		r.authors = o.authors
	}
	if r.year == 0 {
		r.year, r.month, r.day = o.year, o.month, o.day
	}
	for _, field := range []struct{ to, from *string }{
		{&r.title, &o.title},
		{&r.venue, &o.venue},
		{&r.volume, &o.volume},
		{&r.issue, &o.issue},
		{&r.pages, &o.pages},
		{&r.publisher, &o.publisher},
		{&r.doi, &o.doi},
		{&r.url, &o.url},
		{&r.abstract, &o.abstract},
		{&r.documentID, &o.documentID},
	} {
		*field.to = cmp.Or(*field.to, *field.from)
	}
	if r.entry == nil && r.lines == nil {
		r.entry, r.lines, r.imported = o.entry, o.lines, o.imported
	}
	r.cards = append(r.cards, o.cards...)
	r.rawType = cmp.Or(r.rawType, o.rawType)
	r.kind = kindOf(r.rawType, r.venue)
	for _, tag := range o.tags {
		if !slices.ContainsFunc(r.tags, func(t string) bool { return core.Fold(t) == core.Fold(tag) }) {
			r.tags = append(r.tags, tag)
		}
	}
	if o.note != "" && o.note != r.note {
		r.note = strings.TrimSpace(r.note + " " + o.note)
	}
}
