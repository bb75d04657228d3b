package local

import "time"

// Progress is how far an index is behind the documents.
type Progress struct {
	// Head is the newest number of the change log when it was last asked, and Through that up to which the index
	// holds everything.
	Head, Through uint64
	// Missing is how many numbers up to Head the index does not hold: searches do not find the documents of these.
	Missing uint64
	// Documents is how many the index took in since it last began to fill in, and PerSecond how many a second.
	Documents int
	PerSecond float64
	// Remaining is about how long the rest will take, 0 when that is not known.
	Remaining time.Duration
	// Rebuilding says that the index is built anew while an old one answers.
	Rebuilding bool
	// Error is why the last attempt failed, nil when it did not.
	Error error
}

// Percent is how much of the log the index holds.
func (p Progress) Percent() float64 {
	if p.Head == 0 {
		return 100
	}
	return 100 * float64(p.Head-min(p.Head, p.Missing)) / float64(p.Head)
}

// Progress returns how far the index is.
func (f *Follower) Progress() Progress {
	f.mu.Lock()
	p := f.progress
	f.mu.Unlock()
	// These move between observations, and are cheap to know.
	p.Through, _ = f.index.reach()
	p.Missing = numbers(f.index.gaps(p.Head))
	p.Rebuilding = f.index.rebuilding()
	return p
}

// observe notes how far the pass is, nil when nothing was missing.
func (f *Follower) observe(head uint64, p *pass) Progress {
	now := Progress{Head: head, Missing: numbers(f.index.gaps(head)), Rebuilding: f.index.rebuilding()}
	now.Through, _ = f.index.reach()
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

// failed notes the outcome of an attempt.
func (f *Follower) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress.Error = err
}

func perSecond(n int64, took time.Duration) float64 {
	return float64(n) / max(took.Seconds(), 0.001)
}
