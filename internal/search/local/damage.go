package local

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"carrel/internal/search/segment"
)

// guard runs f, which reads segments, and takes a panic for damage. What a segment reads is verified once; a disk
// that goes bad later, or a file that is overwritten or cut short while it is open, would otherwise end the process.
// Where there is no damage to be found, the error is a mistake of ours, and says where.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			mistake, ok := r.(runtime.Error)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%w: %w\n%s", segment.ErrDamaged, mistake, debug.Stack())
		}
	}()
	return f()
}

// dropDamaged looks for damage in the segments of a snapshot and drops those that have any from the index: their
// spans are Missing then. It reports whether reading again finds less damage than before.
func (ix *Index) dropDamaged(ctx context.Context, s *snapshot) bool {
	ix.repair.Lock()
	defer ix.repair.Unlock()
	parts := s.files()
	if slices.ContainsFunc(parts, func(p *part) bool { return p.file.damaged.Load() }) {
		return true // another reader of the same snapshot was first
	}
	damaged := make(map[*file]error)
	for _, p := range parts {
		if ctx.Err() != nil {
			return false
		}
		if err := p.file.Verify(); isDamage(err) {
			p.file.damaged.Store(true)
			damaged[p.file] = err
		}
	}
	if len(damaged) == 0 {
		return false
	}
	ix.drop(s, damaged)
	return true
}

// verify reads every segment that searches read and drops the damaged ones. It reports whether there were any.
func (ix *Index) verify(ctx context.Context) bool {
	s, err := ix.acquire()
	if err != nil {
		return false
	}
	defer s.release()
	for _, p := range s.files() {
		if ctx.Err() != nil {
			return false
		}
		// Searches that come upon damage wait for one another, and so not for this.
		if isDamage(p.file.Verify()) {
			return ix.dropDamaged(ctx, s)
		}
	}
	return false
}

// dropDamagedNow is dropDamaged for the index as it is.
func (ix *Index) dropDamagedNow(ctx context.Context) {
	if s, err := ix.acquireCurrent(); err == nil {
		defer s.release()
		ix.dropDamaged(ctx, s)
	}
}

// drop takes damaged files out of the index.
func (ix *Index) drop(s *snapshot, damaged map[*file]error) {
	if ix.stopServing(s) {
		// The index is being built anew anyway: what there is of the new one answers from now on.
		ix.log.Warn("the search index that served during the rebuild is damaged")
		return
	}
	err := ix.change(func(d *draft) error {
		for _, p := range d.parts {
			if err := damaged[p.file]; p.file != nil && err != nil {
				d.broken[p] = err
			}
		}
		return nil
	})
	if err != nil {
		ix.log.Error("drop damaged segments of the search index", "error", err)
		ix.hide(damaged)
	}
}

// hide takes damaged files out of what searches read when the disk does not take a new manifest. They are found
// damaged again after a restart.
func (ix *Index) hide(damaged map[*file]error) {
	ix.commit.Lock()
	defer ix.commit.Unlock()
	s, err := ix.acquireCurrent()
	if err != nil {
		return
	}
	defer s.release()
	parts := slices.DeleteFunc(slices.Clone(s.parts), func(p *part) bool { return p.file != nil && damaged[p.file] != nil })
	ix.publish(&draft{parts: parts, graves: s.graves}, false)
}

// restart begins the index anew, empty. Searches go on reading the old one until caughtUp if they are to be kept
// going: not when it may be of other documents.
func (ix *Index) restart(keepServing bool) error {
	if err := ix.fs.MkdirAll(ix.dir); err != nil {
		return err
	}
	return ix.replace(func(d *draft) error {
		d.parts, d.graves = nil, nil
		return nil
	}, keepServing)
}

// Rebuild empties the index, so that the whole log is missing. Searches find only what has been applied since.
func (ix *Index) Rebuild() error {
	ix.caughtUp()
	return ix.restart(false)
}

// caughtUp lets searches read the index that was built anew.
func (ix *Index) caughtUp() { ix.stopServing(nil) }

// stopServing lets go of the old index that answers during a rebuild, if it is this one; nil means any.
func (ix *Index) stopServing(s *snapshot) bool {
	ix.mu.Lock()
	old := ix.serving
	if old == nil || s != nil && s != old {
		ix.mu.Unlock()
		return false
	}
	ix.serving = nil
	ix.mu.Unlock()
	old.release()
	return true
}

// rebuilding says whether an old index answers searches.
func (ix *Index) rebuilding() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.serving != nil
}
