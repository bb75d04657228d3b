package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"carrel/internal/processor"
	"carrel/internal/search"
	"carrel/internal/search/local/segment"
)

// Apply adds the changes of a missing span; see search.Engine.
func (ix *Index) Apply(ctx context.Context, span search.Span, changes []search.Change) error {
	if span.Through <= span.After {
		return fmt.Errorf("apply changes to the search index: span (%d, %d] is empty", span.After, span.Through)
	}
	b := newBatch(span, changes)
	if err := b.check(); err != nil {
		return err
	}
	if len(b.puts) > 0 {
		f, err := ix.build(ctx, b.puts)
		if err != nil {
			return fmt.Errorf("apply changes to the search index: %w", err)
		}
		defer f.release()
		b.file = f
	}
	err := ix.change(b.apply)
	if isDamage(err) {
		ix.dropDamagedNow(ctx) // so that the next attempt succeeds
	}
	if err != nil {
		return fmt.Errorf("apply changes to the search index: %w", err)
	}
	return nil
}

// batch is the net effect of the changes of a span.
type batch struct {
	span search.Span
	puts []*search.Change
	gone []deletion
	file *file // segment of the puts
}

// newBatch keeps the last change of each document.
func newBatch(span search.Span, changes []search.Change) *batch {
	b := &batch{span: span}
	ordered := make([]*search.Change, len(changes))
	for i := range changes {
		ordered[i] = &changes[i]
	}
	slices.SortStableFunc(ordered, func(x, y *search.Change) int { return cmp.Compare(x.Seq, y.Seq) })
	latest := make(map[string]uint64, len(changes))
	dropped := make(map[string]uint64)
	for _, c := range ordered {
		switch c.Op {
		case search.Drop:
			dropped[c.ID] = c.Seq
			b.gone = append(b.gone, deletion{ID: c.ID, Seq: c.Seq, Source: true})
		case search.Delete:
			latest[c.ID] = c.Seq
			b.gone = append(b.gone, deletion{ID: c.ID, Seq: c.Seq})
		default:
			latest[c.Document.ID] = c.Seq
		}
	}
	for _, c := range ordered {
		if c.Op == search.Put && latest[c.Document.ID] == c.Seq && dropped[c.Document.SourceID] < c.Seq {
			b.puts = append(b.puts, c)
		}
	}
	return b
}

// check rejects changes outside the span, which would leave the index with a wrong idea of what it holds.
func (b *batch) check() error {
	for _, c := range b.puts {
		if !b.span.Contains(c.Seq) {
			return b.outside(c.Seq)
		}
	}
	for _, d := range b.gone {
		if !b.span.Contains(d.Seq) {
			return b.outside(d.Seq)
		}
	}
	return nil
}

func (b *batch) outside(seq uint64) error {
	return fmt.Errorf("apply changes to the search index: %d is not in (%d, %d]", seq, b.span.After, b.span.Through)
}

// build writes the documents as a segment. The caller releases the file.
func (ix *Index) build(ctx context.Context, puts []*search.Change) (*file, error) {
	in := ix.indexers.take()
	defer ix.indexers.give(in)
	b := in.begin(puts)
	for rest := puts; len(rest) > 0; {
		if err := processor.Acquire(ctx); err != nil {
			return nil, err
		}
		n := in.add(b, rest)
		processor.Release()
		rest = rest[n:]
	}
	return ix.writeSegment(func(path string) error { return b.Write(ix.fs, path) })
}

// writeSegment writes a segment under a new number and opens it.
func (ix *Index) writeSegment(write func(path string) error) (*file, error) {
	number := ix.number()
	path := segmentPath(ix.dir, number)
	err := write(path)
	var f *file
	if err == nil {
		f, err = openFile(ix.dir, number, ix.fs, ix.log)
	}
	if err != nil {
		_ = ix.fs.Remove(path) // a partial file, if there is one
		return nil, err
	}
	return f, nil
}

// apply adds the batch to the draft.
func (b *batch) apply(d *draft) error {
	fresh := newPart(b.span, b.file, nil)
	if b.file != nil {
		d.added = append(d.added, b.file)
	}
	if err := d.ix.checkPresent(); err != nil {
		return err
	}
	for _, p := range d.parts {
		if p.span.Overlaps(b.span) {
			return search.ErrCovered
		}
	}
	if err := b.supersede(d, fresh); err != nil {
		return err
	}
	for _, g := range b.gone {
		if err := d.remove(g); err != nil {
			return err
		}
	}
	at, _ := slices.BinarySearchFunc(d.parts, b.span, func(p *part, s search.Span) int {
		return cmp.Compare(p.span.After, s.After)
	})
	d.parts = slices.Insert(d.parts, at, fresh)
	d.deletions = append(d.deletions, b.gone...)
	return nil
}

// supersede marks older versions of the batch's documents in other parts as deleted, and documents of the batch that
// other parts hold in a newer version or that were deleted later.
func (b *batch) supersede(d *draft, fresh *part) error {
	removed, dropped := make(map[string]uint64), make(map[string]uint64)
	for _, g := range d.deletions {
		if g.Source {
			dropped[g.ID] = max(dropped[g.ID], g.Seq)
		} else {
			removed[g.ID] = max(removed[g.ID], g.Seq)
		}
	}
	for _, c := range b.puts {
		id := c.Document.ID
		stale := c.Seq < removed[id] || c.Seq < dropped[c.Document.SourceID]
		for _, p := range d.parts {
			doc, ok, err := d.find(p, id)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if p.file.Seq(doc) < c.Seq {
				d.delete(p, doc)
			} else {
				stale = true
			}
		}
		if !stale {
			continue
		}
		doc, ok, err := fresh.file.FindID(id)
		if err != nil || !ok {
			return fmt.Errorf("a document just written is not found: %w", cmp.Or(err, segment.ErrDamaged))
		}
		d.delete(fresh, doc)
		d.purge[fresh] = d.purge[fresh] || c.Seq < dropped[c.Document.SourceID]
	}
	return nil
}

// remove marks the documents as deleted that were put before the deletion.
func (d *draft) remove(g deletion) error {
	for _, p := range d.parts {
		if p.file == nil {
			continue
		}
		if g.Source {
			r, _ := p.file.Source(g.ID)
			for doc := r.FirstDoc; doc < r.EndDoc && p.file.Seq(doc) < g.Seq; doc++ {
				d.delete(p, doc)
				d.purge[p] = true
			}
			continue
		}
		doc, ok, err := d.find(p, g.ID)
		if err != nil {
			return err
		}
		if ok && p.file.Seq(doc) < g.Seq {
			d.delete(p, doc)
		}
	}
	return nil
}
