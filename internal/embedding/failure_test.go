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

func TestADeadEndpointIsWaitedForAndLoggedOnce(t *testing.T) {
	onBoth(t, func(w *world) {
		w.put(w.sources[0], 1, "a: x")
		w.endpoint.Break(testkit.EmbeddingsStatus(401, "", ""))
		n := w.start(true)
		w.must(n.Check(t.Context()))
		var last time.Time
		for try := 1; try <= 4; try++ {
			w.eventually("the task waits", func() bool {
				active, ok := w.active()
				return ok && active.Owner == "" && active.RunAt.After(last)
			})
			active, _ := w.active()
			least := 5 * time.Second << (try - 1)
			if wait := active.RunAt.Sub(w.clock.Now()); wait < least || wait > least+least/10 {
				t.Errorf("after try %d it waits %v", try, wait)
			}
			w.must(n.Check(t.Context())) // submits no second task
			last = active.RunAt
			w.clock.Set(active.RunAt)
		}
		w.eventually("another try", func() bool { return w.endpoint.Calls() == 5 })
		w.same("logged", n.logged("CARREL_EMBEDDINGS_API_KEY"), 1)
		w.endpoint.Break(nil)
		w.eventually("the end", func() bool {
			active, ok := w.active()
			if ok && active.RunAt.After(w.clock.Now()) {
				w.clock.Set(active.RunAt)
			}
			return !ok
		})
		w.same("found", n.found(), map[string]string{"a": "1/1"})
		w.same("logged at the end", n.logged("computing vectors works again"), 1)
	})
}

func TestAPauseThatIsAskedForIsMade(t *testing.T) {
	onBoth(t, func(w *world) {
		w.put(w.sources[0], 1, "a: x")
		w.endpoint.Fail(nil, testkit.EmbeddingsStatus(429, "600", ""))
		n := w.start(true)
		w.must(n.Check(t.Context()))
		w.eventually("the task waits", func() bool {
			active, ok := w.active()
			return ok && active.RunAt.Sub(w.clock.Now()) >= 10*time.Minute
		})
		w.clock.Advance(11 * time.Minute)
		n.settle()
		w.same("found", n.found(), map[string]string{"a": "1/1"})
	})
}

func TestTextsThatAreNotTakenHoldUpNobody(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			onBoth(t, func(w *world) {
				var docs []string
				for i := range 20 {
					docs = append(docs, fmt.Sprintf("d%02d: text", i))
				}
				docs[7], docs[13] = "odd: poison", "long: "+strings.Repeat("good ", 200)+"poison"
				w.put(w.sources[0], 1, docs...)
				w.endpoint.Break(w.endpoint.Refuse("poison", status))
				n := w.start(true)
				n.settle()
				found := n.found()
				w.same("all", len(found), 20)
				w.same("refused", found["odd"], "0/1")
				w.same("cut", found["long"], "1/1")
				delete(found, "odd")
				for title, made := range found {
					w.same(title, made, "1/1")
				}
				calls := w.endpoint.Calls()
				w.put(w.sources[0], 2, "odd: poison")
				w.put(w.sources[1], 1, "odd: poison")
				n.settle()
				w.same("calls for what is known to be refused", w.endpoint.Calls(), calls)
			})
		})
	}
}

func TestAnEndpointThatTakesNothingIsNotTheTextsFault(t *testing.T) {
	onBoth(t, func(w *world) {
		w.put(w.sources[0], 1, "a: x", "b: y")
		w.endpoint.Fail(nil) // for the probe of the length
		w.endpoint.Break(testkit.EmbeddingsStatus(400, "", "no"))
		n := w.start(true)
		w.must(n.Check(t.Context()))
		w.eventually("the task waits", func() bool {
			active, ok := w.active()
			return ok && active.RunAt.After(w.clock.Now())
		})
		w.same("calls", w.endpoint.Calls(), 3) // length probe, batch, probe
		w.endpoint.Break(nil)
		w.clock.Advance(time.Minute)
		n.settle()
		w.same("found", n.found(), map[string]string{"a": "1/1", "b": "1/1"})
	})
}

func TestAnEndpointThatBreaksDownOnTheWayTakesNoTextAlong(t *testing.T) {
	onBoth(t, func(w *world) {
		w.put(w.sources[0], 1, "a: x")
		w.endpoint.Fail(nil, testkit.EmbeddingsStatus(400, "", "no"), nil) // length probe, text, successful probe
		w.endpoint.Break(testkit.EmbeddingsStatus(400, "", "no"))
		n := w.start(true)
		w.must(n.Check(t.Context()))
		w.eventually("the task waits", func() bool {
			active, ok := w.active()
			return ok && active.RunAt.After(w.clock.Now())
		})
		w.endpoint.Break(nil)
		w.clock.Advance(time.Minute)
		n.settle()
		w.same("found", n.found(), map[string]string{"a": "1/1"})
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
func (w *world) manyDocuments() (texts []string) {
	w.t.Helper()
	var docs []string
	for i := range 3 * 96 {
		docs = append(docs, fmt.Sprintf("d%03d: text", i))
		texts = append(texts, fmt.Sprintf("d%03d\ntext", i))
	}
	w.put(w.sources[0], 1, docs...)
	return texts
}

// hang returns a function that blocks forever at its n-th call, and a channel that is closed then.
func (w *world) hang(n int32) (at func(context.Context, []embedding.Embedded) error, hung chan struct{}) {
	var calls atomic.Int32
	hung = make(chan struct{})
	end := make(chan struct{})
	w.t.Cleanup(func() { close(end) })
	return func(context.Context, []embedding.Embedded) error {
		if calls.Add(1) == n {
			close(hung)
			<-end
			return errors.New("the process is dead")
		}
		return nil
	}, hung
}

func TestACrashBetweenRequestAndCommitPaysForThatRequestAgainAndNoOther(t *testing.T) {
	onBoth(t, func(w *world) {
		texts := w.manyDocuments()
		before, hung := w.hang(2)
		first := w.start(true, (&gate{before: before}).use)
		w.must(first.Check(t.Context()))
		<-hung
		w.same("paid before", len(w.paid()), 2*96)
		first.stop() // stops without the blocked run
		second := w.start(true)
		w.eventually("the end", func() bool { _, busy := w.active(); return !busy })
		want := append(slices.Clone(texts), texts[96:2*96]...)
		slices.Sort(want)
		w.same("paid", w.paid(), want)
		w.same("found", len(second.found()), 3*96)
	})
}

func TestACrashAfterTheCommitPaysForNothingAgain(t *testing.T) {
	onBoth(t, func(w *world) {
		texts := w.manyDocuments()
		after, hung := w.hang(2)
		first := w.start(true, (&gate{after: after}).use)
		w.must(first.Check(t.Context()))
		<-hung
		first.stop()
		second := w.start(true)
		w.eventually("the end", func() bool { _, busy := w.active(); return !busy })
		w.same("paid", w.paid(), texts)
		w.same("found", len(second.found()), 3*96)
	})
}

func TestAShutdownBetweenRequestAndCommitKeepsWhatWasPaidFor(t *testing.T) {
	onBoth(t, func(w *world) {
		texts := w.manyDocuments()
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
		first = w.start(true, g.use)
		w.must(first.Check(t.Context()))
		<-stopping
		w.same("paid before", len(w.paid()), 96)
		second := w.start(true)
		w.eventually("the end", func() bool { _, busy := w.active(); return !busy })
		w.same("paid", w.paid(), texts)
		w.same("found", len(second.found()), 3*96)
	})
}

func TestAnAnswerThatGotLostIsAskedForAgain(t *testing.T) {
	onBoth(t, func(w *world) {
		w.put(w.sources[0], 1, "a: x", "b: y")
		w.endpoint.Fail(nil, w.endpoint.Cut())
		n := w.start(true)
		n.settle()
		// A provider may charge for a reply that did not arrive.
		w.same("paid", w.paid(), []string{"a\nx", "a\nx", "b\ny", "b\ny"})
		w.same("found", n.found(), map[string]string{"a": "1/1", "b": "1/1"})
	})
}

func TestTwoNodesShareTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onPostgres(t)) // SQLite has one node
	texts := w.manyDocuments()
	nodes := []*node{w.start(false), w.start(false)}
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
	w.eventually("the end", func() bool { _, busy := w.active(); return !busy })
	w.same("paid", w.paid(), texts)
	for _, n := range nodes {
		w.same("found", len(n.found()), len(texts))
	}
}

func TestDocumentsThatChangeMeanwhileAreNotForgotten(t *testing.T) {
	onBoth(t, func(w *world) {
		w.put(w.sources[0], 1, "a: old", "b: y", "gone: z")
		var once sync.Once
		g := &gate{before: func(context.Context, []embedding.Embedded) error {
			once.Do(func() {
				w.put(w.sources[0], 1, "a: new", "c: late")
				_, err := w.db.DeleteDocuments(w.t.Context(), w.sources[0], []string{"gone"}, w.clock.Now())
				w.must(err)
			})
			return nil
		}}
		n := w.start(true, g.use)
		n.settle()
		w.same("found", n.found(), map[string]string{"a": "1/1", "b": "1/1", "c": "1/1"})
		w.same("paid", w.paid(), []string{"a\nnew", "a\nold", "b\ny", "c\nlate", "gone\nz"})
	})
}

func TestAQueryNeverWaitsLongForADeadEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onSQLite(t))
	n := w.start(true)
	w.endpoint.Break(testkit.EmbeddingsStatus(404, "", ""))
	for range 3 {
		if _, err := n.Query(t.Context(), "q"); model.FaultOf(err) != model.FaultSettings {
			t.Fatal(err)
		}
	}
	w.endpoint.Break(nil)
	if _, err := n.Query(t.Context(), "q"); !errors.Is(err, model.ErrBreakerOpen) {
		t.Errorf("then: %v", err)
	}
	w.clock.Advance(30 * time.Second)
	if v, err := n.Query(t.Context(), "q"); err != nil || len(v) != 64 {
		t.Errorf("later: %d numbers (%v)", len(v), err)
	}
}
