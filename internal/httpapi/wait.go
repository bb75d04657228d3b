package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"carrel/internal/httpapi/oas"
)

// maxPoll is how long a client may wait for something new in a thread.
const maxPoll = time.Minute

// patience returns a context that ends after a time, or when the server stops: whoever waits then answers with what
// there is.
func (a *API) patience(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
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

// pollFor returns how long a request for messages wants to wait for something that it does not have yet.
func pollFor(ctx context.Context, r *http.Request, route string) time.Duration {
	p := preferenceOf(ctx)
	if route != oas.ListMessagesOperation || !p.said || len(r.Header.Values("If-None-Match")) == 0 {
		return 0
	}
	return min(p.wait, maxPoll)
}

// poll answers a request for messages as soon as the answer is another than the client has, or when its wait is over.
// Where the thread's events end is read before the messages, so that nothing falls in between. The credential is checked
// again after the messages were read: messages written after its revocation are never sent.
func (a *API) poll(rep *reply, r *http.Request, threadID string, wait time.Duration, out *outcome) {
	waiting, cancel := a.patience(r.Context(), wait)
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
		news := !matches(strings.Join(r.Header.Values("If-None-Match"), ","), etag(rep.body.Bytes()))
		if news || !first {
			_, out.err = a.authenticate(r)
		}
		if news || out.err != nil {
			return
		}
		if err := a.Threads.Changed(waiting, threadID, at); err != nil {
			return
		}
	}
}
