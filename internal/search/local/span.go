package local

import "carrel/internal/search"

// reach returns the number up to which the parts cover everything. They are in order.
func reach(parts []*part) uint64 {
	at := uint64(0)
	for _, p := range parts {
		if p.span.After > at {
			break
		}
		at = p.span.Through
	}
	return at
}

// firstGap returns the first span up to head that none of the parts covers, and whether there is one.
func firstGap(parts []*part, head uint64) (search.Span, bool) {
	gap := search.Span{After: reach(parts), Through: head}
	for _, p := range parts {
		if p.span.After > gap.After {
			gap.Through = min(head, p.span.After)
			break
		}
	}
	return gap, gap.After < gap.Through
}

// covered returns the spans of the parts, those that touch as one.
func covered(parts []*part) []search.Span {
	spans := make([]search.Span, len(parts))
	for i, p := range parts {
		spans[i] = p.span
	}
	return joined(spans)
}

// joined returns spans that are in order with those that touch as one.
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
