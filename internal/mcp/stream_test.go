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

// deadlines is a writer that fails every write that was not preceded by a new deadline.
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

// With the deadline of the first write only, an idle stream would end with its second heartbeat.
func TestEveryHeartbeatExtendsTheWriteDeadline(t *testing.T) {
	t.Parallel()
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	s := newStream(w, httptest.NewRequest(http.MethodGet, path, nil), core.Actor{}, "token",
		streamwatch.New(time.Hour, func(string, []*stream) {}))
	defer s.end()
	s.Header().Set("Content-Type", "text/event-stream")
	if err := s.event(": connected\n\n"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if s.heartbeat(); s.request.Context().Err() != nil {
			t.Fatal("a heartbeat had no deadline of its own, and the stream ended")
		}
	}
}

// openStreams returns streams of one credential, which authenticate decides about.
func openStreams(t *testing.T, authenticate func() error, count int) []*stream {
	e := &endpoint{deps: Deps{Authenticate: func(context.Context, string) (core.Actor, error) {
		return core.Actor{UserID: "usr_1"}, authenticate()
	}}}
	e.open = streamwatch.New(recheckInterval, e.recheckStreams)
	var all []*stream
	for range count {
		s := newStream(httptest.NewRecorder(),
			httptest.NewRequest(http.MethodGet, path, nil).WithContext(t.Context()), core.Actor{}, "token", e.open)
		t.Cleanup(s.end)
		all = append(all, s)
	}
	return all
}

func TestStreamsOfACredentialAreCheckedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		all := openStreams(t, func() error { checks++; return nil }, 100)
		time.Sleep(openAfter + 4*recheckInterval)
		synctest.Wait()
		if checks != 4 {
			t.Errorf("%d checks in four rounds", checks)
		}
		for _, s := range all {
			if s.actor().UserID != "usr_1" || s.request.Context().Err() != nil {
				t.Fatalf("the actor of the stream is %q, its context %v", s.actor().UserID, s.request.Context().Err())
			}
		}
	})
}

func TestSlowClientDoesNotDelayTheEndOfOtherStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var revoked atomic.Bool
		all := openStreams(t, func() error {
			if revoked.Load() {
				return core.Unauthenticated("invalid_credential", "Revoked.")
			}
			return nil
		}, 3)
		time.Sleep(openAfter + recheckInterval)
		synctest.Wait()
		all[0].mu.Lock() // like a write that is blocked by its client
		revoked.Store(true)
		time.Sleep(time.Second)
		for i, s := range all {
			if s.request.Context().Err() == nil {
				t.Errorf("stream %d is still open a second after its credential was revoked", i)
			}
		}
		all[0].mu.Unlock()
	})
}

func TestFinishedRequestsAreNotRechecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		all := openStreams(t, func() error { checks++; return nil }, 2)
		all[0].end() // before openAfter, like most requests
		time.Sleep(openAfter + recheckInterval)
		synctest.Wait()
		all[1].end()
		time.Sleep(4 * recheckInterval)
		synctest.Wait()
		if checks != 1 {
			t.Errorf("%d checks", checks)
		}
	})
}

func TestIdleStreamGetsHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStreams(t, func() error { return nil }, 1)[0]
		s.Header().Set("Content-Type", "text/event-stream")
		if err := s.event(": connected\n\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(openAfter + 2*heartbeatRounds*recheckInterval)
		synctest.Wait()
		s.end()
		got := s.ResponseWriter.(*httptest.ResponseRecorder).Body.String()
		if got != ": connected\n\n: alive\n\n: alive\n\n" {
			t.Errorf("got %q", got)
		}
	})
}
