package local

import (
	"time"

	"carrel/internal/search"
)

// Progress is the state of an index relative to the change log.
type Progress = search.Progress

// Progress returns the present state of the index.
func (f *Follower) Progress() Progress {
	f.mu.Lock()
	p, complete := f.progress, f.completeAt
	f.mu.Unlock()
	// These change between observations and are cheap to compute.
	p.Through, _ = f.index.coveredThrough()
	p.Missing = totalLen(f.index.gaps(p.Head))
	p.Rebuilding = f.index.rebuilding()
	if p.Missing > 0 || p.Error != nil {
		p.Behind = time.Since(complete)
	}
	return p
}

// observe records the progress of a run, which is nil if nothing was missing.
func (f *Follower) observe(head uint64, p *catchUpRun) Progress {
	now := Progress{Head: head, Missing: totalLen(f.index.gaps(head)), Rebuilding: f.index.rebuilding()}
	now.Through, _ = f.index.coveredThrough()
	if p != nil {
		took := time.Since(p.started)
		now.Documents = int(p.documents.Load())
		now.PerSecond = perSecond(p.documents.Load(), took)
		if filled := p.missing - min(p.missing, now.Missing); filled > 0 {
			now.Remaining = time.Duration(float64(took) * float64(now.Missing) / float64(filled))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = now
	if now.Missing == 0 {
		f.completeAt = time.Now()
	}
	return now
}

// setError records the outcome of an attempt.
func (f *Follower) setError(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress.Error = err
}

func perSecond(n int64, took time.Duration) float64 {
	return float64(n) / max(took.Seconds(), 0.001)
}
