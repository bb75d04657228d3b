package search

// Span is a stretch of the change log: the numbers from After (not included) to Through (included).
type Span struct{ After, Through uint64 }

func (s Span) touches(next Span) bool { return s.Through == next.After }

func (s Span) overlaps(other Span) bool { return s.After < other.Through && other.After < s.Through }

func (s Span) holds(seq uint64) bool { return s.After < seq && seq <= s.Through }

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
func firstGap(parts []*part, head uint64) (Span, bool) {
	gap := Span{After: reach(parts), Through: head}
	for _, p := range parts {
		if p.span.After > gap.After {
			gap.Through = min(head, p.span.After)
			break
		}
	}
	return gap, gap.After < gap.Through
}

// covered returns the spans of the parts, those that touch as one.
func covered(parts []*part) []Span {
	spans := make([]Span, len(parts))
	for i, p := range parts {
		spans[i] = p.span
	}
	return joined(spans)
}

// joined returns spans that are in order with those that touch as one.
func joined(spans []Span) []Span {
	var out []Span
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].touches(s) {
			out[n-1].Through = s.Through
		} else {
			out = append(out, s)
		}
	}
	return out
}
