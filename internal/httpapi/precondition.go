package httpapi

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// Leases serialize changes of an object on all nodes.
type Leases interface {
	// TakeLease gives the owner a lease for a duration and reports whether the owner has it.
	TakeLease(ctx context.Context, name, owner string, duration time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, name, owner string) error
}

const (
	// changeLease is much longer than a change takes, so that only the lease of a crashed node expires.
	changeLease = 30 * time.Second
	// changeRetry is the pause between attempts to take a lease that another request has.
	changeRetry = 20 * time.Millisecond
	// changeWait is the time after which a request gives up on a lease.
	changeWait = 10 * time.Second
)

// checkIfMatch checks the If-Match header of a change of an object, whose ETag is that of a GET of the same path
// (RFC 9110, 13.1.1). Paths without such a GET have no ETag, and the header is ignored there. Errors of the request
// itself come first, because a precondition only matters for a request that would succeed otherwise (13.2.1).
//
// The returned function must be called after the change: until then no other request with If-Match changes the object,
// so that of several requests with the same ETag one succeeds.
func (a *API) checkIfMatch(r *http.Request, route oas.Route, body []byte) (release func(), err error) {
	release = func() {}
	wanted := r.Header.Values("If-Match")
	if len(wanted) == 0 || !slices.Contains([]string{http.MethodPatch, http.MethodPut, http.MethodDelete}, r.Method) {
		return release, nil
	}
	get, known := a.oas.FindPath(http.MethodGet, r.URL)
	if !known || get.PathPattern() != route.PathPattern() {
		return release, nil
	}
	try := r.Clone(r.Context())
	try.Body = io.NopCloser(bytes.NewReader(body))
	if err := a.validate(try); err != nil {
		return release, err
	}
	if release, err = a.lockObject(r); err != nil {
		return release, err
	}
	tag, err := a.currentTag(r)
	if err == nil && !matchesStrongly(strings.Join(wanted, ","), tag) {
		err = &core.Error{
			Kind: core.KindPrecondition, Code: "precondition_failed",
			Detail: "The object has changed since you read it. Read it again, and repeat the change with its new ETag.",
		}
	}
	if err != nil {
		release()
		return func() {}, err
	}
	return release, nil
}

// lockObject takes the lease for changes of the object at a path, and returns the function that releases it.
func (a *API) lockObject(r *http.Request) (release func(), err error) {
	name, owner := "change "+etag([]byte(r.URL.EscapedPath())), core.NewSeed()
	ctx := r.Context()
	waiting, cancel := context.WithTimeout(ctx, changeWait)
	defer cancel()
	for {
		taken, err := a.Leases.TakeLease(waiting, name, owner, changeLease)
		switch {
		case err != nil && ctx.Err() == nil && waiting.Err() != nil:
		case err != nil:
			return func() {}, err
		case taken:
			return func() { a.unlockObject(context.WithoutCancel(ctx), name, owner) }, nil
		}
		select {
		case <-waiting.Done():
			return func() {}, &core.Error{
				Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: time.Second,
				Detail: "Another request is changing this object. Try again in a moment.",
			}
		case <-time.After(changeRetry):
		}
	}
}

func (a *API) unlockObject(ctx context.Context, name, owner string) {
	if err := a.Leases.ReleaseLease(ctx, name, owner); err != nil {
		a.log.WarnContext(ctx, "lease of a change not released", slog.Any("error", err))
	}
}

// currentTag returns the ETag of a GET of the request's path.
func (a *API) currentTag(r *http.Request) (string, error) {
	var out outcome
	get := r.Clone(context.WithValue(r.Context(), outcomeKey{}, &out))
	get.Method, get.Body, get.ContentLength = http.MethodGet, http.NoBody, 0
	rep := newReply(http.Header{})
	defer rep.free()
	a.oas.ServeHTTP(rep, get)
	return etag(rep.body.Bytes()), out.err
}

// matchesStrongly reports whether an If-Match header contains the tag. Weak tags never match (RFC 9110, 8.8.3.2).
func matchesStrongly(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		if candidate = strings.TrimSpace(candidate); candidate == "*" || candidate == tag {
			return true
		}
	}
	return false
}
