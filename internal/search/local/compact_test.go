package local

import "context"

// Compact merges as many segments as fit together.
func (ix *Index) Compact(ctx context.Context) error {
	for {
		if merged, err := ix.merge(ctx, ix.policy.compact); err != nil || !merged {
			return err
		}
	}
}

// compact returns the next parts to merge so that as few as possible are left, without deleted documents.
func (y policy) compact(parts []*part, busy map[uint64]bool) []*part {
	for _, run := range y.runs(parts, busy) {
		for len(run) > 0 {
			n := max(1, y.fitting(run))
			if n > 1 || run[0].deleted.Count() > 0 {
				return run[:n]
			}
			run = run[n:]
		}
	}
	return nil
}
