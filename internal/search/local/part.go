package local

import (
	"sync"
	"sync/atomic"

	"carrel/internal/search"
	"carrel/internal/search/local/rank"
	"carrel/internal/search/local/segment"
)

// part is the content of the index for one span. It is immutable: a change makes a new part with the same file.
type part struct {
	span       search.Span
	file       *file // nil if the span has no documents
	deleted    *segment.Bits
	tombstones uint64 // number of the tombstone file, 0 for none
	sum        uint32 // checksum of the tombstone file
	// purge means that the file holds documents of a deleted source and must be rewritten.
	purge          bool
	lostStatistics *lostStatistics
}

func newPart(span search.Span, f *file, deleted *segment.Bits) *part {
	return &part{span: span, file: f, deleted: deleted, lostStatistics: &lostStatistics{}}
}

func (p *part) resized(span search.Span) *part {
	out := *p
	out.span = span
	return &out
}

// without returns the part with more deleted documents, before their tombstone file is written.
func (p *part) without(deleted *segment.Bits) *part {
	out := newPart(p.span, p.file, deleted)
	out.purge = p.purge
	if before, ok := p.lostStatistics.known(); ok {
		out.lostStatistics.before, out.lostStatistics.already = before, p.deleted
	}
	return out
}

// view returns the part for ranking.
func (p *part) view() (rank.View, error) {
	l, err := p.lostStatistics.get(p.file.Segment, p.deleted)
	return rank.View{Segment: p.file.Segment, Deleted: p.deleted, Deductions: l}, err
}

// lostStatistics caches the statistics of the deleted documents. They are computed by the first search that needs them,
// because opening an index must be fast, and a rebuild deletes many documents before any search.
type lostStatistics struct {
	// before are the statistics of the part that this one replaced, and already the documents they include.
	before  *rank.Deductions
	already *segment.Bits

	once  sync.Once
	done  atomic.Bool
	value *rank.Deductions
	err   error
}

func (l *lostStatistics) get(s *segment.Segment, deleted *segment.Bits) (*rank.Deductions, error) {
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

// known returns the statistics if they have been computed.
func (l *lostStatistics) known() (*rank.Deductions, bool) {
	if !l.done.Load() || l.err != nil {
		return nil, false
	}
	return l.value, true
}

// liveDocuments returns the number of documents that are not deleted.
func (p *part) liveDocuments() int {
	if p.file == nil {
		return 0
	}
	return p.file.Documents() - p.deleted.Count()
}
