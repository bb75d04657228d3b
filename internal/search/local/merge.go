package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/local/segment"
)

// errPartsGone means that the index lost a part while it was being merged.
var errPartsGone = errors.New("parts are gone from the search index")

// anyLevel allows parts of every size to be merged.
const anyLevel = 64

// Merge runs the most urgent merge, if there is one, and reports whether it did. Searches and Apply are not blocked.
func (ix *Index) Merge(ctx context.Context) (bool, error) {
	return ix.merge(ctx, func(parts []*part, busy map[uint64]bool) []*part {
		return ix.policy.choose(parts, busy, anyLevel)
	})
}

// mergeSmall is Merge for the smallest parts. It is short enough to run between two spans, even while a large merge is
// running.
func (ix *Index) mergeSmall(ctx context.Context) (bool, error) {
	return ix.merge(ctx, func(parts []*part, busy map[uint64]bool) []*part { return ix.policy.choose(parts, busy, 0) })
}

// Purge rewrites the segments that hold documents of deleted sources, so that none of their words stays on the disk. A
// Follower does the same in the background.
func (ix *Index) Purge(ctx context.Context) error {
	for {
		if merged, err := ix.merge(ctx, ix.policy.purge); err != nil || !merged {
			return err
		}
	}
}

// merge merges the chosen parts into one segment.
func (ix *Index) merge(ctx context.Context, choose func([]*part, map[uint64]bool) []*part) (bool, error) {
	s, inputs, err := ix.claim(choose)
	if err != nil || inputs == nil {
		return false, err
	}
	defer s.release()
	defer ix.unclaim(inputs)
	err = ix.mergeParts(ctx, inputs)
	switch {
	case err == nil, errors.Is(err, errPartsGone):
		return true, nil
	case isDamage(err) && ix.dropDamaged(ctx, s):
		return true, nil
	}
	return false, fmt.Errorf("merge segments: %w", err)
}

// claim chooses parts of the current snapshot and reserves them for this merge. The caller releases the snapshot.
func (ix *Index) claim(choose func([]*part, map[uint64]bool) []*part) (*snapshot, []*part, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil, nil, search.ErrClosed
	}
	chosen := choose(ix.current.parts, ix.merging)
	if len(chosen) == 0 {
		return nil, nil, nil
	}
	for _, p := range chosen {
		ix.merging[p.file.number] = true
	}
	ix.current.holders.Add(1)
	return ix.current, slices.Clone(chosen), nil
}

func (ix *Index) unclaim(parts []*part) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, p := range parts {
		delete(ix.merging, p.file.number)
	}
}

func (ix *Index) mergeParts(ctx context.Context, parts []*part) error {
	inputs := make([]segment.Input, len(parts))
	documents := 0
	for i, p := range parts {
		inputs[i] = segment.Input{Segment: p.file.Segment, Deleted: p.deleted}
		documents += p.liveDocuments()
	}
	f, err := ix.writeSegment(func(path string) error {
		return catchFaults(func() error { return segment.Merge(ctx, ix.fs, path, inputs) })
	})
	if err != nil {
		return err
	}
	defer f.release()
	return ix.change(func(d *draft) error {
		d.added = append(d.added, f)
		if f.Documents() != documents {
			return fmt.Errorf("merged segment has %d documents, not %d", f.Documents(), documents)
		}
		if err := ix.checkPresent(); err != nil {
			return err
		}
		return d.replaceMerged(parts, f)
	})
}

// replaceMerged replaces the merged parts by the new file, and deletes from it the documents that were deleted since
// the merge began.
func (d *draft) replaceMerged(merged []*part, f *file) error {
	at := slices.IndexFunc(d.parts, func(p *part) bool { return p.file == merged[0].file })
	if at < 0 || at+len(merged) > len(d.parts) {
		return errPartsGone
	}
	now := d.parts[at : at+len(merged)]
	for i, p := range now {
		if p.file != merged[i].file {
			return errPartsGone
		}
	}
	out := newPart(search.Span{After: now[0].span.After, Through: now[len(now)-1].span.Through}, f, nil)
	for i, p := range now {
		if err := d.carryDeletions(p, merged[i].deleted, out); err != nil {
			return err
		}
		if p.purge && p.deleted.Count() > merged[i].deleted.Count() {
			d.purge[out] = true // a source was deleted during the merge
		}
	}
	d.parts = slices.Replace(d.parts, at, at+len(merged), out)
	return nil
}

// carryDeletions deletes from the merged part the documents that were deleted from an input since the merge began.
func (d *draft) carryDeletions(p *part, before *segment.Bits, merged *part) error {
	for doc := range p.deleted.All() {
		if before.Get(doc) {
			continue
		}
		id, err := p.file.ID(doc)
		if err != nil {
			return err
		}
		twin, ok, err := merged.file.FindID(id)
		if err != nil {
			return err
		}
		if !ok || merged.file.Seq(twin) != p.file.Seq(doc) {
			return fmt.Errorf("merged segment lacks a document: %w", segment.ErrDamaged)
		}
		d.delete(merged, twin)
	}
	return nil
}
