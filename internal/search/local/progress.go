package local

import "time"

// Progress is the state of an index relative to the change log.
type Progress struct {
	// Head is the latest known head of the change log, and Through the number up to which the index holds everything.
	Head, Through uint64
	// Missing is how many numbers up to Head the index does not hold.
	Missing uint64
	// Documents is how many changes have been applied since the index last fell behind, and PerSecond their rate.
	Documents int
	PerSecond float64
	// Remaining estimates the time until the index has caught up; 0 if unknown.
	Remaining time.Duration
	// Rebuilding means that searches read old content while the index is rebuilt.
	Rebuilding bool
	// Error is the error of the last attempt, or nil.
	Error error
}

// Percent returns the share of the log that the index holds.
func (p Progress) Percent() float64 {
	if p.Head == 0 {
		return 100
	}
	return 100 * float64(p.Head-min(p.Head, p.Missing)) / float64(p.Head)
}

// Progress returns the present state of the index.
func (f *Follower) Progress() Progress {
	f.mu.Lock()
	p := f.progress
	f.mu.Unlock()
	// These change between observations and are cheap to compute.
	p.Through, _ = f.index.coveredThrough()
	p.Missing = totalLen(f.index.gaps(p.Head))
	p.Rebuilding = f.index.rebuilding()
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
