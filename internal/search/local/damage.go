package local

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"carrel/internal/search/local/segment"
)

// catchFaults runs f, which reads segments, and turns a memory fault or a bounds error into segment.ErrDamaged. Pages
// are verified when they are first used; a disk that fails later, or a file that is overwritten or truncated while it
// is mapped, would otherwise crash the process. The stack is kept in case the cause is a bug and not damage.
func catchFaults(f func() error) (err error) {
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

// dropDamaged verifies the segments of a snapshot and drops the damaged ones from the index, so that their spans are
// missing. It reports whether a retry will find less damage.
func (ix *Index) dropDamaged(ctx context.Context, s *snapshot) bool {
	ix.repair.Lock()
	defer ix.repair.Unlock()
	parts := s.files()
	if slices.ContainsFunc(parts, func(p *part) bool { return p.file.damaged.Load() }) {
		return true // another reader of the same snapshot has found the damage
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

// verify reads every segment that searches use and drops the damaged ones. It reports whether there were any.
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
		// Verify without the repair lock, which searches hold only after they have met damage.
		if isDamage(p.file.Verify()) {
			return ix.dropDamaged(ctx, s)
		}
	}
	return false
}

// dropDamagedNow is dropDamaged for the current snapshot.
func (ix *Index) dropDamagedNow(ctx context.Context) {
	if s, err := ix.acquireCurrent(); err == nil {
		defer s.release()
		ix.dropDamaged(ctx, s)
	}
}

// drop removes damaged files from the index.
func (ix *Index) drop(s *snapshot, damaged map[*file]error) {
	if ix.stopServing(s) {
		// The index is being rebuilt, so the new one serves searches from now on, as far as it has come.
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
		ix.hideDamaged(damaged)
	}
}

// hideDamaged removes damaged files from what searches read when no new manifest can be written. They are found again
// after a restart.
func (ix *Index) hideDamaged(damaged map[*file]error) {
	ix.commit.Lock()
	defer ix.commit.Unlock()
	s, err := ix.acquireCurrent()
	if err != nil {
		return
	}
	defer s.release()
	parts := slices.DeleteFunc(slices.Clone(s.parts), func(p *part) bool {
		return p.file != nil && damaged[p.file] != nil
	})
	ix.publish(&draft{parts: parts, deletions: s.deletions}, false)
}

// restart empties the index. With keepServing searches read the old content until endRebuild; they must not if it may
// belong to other documents.
func (ix *Index) restart(keepServing bool) error {
	if err := ix.fs.MkdirAll(ix.dir); err != nil {
		return err
	}
	return ix.replace(func(d *draft) error {
		d.parts, d.deletions, d.encoder = nil, nil, ix.encoderModel()
		return nil
	}, keepServing)
}

// Rebuild empties the index, so that the whole log is missing. Searches find only what has been applied since.
func (ix *Index) Rebuild() error {
	ix.endRebuild()
	return ix.restart(false)
}

// endRebuild ends a rebuild: searches read the new content.
func (ix *Index) endRebuild() { ix.stopServing(nil) }

// stopServing releases the old content that serves searches during a rebuild, if it is s or s is nil, and reports
// whether it did.
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

// rebuilding reports whether searches read old content.
func (ix *Index) rebuilding() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.serving != nil
}
