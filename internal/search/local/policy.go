package local

// policy decides which parts to merge. Only parts with adjacent spans can be merged, because a part covers one span.
type policy struct {
	// factor is how many parts of one level are merged.
	factor int
	// floor is the size up to which parts are of level 0.
	floor int64
	// maxBytes and maxUnits limit a merged segment; merging larger ones again would take too long.
	maxBytes int64
	maxUnits int
	// maxDeleted is the share of deleted documents above which a segment is rewritten.
	maxDeleted float64
}

func defaultPolicy() policy {
	return policy{factor: 8, floor: 1 << 20, maxBytes: 2 << 30, maxUnits: 4 << 20, maxDeleted: 0.2}
}

// level returns the magnitude of a part's size. Parts of one level are merged with each other.
func (y policy) level(p *part) int {
	level := 0
	for size := y.size(p); size > y.floor; size /= int64(y.factor) {
		level++
	}
	return level
}

// size estimates what a part adds to a merged segment.
func (y policy) size(p *part) int64 {
	return int64(float64(p.file.Size()) * y.share(p.liveDocuments(), p.file.Documents()))
}

func (policy) share(n, of int) float64 { return float64(n) / float64(max(1, of)) }

// choose returns the parts to merge next, up to the highest level, or nil.
func (y policy) choose(parts []*part, busy map[uint64]bool, highest int) []*part {
	if purged := y.purge(parts, busy); purged != nil && y.level(purged[0]) <= highest {
		return purged
	}
	runs := y.runs(parts, busy)
	top := 0
	for _, run := range runs {
		for _, p := range run {
			top = max(top, y.level(p))
		}
	}
	for level := range min(top, highest) + 1 {
		for _, run := range runs {
			if chosen := y.chooseLevel(run, level); chosen != nil {
				return chosen
			}
		}
	}
	for _, run := range runs {
		for i, p := range run {
			if y.level(p) <= highest && y.share(p.deleted.Count(), p.file.Documents()) > y.maxDeleted {
				return run[i : i+1]
			}
		}
	}
	return nil
}

// purge returns the next part that holds documents of a deleted source.
func (y policy) purge(parts []*part, busy map[uint64]bool) []*part {
	for i, p := range parts {
		if p.purge && p.file != nil && !busy[p.file.number] {
			return parts[i : i+1]
		}
	}
	return nil
}

// chooseLevel returns enough adjacent parts of at most this level to be merged. Smaller parts between them are
// included, because merged parts must be adjacent.
func (y policy) chooseLevel(run []*part, level int) []*part {
	from := 0
	for i := 0; i <= len(run); i++ {
		if i < len(run) && y.level(run[i]) <= level && !y.full(run[i]) {
			continue
		}
		if i-from >= y.factor {
			for ; i-from >= 2; from++ {
				if n := y.fitting(run[from:i]); n >= 2 {
					return run[from : from+n]
				}
			}
		}
		from = i + 1
	}
	return nil
}

// full reports whether a part is too large to be merged with smaller ones.
func (y policy) full(p *part) bool { return y.size(p) > y.maxBytes/2 || p.file.Units() > y.maxUnits/2 }

// fitting returns how many of the first parts fit into one segment.
func (y policy) fitting(parts []*part) int {
	bytes, units := int64(0), 0
	for i, p := range parts {
		bytes += y.size(p)
		units += p.file.Units()
		if bytes > y.maxBytes || units > y.maxUnits {
			return i
		}
	}
	return len(parts)
}

// runs returns the sequences of adjacent parts that no other merge has claimed.
func (y policy) runs(parts []*part, busy map[uint64]bool) [][]*part {
	var out [][]*part
	for i, p := range parts {
		if p.file == nil || busy[p.file.number] {
			continue
		}
		n := len(out)
		if n > 0 && i > 0 && out[n-1][len(out[n-1])-1] == parts[i-1] && parts[i-1].span.Touches(p.span) {
			out[n-1] = append(out[n-1], p)
		} else {
			out = append(out, []*part{p})
		}
	}
	return out
}
