package local

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"carrel/internal/search/local/segment"
)

// snapshot is the index at one moment. Readers hold it while they read, so that its files stay open.
type snapshot struct {
	parts     []*part // sorted by span
	deletions []deletion
	holders   atomic.Int64
	count     func() counts
}

// newSnapshot returns a snapshot that is held once.
func newSnapshot(parts []*part, deletions []deletion) *snapshot {
	s := &snapshot{parts: parts, deletions: deletions}
	s.count = sync.OnceValue(func() counts { return countParts(parts) })
	s.holders.Store(1)
	for _, p := range parts {
		if p.file != nil {
			p.file.holders.Add(1)
		}
	}
	return s
}

func (s *snapshot) release() {
	if s.holders.Add(-1) > 0 {
		return
	}
	releaseParts(s.parts)
}

func releaseParts(parts []*part) {
	for _, p := range parts {
		if p.file != nil {
			p.file.release()
		}
	}
}

// files returns the parts that have documents.
func (s *snapshot) files() []*part {
	return slices.DeleteFunc(slices.Clone(s.parts), func(p *part) bool { return p.file == nil })
}

// counts are the totals of a snapshot, without deleted documents.
type counts struct {
	documents, deleted, units int
	bytes                     int64
	segments                  int
	sources                   map[string]int
}

func countParts(parts []*part) counts {
	c := counts{sources: make(map[string]int)}
	for _, p := range parts {
		if p.file == nil {
			continue
		}
		c.segments++
		c.bytes += p.file.Size()
		c.units += p.file.Units()
		c.documents += p.liveDocuments()
		c.deleted += p.deleted.Count()
		sources := p.file.Sources()
		for _, r := range sources {
			c.sources[r.Source] += int(r.EndDoc - r.FirstDoc)
		}
		first := p.file.FirstUnits()
		for doc := range p.deleted.All() {
			c.sources[sourceOf(sources, doc)]--
			c.units -= int(first[doc+1] - first[doc])
		}
	}
	for source, n := range c.sources {
		if n == 0 {
			delete(c.sources, source)
		}
	}
	return c
}

// sourceOf returns the source of a document of a segment.
func sourceOf(sources []segment.Range, doc uint32) string {
	return sources[sort.Search(len(sources), func(i int) bool { return sources[i].EndDoc > doc })].Source
}
