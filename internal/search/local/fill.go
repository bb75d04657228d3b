package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/segment"
)

// Fill takes in the changes of a span that is Missing. They are durable and visible when it returns; when it fails,
// none of them is.
//
// It may run for several spans at once, in any order. A document changes while spans are read, so that an old
// version may arrive after a newer one or after its deletion: the change with the highest number wins always. It
// must be seen that the changes were read from the log while the span was missing, not before.
func (ix *Index) Apply(ctx context.Context, span search.Span, changes []search.Change) error {
	if span.Through <= span.After {
		return fmt.Errorf("fill the search index: span (%d, %d] is empty", span.After, span.Through)
	}
	b := newBatch(span, changes)
	if err := b.check(); err != nil {
		return err
	}
	if len(b.puts) > 0 {
		f, err := ix.build(ctx, b.puts)
		if err != nil {
			return fmt.Errorf("fill the search index: %w", err)
		}
		defer f.release()
		b.file = f
	}
	err := ix.change(b.apply)
	if isDamage(err) {
		ix.dropDamagedNow(ctx) // the next attempt finds it gone
	}
	if err != nil {
		return fmt.Errorf("fill the search index: %w", err)
	}
	return nil
}

// batch is what the changes of a span come to.
type batch struct {
	span search.Span
	puts []*search.Change
	gone []grave
	file *file // the segment of the puts
}

// newBatch finds the changes that count: the last one of each document.
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
			b.gone = append(b.gone, grave{ID: c.ID, Seq: c.Seq, Source: true})
		case search.Delete:
			latest[c.ID] = c.Seq
			b.gone = append(b.gone, grave{ID: c.ID, Seq: c.Seq})
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

// check refuses changes that are not the span's: the index would lose track of what it holds.
func (b *batch) check() error {
	for _, c := range b.puts {
		if !b.span.Contains(c.Seq) {
			return fmt.Errorf("fill the search index: change %d is not in (%d, %d]", c.Seq, b.span.After, b.span.Through)
		}
	}
	for _, g := range b.gone {
		if !b.span.Contains(g.Seq) {
			return fmt.Errorf("fill the search index: change %d is not in (%d, %d]", g.Seq, b.span.After, b.span.Through)
		}
	}
	return nil
}

// build writes the documents as a segment. The caller holds the file.
func (ix *Index) build(ctx context.Context, puts []*search.Change) (*file, error) {
	in := ix.indexers.take()
	defer ix.indexers.give(in)
	b := in.begin(puts)
	for i, c := range puts {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		in.add(b, c)
	}
	return ix.writeSegment(func(path string) error { return b.Write(ix.fs, path) })
}

// writeSegment has a segment written under a new number, and opens it.
func (ix *Index) writeSegment(write func(path string) error) (*file, error) {
	number := ix.number()
	path := segmentPath(ix.dir, number)
	err := write(path)
	var f *file
	if err == nil {
		f, err = openFile(ix.dir, number, ix.fs, ix.log)
	}
	if err != nil {
		_ = ix.fs.Remove(path) // whatever there is of it
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
	if err := d.ix.vanished(); err != nil {
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
	at, _ := slices.BinarySearchFunc(d.parts, b.span, func(p *part, s search.Span) int { return cmp.Compare(p.span.After, s.After) })
	d.parts = slices.Insert(d.parts, at, fresh)
	d.graves = append(d.graves, b.gone...)
	return nil
}

// supersede marks as deleted the older version of every document that is in the batch and in another part, and
// those of the batch's own that were deleted later than they were put.
func (b *batch) supersede(d *draft, fresh *part) error {
	removed, dropped := make(map[string]uint64), make(map[string]uint64)
	for _, g := range d.graves {
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

// remove marks as deleted what a deletion means in all parts: what was put before it.
func (d *draft) remove(g grave) error {
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
