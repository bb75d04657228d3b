package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"carrel/internal/core"
	"carrel/internal/streamwatch"
)

// deadlines is a writer that takes what is written only while it was given time for it.
type deadlines struct {
	*httptest.ResponseRecorder
	given bool
}

func (d *deadlines) SetWriteDeadline(time.Time) error {
	d.given = true
	return nil
}

func (d *deadlines) Write(b []byte) (int, error) {
	if !d.given {
		return 0, context.DeadlineExceeded
	}
	d.given = false
	return d.ResponseRecorder.Write(b)
}

// TestASignOfLifeHasTimeOfItsOwn holds every write of a stream to a time of its own: with that of the first alone, a quiet
// stream ended with the second sign of life.
func TestASignOfLifeHasTimeOfItsOwn(t *testing.T) {
	t.Parallel()
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	s := newStream(w, httptest.NewRequest(http.MethodGet, path, nil), core.Actor{}, "token", streamwatch.New(time.Hour, func(string, []*stream) {}))
	defer s.end()
	s.Header().Set("Content-Type", "text/event-stream")
	if err := s.event(": connected\n\n"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if s.beat(); s.request.Context().Err() != nil {
			t.Fatal("a sign of life had no time, and the stream ended")
		}
	}
}

// opened returns streams of one credential on an endpoint whose authentication is the test's.
func opened(t *testing.T, authenticate func() error, count int) []*stream {
	e := &endpoint{edge: Edge{Authenticate: func(context.Context, string) (core.Actor, error) {
		return core.Actor{UserID: "usr_1"}, authenticate()
	}}}
	e.open = streamwatch.New(recheckEvery, e.look)
	var all []*stream
	for range count {
		s := newStream(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil).WithContext(t.Context()), core.Actor{}, "token", e.open)
		t.Cleanup(s.end)
		all = append(all, s)
	}
	return all
}

func TestStreamsOfACredentialAreCheckedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		all := opened(t, func() error { checks++; return nil }, 100)
		time.Sleep(openAfter + 4*recheckEvery)
		synctest.Wait()
		if checks != 4 {
			t.Errorf("%d checks in four rounds", checks)
		}
		for _, s := range all {
			if s.actor().UserID != "usr_1" || s.request.Context().Err() != nil {
				t.Fatalf("the stream is %q's, %v", s.actor().UserID, s.request.Context().Err())
			}
		}
	})
}

func TestAClientThatTakesLongDelaysNobodysEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var revoked atomic.Bool
		all := opened(t, func() error {
			if revoked.Load() {
				return core.Unauthenticated("invalid_credential", "Revoked.")
			}
			return nil
		}, 3)
		time.Sleep(openAfter + recheckEvery)
		synctest.Wait()
		all[0].mu.Lock() // as one who writes does
		revoked.Store(true)
		time.Sleep(time.Second)
		for i, s := range all {
			if s.request.Context().Err() == nil {
				t.Errorf("stream %d goes on a second after its credential was revoked", i)
			}
		}
		all[0].mu.Unlock()
	})
}

func TestARequestThatHasEndedIsNotLookedAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		all := opened(t, func() error { checks++; return nil }, 2)
		all[0].end() // at once, as most do
		time.Sleep(openAfter + recheckEvery)
		synctest.Wait()
		all[1].end()
		time.Sleep(4 * recheckEvery)
		synctest.Wait()
		if checks != 1 {
			t.Errorf("%d checks", checks)
		}
	})
}

func TestAQuietStreamShowsSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, func() error { return nil }, 1)[0]
		s.Header().Set("Content-Type", "text/event-stream")
		if err := s.event(": connected\n\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(openAfter + 2*beats*recheckEvery)
		synctest.Wait()
		s.end()
		got := s.ResponseWriter.(*httptest.ResponseRecorder).Body.String()
		if got != ": connected\n\n: alive\n\n: alive\n\n" {
			t.Errorf("got %q", got)
		}
	})
}
