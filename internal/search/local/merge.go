package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/segment"
)

// errOvertaken says that the index lost a part while it was being merged.
var errOvertaken = errors.New("parts are gone from the search index")

// anyLevel lets parts of every size be merged.
const anyLevel = 64

// Merge does the merge that is most due, if one is, and reports whether it did. Searches and fills go on meanwhile.
func (ix *Index) Merge(ctx context.Context) (bool, error) {
	return ix.merge(ctx, func(parts []*part, busy map[uint64]bool) []*part {
		return ix.policy.choose(parts, busy, anyLevel)
	})
}

// mergeSmall is Merge for the smallest parts alone. It takes so little time that whoever adds many can do it
// himself, even while a big merge is under way elsewhere.
func (ix *Index) mergeSmall(ctx context.Context) (bool, error) {
	return ix.merge(ctx, func(parts []*part, busy map[uint64]bool) []*part { return ix.policy.choose(parts, busy, 0) })
}

// Compact merges as much as fits together: an index that will be searched much and changed little is fastest so.
func (ix *Index) Compact(ctx context.Context) error {
	for {
		if merged, err := ix.merge(ctx, ix.policy.compact); err != nil || !merged {
			return err
		}
	}
}

// Purge writes the segments anew that hold documents of deleted sources, so that none of their words stays on the disk.
// A Follower does the same in the background.
func (ix *Index) Purge(ctx context.Context) error {
	for {
		if merged, err := ix.merge(ctx, ix.policy.purge); err != nil || !merged {
			return err
		}
	}
}

// merge makes one segment of the chosen parts.
func (ix *Index) merge(ctx context.Context, choose func([]*part, map[uint64]bool) []*part) (bool, error) {
	s, inputs, err := ix.claim(choose)
	if err != nil || inputs == nil {
		return false, err
	}
	defer s.release()
	defer ix.unclaim(inputs)
	err = ix.mergeParts(ctx, inputs)
	switch {
	case err == nil, errors.Is(err, errOvertaken):
		return true, nil
	case isDamage(err) && ix.dropDamaged(ctx, s):
		return true, nil
	}
	return false, fmt.Errorf("merge segments: %w", err)
}

// claim chooses parts of the current snapshot for this merge alone. The caller releases the snapshot.
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
		documents += p.alive()
	}
	f, err := ix.writeSegment(func(path string) error {
		return guard(func() error { return segment.Merge(ctx, ix.fs, path, inputs) })
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
		if err := ix.vanished(); err != nil {
			return err
		}
		return d.supplant(parts, f)
	})
}

// supplant puts the merged file in the place of the parts it was made of. What was deleted from them since the
// merge began is deleted from it too.
func (d *draft) supplant(merged []*part, f *file) error {
	at := slices.IndexFunc(d.parts, func(p *part) bool { return p.file == merged[0].file })
	if at < 0 || at+len(merged) > len(d.parts) {
		return errOvertaken
	}
	now := d.parts[at : at+len(merged)]
	for i, p := range now {
		if p.file != merged[i].file {
			return errOvertaken
		}
	}
	out := newPart(search.Span{After: now[0].span.After, Through: now[len(now)-1].span.Through}, f, nil)
	for i, p := range now {
		if err := d.carry(p, merged[i].deleted, out); err != nil {
			return err
		}
		if p.purge && p.deleted.Count() > merged[i].deleted.Count() {
			d.purge[out] = true // a source was deleted while the merge was under way
		}
	}
	d.parts = slices.Replace(d.parts, at, at+len(merged), out)
	return nil
}

// carry deletes from the merged part what was deleted from one of its inputs in addition to before.
func (d *draft) carry(p *part, before *segment.Bits, merged *part) error {
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
