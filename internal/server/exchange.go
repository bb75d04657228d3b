package server

import (
	"context"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/obs"
)

// exchange is one request and its reply, as the middleware sees them. It is the context of the request and holds the
// writer that handlers get, so that all of it costs a single allocation. It is not pooled: a turn that
// goes on after its request keeps the context, and must keep finding its own request id there.
type exchange struct {
	context.Context
	started time.Time
	id      string
	// idHeader is the X-Request-Id of the reply, here so that it needs no slice of its own.
	idHeader [1]string
	// limitHeader and policyHeader are the RateLimit and RateLimit-Policy of the reply, likewise: a line for each limit that
	// the request was counted against.
	limitHeader, policyHeader [2]string
	addr                      netip.Addr
	program                   string
	https                     bool
	route                     string
	// server is set where requests are limited.
	server *Server
	// authenticated is atomic because a handler may check the credential in another goroutine.
	authenticated atomic.Bool
	out           response
}

type exchangeKey struct{}

// Value finds the exchange itself and the request id that the log asks for.
func (x *exchange) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return x
	case obs.RequestIDKey:
		return x.id
	}
	return x.Context.Value(key)
}

// exchangeOf returns the exchange of a context, or nil outside of a request.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.(*exchange); ok {
		return x // inside the chain, before anybody has wrapped the context
	}
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// ClientAddr returns the address of the client: the peer, or behind a trusted proxy the one it speaks for. It is
// invalid outside of a request.
func ClientAddr(ctx context.Context) netip.Addr {
	if x := exchangeOf(ctx); x != nil {
		return x.addr
	}
	return netip.Addr{}
}

// Program returns what the program that made the request says of itself (User-Agent), as it came. It is empty outside of a
// request.
func Program(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.program
	}
	return ""
}

// SetRoute names the route of the request in logs and metrics, for handlers that serve many routes under one pattern
// of the mux. It must be a pattern out of a fixed set, and be called before the handler returns.
func SetRoute(ctx context.Context, pattern string) {
	if x := exchangeOf(ctx); x != nil {
		x.route = pattern
	}
}

// Admit says whose credential the request carries, which was checked and is good, and returns the refusal where its user
// asks too often. From then on requests that carry it are counted by credential; until then, and when nobody calls this,
// they are counted by address. See limiter.
func Admit(ctx context.Context, who core.Actor) error {
	x := exchangeOf(ctx)
	if x == nil || x.server == nil {
		return nil
	}
	x.authenticated.Store(true)
	return x.server.admit(x, who)
}

// observe is the outermost layer: it makes the exchange, and when the request has ended, however it did, logs and
// counts it.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Context: r.Context(), started: time.Now(), id: requestID(r.Header), program: r.UserAgent()}
		x.addr, x.https = s.client(r)
		x.out.ResponseWriter = w
		x.idHeader[0] = x.id
		w.Header()["X-Request-Id"] = x.idHeader[:]
		r = r.WithContext(x) //nolint:contextcheck // it wraps the request's own
		if s.metrics != nil {
			s.metrics.Begin()
		}
		defer s.finish(x, r)
		next.ServeHTTP(&x.out, r)
	})
}

// finish runs when the request has ended.
func (s *Server) finish(x *exchange, r *http.Request) {
	took := time.Since(x.started)
	status := x.out.status
	if status == 0 {
		status = http.StatusOK // what net/http sends for a handler that wrote nothing
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
}
