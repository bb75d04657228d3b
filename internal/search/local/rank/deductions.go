package rank

import (
	"fmt"
	"sort"

	"carrel/internal/search/local/segment"
)

// Deductions are the statistics of a segment's deleted documents, by source. Searches subtract them, so that the
// ranking of documents does not depend on deleted ones or on when segments are merged. They are immutable.
type Deductions struct {
	sources map[string]*loss
	before  *Deductions // earlier deductions, which these add to
	depth   int
}

type loss struct {
	units   int
	length  uint64
	holders map[uint32]int // number of deleted units that hold a term, by its ordinal
}

// maxDepth is how many layers of deductions are kept before they are summed up.
const maxDepth = 8

// Without returns the deductions plus the statistics of further documents, which must not be included already.
func (l *Deductions) Without(s *segment.Segment, documents []uint32) (*Deductions, error) {
	out := &Deductions{sources: make(map[string]*loss), before: l}
	if l != nil {
		out.depth = l.depth + 1
	}
	if err := out.add(s, documents); err != nil {
		return nil, err
	}
	if out.depth == maxDepth {
		out = out.sum()
	}
	return out, nil
}

func (l *Deductions) add(s *segment.Segment, documents []uint32) error {
	firsts, lengths, sources := s.FirstUnits(), s.Lengths(), s.Sources()
	var forward segment.Forward
	seen := make(map[uint32]bool)
	for _, doc := range documents {
		in := sort.Search(len(sources), func(i int) bool { return doc < sources[i].EndDoc })
		at := l.source(sources[in].Source)
		for unit := firsts[doc]; unit < firsts[doc+1]; unit++ {
			if err := s.Forward(unit, &forward); err != nil {
				return fmt.Errorf("read a deleted document: %w", err)
			}
			at.take(&forward, lengths[unit], seen)
		}
	}
	return nil
}

func (l *Deductions) source(id string) *loss {
	at := l.sources[id]
	if at == nil {
		at = &loss{holders: make(map[uint32]int)}
		l.sources[id] = at
	}
	return at
}

// take counts one unit. Seen is scratch space.
func (l *loss) take(f *segment.Forward, length uint32, seen map[uint32]bool) {
	l.units++
	l.length += uint64(length)
	clear(seen)
	for _, field := range [][]uint32{f.Title, f.Authors, f.Text} {
		for _, place := range field {
			if place != 0 && !seen[place] {
				seen[place] = true
				l.holders[place-1]++
			}
		}
	}
}

// sum returns the deductions as one layer.
func (l *Deductions) sum() *Deductions {
	out := &Deductions{sources: make(map[string]*loss)}
	for layer := l; layer != nil; layer = layer.before {
		for id, from := range layer.sources {
			at := out.source(id)
			at.units += from.units
			at.length += from.length
			for ord, n := range from.holders {
				at.holders[ord] += n
			}
		}
	}
	return out
}

// of returns the number of deleted units of a source and their total length.
func (l *Deductions) of(source string) (units int, length uint64) {
	for ; l != nil; l = l.before {
		if at := l.sources[source]; at != nil {
			units += at.units
			length += at.length
		}
	}
	return units, length
}

// holders returns the number of deleted units of a source that hold a term.
func (l *Deductions) holders(source string, ord uint32) int {
	n := 0
	for ; l != nil; l = l.before {
		if at := l.sources[source]; at != nil {
			n += at.holders[ord]
		}
	}
	return n
}
