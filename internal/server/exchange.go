package server

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/obs"
	"carrel/internal/otlp"
)

// exchange holds the state of a request for the middleware. It is both the context and the response writer of the
// handlers, so that it costs a single allocation. It is not pooled: a turn that outlives its request keeps the context
// and its request id.
type exchange struct {
	context.Context
	started time.Time
	id      string
	// idHeader backs the X-Request-Id header, which saves an allocation.
	idHeader [1]string
	// limitHeader and policyHeader back the RateLimit and RateLimit-Policy headers, with one value for each bucket.
	limitHeader, policyHeader [2]string
	addr                      netip.Addr
	program                   string
	https                     bool
	route                     string
	// span traces the request; nil if it is not traced.
	span *otlp.Span
	// server is nil if the request is not rate limited.
	server *Server
	// authenticated is atomic because handlers may authenticate in another goroutine.
	authenticated atomic.Bool
	// userID and credentialID are those of an authenticated request, for the log. mu protects them.
	mu                   sync.Mutex
	userID, credentialID string
	out                  response
}

type exchangeKey struct{}

// Value implements context.Context.
func (x *exchange) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return x
	case obs.RequestIDKey:
		return x.id
	case otlp.SpanKey:
		return x.span
	}
	return x.Context.Value(key)
}

// exchangeOf returns the exchange of a context, or nil outside a request.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.(*exchange); ok {
		return x // the context is not wrapped yet
	}
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// ClientAddr returns the address of the client, as forwarded by trusted proxies. It is invalid outside a request.
func ClientAddr(ctx context.Context) netip.Addr {
	if x := exchangeOf(ctx); x != nil {
		return x.addr
	}
	return netip.Addr{}
}

// Program returns the User-Agent header of the request. It is empty outside a request.
func Program(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.program
	}
	return ""
}

// SetRoute sets the route of the request in logs and metrics, for handlers that serve many routes under one mux
// pattern. It must be called before the handler returns, with a pattern from a fixed set.
func SetRoute(ctx context.Context, pattern string) {
	if x := exchangeOf(ctx); x != nil {
		x.route = pattern
	}
}

// Admit records that the request's credential is valid and belongs to who, and returns an error if the user exceeds the
// rate limit. Later requests with the credential are limited by credential instead of by address. See limiter.
func Admit(ctx context.Context, who core.Actor) error {
	x := exchangeOf(ctx)
	if x == nil {
		return nil
	}
	x.mu.Lock()
	x.userID, x.credentialID = who.UserID, who.CredentialID
	x.mu.Unlock()
	if x.server == nil {
		return nil
	}
	x.authenticated.Store(true)
	return x.server.admit(x, who)
}

// observe creates the exchange of a request, and logs and counts the request when it ends.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Context: r.Context(), started: time.Now(), id: requestID(r.Header), program: r.UserAgent()}
		x.addr, x.https = s.client(r)
		if s.opts.Tracer != nil && !isProbe(r.URL.Path) {
			x.span = s.opts.Tracer.Start(otlp.Remote(r.Header), r.Method, otlp.KindServer)
		}
		x.out.ResponseWriter = w
		x.idHeader[0] = x.id
		w.Header()["X-Request-Id"] = x.idHeader[:]
		r = r.WithContext(x) //nolint:contextcheck // wraps the request's context
		s.checkBaseURL(x, r, x.https)
		if s.metrics != nil {
			s.metrics.Begin()
		}
		defer s.finish(x, r)
		next.ServeHTTP(&x.out, r)
	})
}

// finish logs and counts a request.
func (s *Server) finish(x *exchange, r *http.Request) {
	took := time.Since(x.started)
	status := x.out.status
	if status == 0 {
		status = http.StatusOK // sent by net/http for a handler that writes nothing
	}
	pattern := x.route
	if pattern == "" {
		pattern = patternPath(r.Pattern)
	}
	if s.metrics != nil {
		route := pattern
		if route == "" {
			route = "none"
		}
		s.metrics.End(r.Method, route, status, took)
	}
	s.logAccess(x, r, pattern, status, took)
	x.endSpan(r.Method, pattern, status)
}
