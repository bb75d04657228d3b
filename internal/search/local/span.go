package local

import "carrel/internal/search"

// coveredThrough returns the number up to which the sorted parts cover everything.
func coveredThrough(parts []*part) uint64 {
	at := uint64(0)
	for _, p := range parts {
		if p.span.After > at {
			break
		}
		at = p.span.Through
	}
	return at
}

// firstGap returns the first span up to head that no part covers, and whether there is one.
func firstGap(parts []*part, head uint64) (search.Span, bool) {
	gap := search.Span{After: coveredThrough(parts), Through: head}
	for _, p := range parts {
		if p.span.After > gap.After {
			gap.Through = min(head, p.span.After)
			break
		}
	}
	return gap, gap.After < gap.Through
}

// covered returns the spans of the parts, with adjacent ones joined.
func covered(parts []*part) []search.Span {
	spans := make([]search.Span, len(parts))
	for i, p := range parts {
		spans[i] = p.span
	}
	return joined(spans)
}

// joined joins adjacent spans of a sorted list.
func joined(spans []search.Span) []search.Span {
	var out []search.Span
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].Touches(s) {
			out[n-1].Through = s.Through
		} else {
			out = append(out, s)
		}
	}
	return out
}
