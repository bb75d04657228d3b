package model_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"carrel/internal/model"
	"carrel/internal/testkit"
)

// endpoint is an Embedder whose result is set by the test.
type endpoint struct {
	calls int
	do    func(ctx context.Context) error
}

func (e *endpoint) Embed(ctx context.Context, texts []string) (model.Embeddings, error) {
	e.calls++
	return model.Embeddings{Vectors: make([][]float32, len(texts))}, e.do(ctx)
}

func (*endpoint) Model() string { return "m" }
func (*endpoint) Dims() int     { return 3 }

func TestBreakerOpensForThirtySecondsAfterThreeFailures(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock()
	broken := errors.New("broken")
	e := &endpoint{do: func(context.Context) error { return broken }}
	b := model.NewBreaker(e, clock)
	embed := func(ctx context.Context, want error, calls int) {
		t.Helper()
		if _, err := b.Embed(ctx, []string{"a"}); !errors.Is(err, want) || e.calls != calls {
			t.Fatalf("got %v after %d calls, want %v after %d", err, e.calls, want, calls)
		}
	}
	embed(t.Context(), broken, 1)
	embed(t.Context(), broken, 2)
	e.do = func(context.Context) error { return nil }
	embed(t.Context(), nil, 3) // failures must be consecutive
	e.do = func(context.Context) error { return broken }
	// Errors of cancelled calls do not count.
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range 5 {
		embed(cancelled, broken, 4+n)
	}
	for n := range 3 {
		embed(t.Context(), broken, 9+n)
	}
	embed(t.Context(), model.ErrBreakerOpen, 11)
	clock.Advance(30*time.Second - time.Millisecond)
	embed(t.Context(), model.ErrBreakerOpen, 11)
	clock.Advance(time.Millisecond)
	embed(t.Context(), broken, 12) // the probe
	embed(t.Context(), model.ErrBreakerOpen, 12)
	clock.Advance(30 * time.Second)
	embed(cancelled, broken, 13) // a cancelled probe is inconclusive, the next call probes again
	e.do = func(context.Context) error { return nil }
	embed(t.Context(), nil, 14)
	embed(t.Context(), nil, 15)
	if b.Model() != "m" || b.Dims() != 3 {
		t.Errorf("%s %d", b.Model(), b.Dims())
	}
}

func TestOpenBreakerAllowsASingleProbe(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock()
	e := &endpoint{do: func(context.Context) error { return errors.New("broken") }}
	b := model.NewBreaker(e, clock)
	for range 3 {
		_, _ = b.Embed(t.Context(), []string{"a"})
	}
	clock.Advance(time.Minute)
	e.do = func(ctx context.Context) error {
		if _, err := b.Embed(ctx, []string{"b"}); !errors.Is(err, model.ErrBreakerOpen) {
			t.Errorf("during the probe another call returns %v", err)
		}
		return nil
	}
	if _, err := b.Embed(t.Context(), []string{"a"}); err != nil {
		t.Error(err)
	}
}

func TestBreakerLimitsCallsToTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{do: func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		b := model.NewBreaker(e, testkit.NewClock())
		for range 3 {
			began := time.Now()
			_, err := b.Embed(t.Context(), []string{"a"})
			took := time.Since(began)
			if took != 2*time.Second || !errors.Is(err, context.DeadlineExceeded) || model.FaultOf(err) != model.FaultEndpoint {
				t.Errorf("%v after %v", err, took)
			}
		}
		if _, err := b.Embed(t.Context(), []string{"a"}); !errors.Is(err, model.ErrBreakerOpen) {
			t.Errorf("then: %v", err)
		}
	})
}

func TestRejectedTextsDoNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	fake := testkit.NewEmbeddings(t)
	fake.Break(testkit.EmbeddingsStatus(400, "", "too long"))
	b := model.NewBreaker(newClient(t, fake), testkit.NewClock())
	for range 5 {
		if _, err := b.Embed(t.Context(), []string{"a"}); model.FaultOf(err) != model.FaultInput {
			t.Fatal(err)
		}
	}
}
