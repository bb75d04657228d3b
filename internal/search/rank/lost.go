package rank

import (
	"fmt"
	"sort"

	"carrel/internal/search/segment"
)

// Lost is what the deleted documents of a segment take from its statistics, by source. With it a search sees the
// numbers of the documents that are left, as if the others had never been: how documents rank does not depend on
// when segments are merged. It never changes; Without makes a new one.
type Lost struct {
	sources map[string]*loss
	before  *Lost // what was lost earlier
	depth   int
}

type loss struct {
	units   int
	length  uint64
	holders map[uint32]int // term ord to the number of lost units that hold it
}

// maxDepth is how many times losses are put on top of each other before they are summed up.
const maxDepth = 8

// Without returns the losses with those of further documents, which must be others than before.
func (l *Lost) Without(s *segment.Segment, documents []uint32) (*Lost, error) {
	out := &Lost{sources: make(map[string]*loss), before: l}
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

func (l *Lost) add(s *segment.Segment, documents []uint32) error {
	firsts, lengths, sources := s.FirstUnits(), s.Lengths(), s.Sources()
	var forward segment.Forward
	seen := make(map[uint32]bool)
	for _, doc := range documents {
		in := sort.Search(len(sources), func(i int) bool { return doc < sources[i].EndDoc })
		at := l.source(sources[in].Source)
		for unit := firsts[doc]; unit < firsts[doc+1]; unit++ {
			if err := s.Forward(unit, &forward); err != nil {
				return fmt.Errorf("read what a deleted document holds: %w", err)
			}
			at.take(&forward, lengths[unit], seen)
		}
	}
	return nil
}

func (l *Lost) source(id string) *loss {
	at := l.sources[id]
	if at == nil {
		at = &loss{holders: make(map[uint32]int)}
		l.sources[id] = at
	}
	return at
}

// take counts one unit. Seen is room to work in.
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

// sum returns the same losses in one layer.
func (l *Lost) sum() *Lost {
	out := &Lost{sources: make(map[string]*loss)}
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

// of returns how many units of a source were lost, and their length.
func (l *Lost) of(source string) (units int, length uint64) {
	for ; l != nil; l = l.before {
		if at := l.sources[source]; at != nil {
			units += at.units
			length += at.length
		}
	}
	return units, length
}

// holders returns how many units of a source that hold a term were lost.
func (l *Lost) holders(source string, ord uint32) int {
	n := 0
	for ; l != nil; l = l.before {
		if at := l.sources[source]; at != nil {
			n += at.holders[ord]
		}
	}
	return n
}
