package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"carrel/internal/core"
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
	s := newStream(w, httptest.NewRequest(http.MethodGet, path, nil), core.Actor{}, func(context.Context) (core.Actor, bool) { return core.Actor{}, true })
	defer s.end()
	s.Header().Set("Content-Type", "text/event-stream")
	if err := s.event(": connected\n\n"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.beat(); err != nil {
			t.Fatalf("a sign of life: %v", err)
		}
	}
}
