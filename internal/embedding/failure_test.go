package embedding_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/embedding"
	"carrel/internal/model"
	"carrel/internal/testkit"
)

func TestUnreachableEndpointIsRetriedWithBackoffAndLoggedOnce(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.put(f.sources[0], 1, "a: x")
		f.endpoint.Break(testkit.EmbeddingsStatus(401, "", ""))
		n := f.start(true)
		f.must(n.Check(t.Context()))
		var last time.Time
		for try := 1; try <= 4; try++ {
			f.eventually("the task waits", func() bool {
				active, ok := f.active()
				return ok && active.Owner == "" && active.RunAt.After(last)
			})
			active, _ := f.active()
			least := 5 * time.Second << (try - 1)
			if wait := active.RunAt.Sub(f.clock.Now()); wait < least || wait > least+least/10 {
				t.Errorf("after try %d it waits %v", try, wait)
			}
			f.must(n.Check(t.Context())) // submits no second task
			last = active.RunAt
			f.clock.Set(active.RunAt)
		}
		f.eventually("another try", func() bool { return f.endpoint.Calls() == 5 })
		f.same("logged", n.logged("CARREL_EMBEDDINGS_API_KEY"), 1)
		f.endpoint.Break(nil)
		f.eventually("the end", func() bool {
			active, ok := f.active()
			if ok && active.RunAt.After(f.clock.Now()) {
				f.clock.Set(active.RunAt)
			}
			return !ok
		})
		f.same("found", n.found(), map[string]string{"a": "1/1"})
		f.same("logged at the end", n.logged("computing vectors works again"), 1)
	})
}

func TestRetryAfterOfTheEndpointIsHonoured(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.put(f.sources[0], 1, "a: x")
		f.endpoint.Fail(nil, testkit.EmbeddingsStatus(429, "600", ""))
		n := f.start(true)
		f.must(n.Check(t.Context()))
		f.eventually("the task waits", func() bool {
			active, ok := f.active()
			return ok && active.RunAt.Sub(f.clock.Now()) >= 10*time.Minute
		})
		f.clock.Advance(11 * time.Minute)
		n.settle()
		f.same("found", n.found(), map[string]string{"a": "1/1"})
	})
}

func TestRejectedTextsDoNotBlockOtherDocuments(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			onBoth(t, func(f *fixture) {
				var docs []string
				for i := range 20 {
					docs = append(docs, fmt.Sprintf("d%02d: text", i))
				}
				docs[7], docs[13] = "odd: poison", "long: "+strings.Repeat("good ", 200)+"poison"
				f.put(f.sources[0], 1, docs...)
				f.endpoint.Break(f.endpoint.Refuse("poison", status))
				n := f.start(true)
				n.settle()
				found := n.found()
				f.same("all", len(found), 20)
				f.same("refused", found["odd"], "0/1")
				f.same("cut", found["long"], "1/1")
				delete(found, "odd")
				for title, made := range found {
					f.same(title, made, "1/1")
				}
				calls := f.endpoint.Calls()
				f.put(f.sources[0], 2, "odd: poison")
				f.put(f.sources[1], 1, "odd: poison")
				n.settle()
				f.same("calls for a text that is known to be refused", f.endpoint.Calls(), calls)
			})
		})
	}
}

func TestEndpointThatRejectsEverythingMarksNoTextAsRejected(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.put(f.sources[0], 1, "a: x", "b: y")
		f.endpoint.Fail(nil) // for the probe of the length
		f.endpoint.Break(testkit.EmbeddingsStatus(400, "", "no"))
		n := f.start(true)
		f.must(n.Check(t.Context()))
		f.waitForRetry()
		f.same("calls", f.endpoint.Calls(), 3) // length probe, batch, probe
		f.endpoint.Break(nil)
		f.clock.Advance(time.Minute)
		n.settle()
		f.same("found", n.found(), map[string]string{"a": "1/1", "b": "1/1"})
	})
}

func TestEndpointThatStartsToRejectEverythingMarksNoTextAsRejected(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.put(f.sources[0], 1, "a: x")
		f.endpoint.Fail(nil, testkit.EmbeddingsStatus(400, "", "no"), nil) // length probe, text, successful probe
		f.endpoint.Break(testkit.EmbeddingsStatus(400, "", "no"))
		n := f.start(true)
		f.must(n.Check(t.Context()))
		f.waitForRetry()
		f.endpoint.Break(nil)
		f.clock.Advance(time.Minute)
		n.settle()
		f.same("found", n.found(), map[string]string{"a": "1/1"})
	})
}

// gate wraps a store and is called before and after vectors are stored.
type gate struct {
	embedding.Store
	before, after func(ctx context.Context, docs []embedding.Embedded) error
}

func (g *gate) PutEmbeddings(
	ctx context.Context, s embedding.Space, docs []embedding.Embedded, through uint64, now time.Time,
) error {
	if g.before != nil {
		if err := g.before(ctx, docs); err != nil {
			return err
		}
	}
	err := g.Store.PutEmbeddings(ctx, s, docs, through, now)
	if err == nil && g.after != nil {
		err = g.after(ctx, docs)
	}
	return err
}

func (g *gate) use(db embedding.Store, _ *model.EmbeddingOptions) embedding.Store {
	g.Store = db
	return g
}

// manyDocuments stores documents for three requests and returns their texts.
func (f *fixture) manyDocuments() (texts []string) {
	f.t.Helper()
	var docs []string
	for i := range 3 * 96 {
		docs = append(docs, fmt.Sprintf("d%03d: text", i))
		texts = append(texts, fmt.Sprintf("d%03d\ntext", i))
	}
	f.put(f.sources[0], 1, docs...)
	return texts
}

// waitForRetry waits until the task has failed and is due again later.
func (f *fixture) waitForRetry() {
	f.t.Helper()
	f.eventually("the task waits", func() bool {
		active, ok := f.active()
		return ok && active.RunAt.After(f.clock.Now())
	})
}

// finishOn waits until manyDocuments are embedded. It checks the paid texts and that the node finds all documents.
func (f *fixture) finishOn(n *node, paid []string) {
	f.t.Helper()
	f.eventually("the task ends", func() bool { _, busy := f.active(); return !busy })
	f.same("paid", f.paid(), paid)
	f.same("found", len(n.found()), 3*96)
}

// hang returns a function that blocks forever at its n-th call, and a channel that is closed then.
func (f *fixture) hang(n int32) (at func(context.Context, []embedding.Embedded) error, hung chan struct{}) {
	var calls atomic.Int32
	hung = make(chan struct{})
	end := make(chan struct{})
	f.t.Cleanup(func() { close(end) })
	return func(context.Context, []embedding.Embedded) error {
		if calls.Add(1) == n {
			close(hung)
			<-end
			return errors.New("the process is dead")
		}
		return nil
	}, hung
}

func TestCrashBeforeTheCommitRepeatsOnlyThatRequest(t *testing.T) {
	onBoth(t, func(f *fixture) {
		texts := f.manyDocuments()
		before, hung := f.hang(2)
		first := f.start(true, (&gate{before: before}).use)
		f.must(first.Check(t.Context()))
		<-hung
		f.same("paid before", len(f.paid()), 2*96)
		first.stop() // stops without the blocked run
		paid := append(slices.Clone(texts), texts[96:2*96]...)
		slices.Sort(paid)
		f.finishOn(f.start(true), paid)
	})
}

func TestCrashAfterTheCommitRepeatsNoRequest(t *testing.T) {
	onBoth(t, func(f *fixture) {
		texts := f.manyDocuments()
		after, hung := f.hang(2)
		first := f.start(true, (&gate{after: after}).use)
		f.must(first.Check(t.Context()))
		<-hung
		first.stop()
		f.finishOn(f.start(true), texts)
	})
}

func TestShutdownBeforeTheCommitKeepsPaidVectors(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.grace = testkit.Patience // the commit must not be abandoned
		texts := f.manyDocuments()
		stopping := make(chan struct{})
		var once sync.Once
		var first *node
		g := &gate{before: func(ctx context.Context, docs []embedding.Embedded) error {
			if len(docs) > 0 {
				once.Do(func() {
					go func() {
						defer close(stopping)
						first.stop()
					}()
					// The engine gives up its ownership after the run was told to stop.
					for first.engine.Owner() != "" {
						time.Sleep(time.Millisecond)
					}
				})
			}
			return ctx.Err()
		}}
		first = f.start(true, g.use)
		f.must(first.Check(t.Context()))
		<-stopping
		f.same("paid before", len(f.paid()), 96)
		f.finishOn(f.start(true), texts)
	})
}

func TestLostReplyIsRequestedAgain(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.put(f.sources[0], 1, "a: x", "b: y")
		f.endpoint.Fail(nil, f.endpoint.Cut())
		n := f.start(true)
		n.settle()
		// A provider may charge for a reply that did not arrive.
		f.same("paid", f.paid(), []string{"a\nx", "a\nx", "b\ny", "b\ny"})
		f.same("found", n.found(), map[string]string{"a": "1/1", "b": "1/1"})
	})
}

func TestTwoNodesComputeEveryVectorOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, onPostgres(t)) // SQLite has one node
	texts := f.manyDocuments()
	nodes := []*node{f.start(false), f.start(false)}
	var wg sync.WaitGroup
	for range 4 {
		for _, n := range nodes {
			wg.Go(func() {
				if err := n.Check(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for _, n := range nodes {
		f.finishOn(n, texts)
	}
}

func TestDocumentsChangedDuringARunAreEmbedded(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.put(f.sources[0], 1, "a: old", "b: y", "gone: z")
		var once sync.Once
		g := &gate{before: func(context.Context, []embedding.Embedded) error {
			once.Do(func() {
				f.put(f.sources[0], 1, "a: new", "c: late")
				_, err := f.db.DeleteDocuments(f.t.Context(), f.sources[0], []string{"gone"}, f.clock.Now())
				f.must(err)
			})
			return nil
		}}
		n := f.start(true, g.use)
		n.settle()
		f.same("found", n.found(), map[string]string{"a": "1/1", "b": "1/1", "c": "1/1"})
		f.same("paid", f.paid(), []string{"a\nnew", "a\nold", "b\ny", "c\nlate", "gone\nz"})
	})
}

func TestQueriesFailFastAfterRepeatedFailures(t *testing.T) {
	t.Parallel()
	f := newFixture(t, onSQLite(t))
	n := f.start(true)
	f.endpoint.Break(testkit.EmbeddingsStatus(404, "", ""))
	for range 3 {
		if _, err := n.Query(t.Context(), "q"); model.FaultOf(err) != model.FaultSettings {
			t.Fatal(err)
		}
	}
	f.endpoint.Break(nil)
	if _, err := n.Query(t.Context(), "q"); !errors.Is(err, model.ErrBreakerOpen) {
		t.Errorf("then: %v", err)
	}
	f.clock.Advance(30 * time.Second)
	if v, err := n.Query(t.Context(), "q"); err != nil || len(v) != 64 {
		t.Errorf("later: %d numbers (%v)", len(v), err)
	}
}
