package local

import (
	"sync"
	"sync/atomic"

	"carrel/internal/search"
	"carrel/internal/search/rank"
	"carrel/internal/search/segment"
)

// part is what an index holds of one span. It is never changed: a change makes a new one of the same file.
type part struct {
	span       search.Span
	file       *file // nil when no document of the span is left
	deleted    *segment.Bits
	tombstones uint64 // the file that says what is deleted, 0 for none
	sum        uint32 // its checksum
	// purge says that the file still holds documents of a source that was deleted, and is to be written anew soon.
	purge bool
	lost  *lost
}

// newPart returns a part of the span with the deleted documents, nil for none.
func newPart(span search.Span, f *file, deleted *segment.Bits) *part {
	return &part{span: span, file: f, deleted: deleted, lost: &lost{}}
}

// resized returns the part with another span.
func (p *part) resized(span search.Span) *part {
	out := *p
	out.span = span
	return &out
}

// without returns the part with a larger set of deleted documents, whose tombstone file is still to be written.
func (p *part) without(deleted *segment.Bits) *part {
	out := newPart(p.span, p.file, deleted)
	out.purge = p.purge
	if before, ok := p.lost.known(); ok {
		out.lost.before, out.lost.already = before, p.deleted
	}
	return out
}

// view returns the part as ranking sees it.
func (p *part) view() (rank.View, error) {
	l, err := p.lost.get(p.file.Segment, p.deleted)
	return rank.View{Segment: p.file.Segment, Deleted: p.deleted, Lost: l}, err
}

// lost is what a part's deleted documents take from its statistics. It is worked out by the first search that needs
// it: a rebuild deletes much that nobody searches, and opening has to be instant.
type lost struct {
	// before is what was known of the part that this one replaced, whose deleted documents were already.
	before  *rank.Lost
	already *segment.Bits

	once  sync.Once
	done  atomic.Bool
	value *rank.Lost
	err   error
}

func (l *lost) get(s *segment.Segment, deleted *segment.Bits) (*rank.Lost, error) {
	l.once.Do(func() {
		var added []uint32
		for doc := range deleted.All() {
			if !l.already.Get(doc) {
				added = append(added, doc)
			}
		}
		l.value = l.before
		if len(added) > 0 {
			l.value, l.err = l.before.Without(s, added)
		}
		l.done.Store(true)
	})
	return l.value, l.err
}

// known returns what was worked out already, if it was.
func (l *lost) known() (*rank.Lost, bool) {
	if !l.done.Load() || l.err != nil {
		return nil, false
	}
	return l.value, true
}

// alive is how many of the part's documents are not deleted.
func (p *part) alive() int {
	if p.file == nil {
		return 0
	}
	return p.file.Documents() - p.deleted.Count()
}
