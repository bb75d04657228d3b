// Package server is the HTTP server and its middleware: listening and draining, request ids, the access log, panic
// recovery, security headers, rate limits and checks of the URL. It serves /healthz and /readyz itself; all other
// routes are registered by the caller.
package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/sync/singleflight"

	"carrel/internal/config"
	"carrel/internal/obs"
	"carrel/internal/otlp"
)

// Options configure a Server.
type Options struct {
	// Routes registers the handlers. The pattern is the route in logs and metrics; a handler that serves many routes
	// under one pattern calls SetRoute.
	Routes func(mux *http.ServeMux)
	// Agents serves all paths below /api/agents/. They are nearly all requests, and each is spared the mux, so Routes
	// must not register a more specific pattern there. Nil means that the mux serves them.
	Agents http.Handler
	// Problem writes an error as problem+json with the status of its kind. Required.
	Problem func(w http.ResponseWriter, r *http.Request, err error)
	// Ready returns an error if the service can't serve requests, such as a lost database. The detail of an unavailable
	// error is the reason in the reply. Nil means always ready.
	Ready func(ctx context.Context) error
	// Notice says what does not work although the service is ready; "" if all does. It may be nil.
	Notice func() string
	// Draining is called once when shutdown starts, so that streams and long polls can end by themselves.
	Draining func()
	// SignInPaths are further paths with the strict rate limit for guessing secrets.
	SignInPaths []string
	// SessionCookie is the name of the session cookie. Without it, browsers are rate limited by address.
	SessionCookie string
	// Shared makes the rate limits hold for all nodes together. Nil means that this is the only node.
	Shared *SharedLimits
	// Version is logged at start.
	Version string
	// Reload receives a value for each SIGHUP, which reloads the certificate files. It may be nil.
	Reload <-chan os.Signal
	// Tracer traces requests. It may be nil.
	Tracer *otlp.Tracer
}

// Server is an HTTP server, with a second one for metrics if an address is configured.
type Server struct {
	cfg     config.Config
	log     *slog.Logger
	metrics *obs.Metrics // may be nil
	opts    Options
	limiter *limiter // nil without rate limits
	ready   singleflight.Group

	files           *certificateFiles // nil without tls-cert
	certificatePoll time.Duration
	acme            *autocert.Manager // nil without acme-domains
	acmeClient      *http.Client      // nil means http.DefaultClient
	base            atomic.Pointer[baseURLCheck]

	handler         http.Handler
	http            *http.Server
	listener        net.Listener
	metricsListener net.Listener
	// redirectListener is nil without redirect-addr.
	redirectListener net.Listener
}

// Limits of a connection. Writing has no timeout, because streams and long polls are normal replies. readTimeout ends
// with the request body and does not affect them.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 60 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 32 << 10
)

// New returns a server that does not listen yet. m may be nil.
func New(cfg config.Config, log *slog.Logger, m *obs.Metrics, opts Options) *Server {
	if opts.Problem == nil {
		panic("server: Options.Problem is required")
	}
	s := &Server{cfg: cfg, log: log, metrics: m, opts: opts, certificatePoll: certificatePoll}
	s.base.Store(newBaseURLCheck(cfg.BaseURL))
	if cfg.RateLimits {
		s.limiter = newLimiter(opts.SignInPaths, opts.SessionCookie, newSharing(opts.Shared, log))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+healthPath, s.healthz)
	mux.HandleFunc("GET "+readyPath, s.readyz)
	if opts.Routes != nil {
		opts.Routes(mux)
	}
	s.handler = s.chain(mux)
	s.http = &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// OPTIONS * goes through the middleware like other requests.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s
}

// chain wraps the mux in the middleware. observe is outermost, because it logs every request however it ends; limit
// precedes all other work.
func (s *Server) chain(mux *http.ServeMux) http.Handler {
	h := s.route(mux)
	h = s.guard(h)
	h = s.limit(h)
	h = s.cors(h)
	h = s.secure(h)
	h = s.recover(h)
	return s.observe(h)
}

// Handler returns the mux with all middleware, for tests without a socket.
func (s *Server) Handler() http.Handler { return s.handler }
