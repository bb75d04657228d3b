package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"carrel/internal/core"
)

// maxPoll limits how long a client may wait for new messages.
const maxPoll = time.Minute

// waitContext returns a context that ends after a time, or when the server shuts down. Waiting requests then respond
// with the current state.
func (a *API) waitContext(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	go func() {
		select {
		case <-a.draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// pollFor returns how long a request for messages wants to wait until the messages differ from its ETag.
func pollFor(ctx context.Context, r *http.Request, op core.Operation) time.Duration {
	if op != core.OpListMessages || len(r.Header.Values("If-None-Match")) == 0 {
		return 0
	}
	if p := preferenceOf(ctx); p.given {
		return min(p.wait, maxPoll)
	}
	return 0
}

// poll answers a request for messages as soon as the messages differ from the client's ETag, or when the wait is over.
// It reads the position in the thread's events before the messages, so that no change is missed in between. It checks
// the credential again after reading, so that messages written after its revocation are never sent.
func (a *API) poll(rep *reply, r *http.Request, threadID string, wait time.Duration, out *outcome) {
	waiting, cancel := a.waitContext(r.Context(), wait)
	defer cancel()
	for first := true; ; first = false {
		at, err := a.Threads.Position(r.Context(), threadID)
		if err != nil {
			out.err = err
			return
		}
		rep.body.Reset()
		a.oas.ServeHTTP(rep, r)
		if out.err != nil {
			return
		}
		changed := !matches(strings.Join(r.Header.Values("If-None-Match"), ","), etag(rep.body.Bytes()))
		if changed || !first {
			_, out.err = a.authenticate(r)
		}
		if changed || out.err != nil {
			return
		}
		if err := a.Threads.WaitForChange(waiting, threadID, at); err != nil {
			return
		}
	}
}
