package local

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"carrel/internal/search"
)

// bigPass is how many numbers of the log must be missing for their filling to be worth a line in the log.
const bigPass = 5000

// pass is one filling of all that is missing.
type pass struct {
	f         *Follower
	head      uint64
	missing   uint64 // when it began
	started   time.Time
	documents atomic.Int64
}

// fill fills in the gaps: one goroutine reads ahead, several build.
func (f *Follower) fill(ctx context.Context, head uint64, gaps []search.Span) error {
	p := &pass{f: f, head: head, missing: numbers(gaps), started: time.Now()}
	big := p.missing >= bigPass
	if big {
		f.o.Log.Info("search index is being filled", "missing", p.missing, "head", head)
	}
	f.observe(head, p)
	batches := make(chan batchOfChanges)
	group, work := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		return f.read(work, gaps, batches)
	})
	for range f.o.Builders {
		group.Go(func() error { return p.build(work, batches) })
	}
	finished := make(chan error, 1)
	go func() { finished <- group.Wait() }()
	err := p.attend(finished)
	f.observe(head, p)
	if big {
		took := time.Since(p.started)
		f.o.Log.Info("search index has been filled", "documents", p.documents.Load(), "took", took.Round(time.Millisecond),
			"perSecond", int(perSecond(p.documents.Load(), took)), "complete", err == nil)
	}
	return err
}

// attend reports progress until the pass is finished.
func (p *pass) attend(finished <-chan error) error {
	ticker := time.NewTicker(p.f.o.ReportEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-finished:
			return err
		case <-ticker.C:
			now := p.f.observe(p.head, p)
			p.f.o.Log.Info("search index is being filled", "documents", now.Documents, "perSecond", int(now.PerSecond),
				"percent", int(now.Percent()), "remaining", now.Remaining.Round(time.Second))
			p.f.tell()
		}
	}
}

// batchOfChanges is what one segment is built of.
type batchOfChanges struct {
	span    search.Span
	changes []search.Change
	bytes   int
}

// build fills the index with batches until there are no more.
func (p *pass) build(ctx context.Context, batches <-chan batchOfChanges) error {
	for b := range batches {
		if err := p.f.index.Apply(ctx, b.span, b.changes); err != nil {
			return err
		}
		p.documents.Add(int64(len(b.changes)))
		signal(p.f.merges)
	}
	return nil
}

// read hands out the changes of the spans in batches.
func (f *Follower) read(ctx context.Context, spans []search.Span, batches chan<- batchOfChanges) error {
	pages := pager{limit: firstPage}
	for _, span := range spans {
		b := batchOfChanges{span: span}
		for at, done := span.After, false; !done; {
			page, err := f.changes.Changes(ctx, at, span.Through, pages.limit)
			if err != nil {
				return fmt.Errorf("read the change log: %w", err)
			}
			b.add(page)
			done = len(page) < pages.limit
			if !done {
				last := page[len(page)-1].Seq
				if last <= at {
					return fmt.Errorf("read the change log: change %d comes after %d", last, at)
				}
				at = last
				done = at == span.Through
			}
			pages.adapt(page)
			if !done && len(b.changes) < f.o.BatchDocuments && b.bytes < f.o.BatchBytes {
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
			b = batchOfChanges{span: search.Span{After: b.span.Through}}
		}
	}
	return nil
}

func (b *batchOfChanges) add(page []search.Change) {
	b.changes = append(b.changes, page...)
	b.bytes += sizeOf(page)
}

// sizeOf is about how much memory the changes take.
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

// pager finds out how many changes to ask for at once. Documents may be notes or whole books.
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

func numbers(spans []search.Span) uint64 {
	n := uint64(0)
	for _, s := range spans {
		n += s.Through - s.After
	}
	return n
}
