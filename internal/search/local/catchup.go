package local

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"carrel/internal/search"
)

// longRun is the number of missing changes from which progress is logged.
const longRun = 5000

// catchUpRun is one run that applies everything that is missing.
type catchUpRun struct {
	f         *Follower
	head      uint64
	missing   uint64 // at the start
	started   time.Time
	documents atomic.Int64
}

// fill applies the missing spans: one goroutine reads ahead, several build segments.
func (f *Follower) fill(ctx context.Context, head uint64, gaps []search.Span) error {
	p := &catchUpRun{f: f, head: head, missing: totalLen(gaps), started: time.Now()}
	big := p.missing >= longRun
	if big {
		f.o.Log.Info("search index is catching up", "missing", p.missing, "head", head)
	}
	f.observe(head, p)
	batches := make(chan changeBatch)
	group, work := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		return f.read(work, gaps, f.evenBatch(p.missing), batches)
	})
	for range f.o.Builders {
		group.Go(func() error { return p.build(work, batches) })
	}
	finished := make(chan error, 1)
	go func() { finished <- group.Wait() }()
	err := p.logProgress(finished)
	f.observe(head, p)
	if big {
		took := time.Since(p.started)
		f.o.Log.Info("search index has caught up", "documents", p.documents.Load(), "took", took.Round(time.Millisecond),
			"perSecond", int(perSecond(p.documents.Load(), took)), "complete", err == nil)
	}
	return err
}

// logProgress logs progress until the run is finished.
func (p *catchUpRun) logProgress(finished <-chan error) error {
	ticker := time.NewTicker(p.f.o.ReportEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-finished:
			return err
		case <-ticker.C:
			now := p.f.observe(p.head, p)
			p.f.o.Log.Info("search index is catching up", "documents", now.Documents, "perSecond", int(now.PerSecond),
				"percent", int(now.Percent()), "remaining", now.Remaining.Round(time.Second))
			p.f.reportAdvance()
		}
	}
}

// changeBatch are the changes of one segment.
type changeBatch struct {
	span    search.Span
	changes []search.Change
	bytes   int
}

// build applies batches until the channel is closed.
func (p *catchUpRun) build(ctx context.Context, batches <-chan changeBatch) error {
	for b := range batches {
		if err := p.f.index.Apply(ctx, b.span, b.changes); err != nil {
			return err
		}
		p.documents.Add(int64(len(b.changes)))
		signal(p.f.merges)
	}
	return nil
}

// evenBatch returns the size of a batch. The batches of a long run are equal, so that all builders end together.
func (f *Follower) evenBatch(missing uint64) int {
	if missing < longRun {
		return f.o.BatchDocuments
	}
	return EvenBatch(int(missing), f.o.Builders, f.o.BatchDocuments)
}

// EvenBatch returns the size of the batches in which several builders index n documents with as few batches as possible
// and the same number for each builder.
func EvenBatch(n, builders, limit int) int {
	rounds := (n-1)/(builders*limit) + 1
	return (n-1)/(builders*rounds) + 1
}

// read splits the changes of the spans into batches of so many documents.
func (f *Follower) read(
	ctx context.Context, spans []search.Span, documents int, batches chan<- changeBatch,
) error {
	pages := pager{limit: firstPage}
	for _, span := range spans {
		b := changeBatch{span: span}
		for at, done := span.After, false; !done; {
			limit := min(pages.limit, documents-len(b.changes))
			page, err := f.changes.Changes(ctx, at, span.Through, limit)
			if err != nil {
				return fmt.Errorf("read the change log: %w", err)
			}
			b.add(page)
			done = len(page) < limit
			if !done {
				last := page[len(page)-1].Seq
				if last <= at {
					return fmt.Errorf("read the change log: change %d comes after %d", last, at)
				}
				at = last
				done = at == span.Through
			}
			pages.adapt(page)
			if !done && len(b.changes) < documents && b.bytes < f.o.BatchBytes {
				continue
			}
			b.span.Through = at
			if done {
				b.span.Through = span.Through
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
			b = changeBatch{span: search.Span{After: b.span.Through}}
		}
	}
	return nil
}

func (b *changeBatch) add(page []search.Change) {
	b.changes = append(b.changes, page...)
	b.bytes += sizeOf(page)
}

// sizeOf estimates the memory of the changes.
func sizeOf(changes []search.Change) int {
	size := 0
	for i := range changes {
		d := &changes[i].Document
		size += len(d.Title) + len(d.Text)
		if d.Vectors != nil {
			size += 4 * d.Vectors.Dims * len(d.Vectors.Passages)
		}
	}
	return size
}

// pager adapts how many changes are read at once, because documents vary from notes to books.
type pager struct{ limit int }

const (
	firstPage = 8
	maxPage   = 2048
	pageBytes = 4 << 20
)

func (p *pager) adapt(page []search.Change) {
	size := sizeOf(page)
	switch {
	case size > 2*pageBytes:
		p.limit = max(1, p.limit/2)
	case size < pageBytes/2:
		p.limit = min(maxPage, 2*p.limit)
	}
}

func totalLen(spans []search.Span) uint64 {
	n := uint64(0)
	for _, s := range spans {
		n += s.Through - s.After
	}
	return n
}
