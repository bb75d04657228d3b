// Package server is everything between the socket and the handlers: listening and draining, request ids, the access
// log, recovery, security headers, rate limits, and turning away what no handler should see. It knows no route but
// /healthz and /readyz; the others are handed to it.
package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"carrel/internal/config"
	"carrel/internal/obs"
)

// Options is what the server is wired with.
type Options struct {
	// Routes registers the handlers. A pattern becomes the route of logs and metrics; a handler that serves many
	// routes under one pattern names the right one with SetRoute.
	Routes func(mux *http.ServeMux)
	// Problem answers with an error: problem+json, with the status of its kind. Required.
	Problem func(w http.ResponseWriter, r *http.Request, err error)
	// Ready reports what keeps the service from working, such as a database that is away; nil means nothing ever does.
	Ready func(ctx context.Context) error
	// Draining is called once when the server starts to stop, so that long requests (streams, waits) can end by
	// themselves instead of being cut.
	Draining func()
	// SignInPaths are paths beside those of the API where a secret can be guessed, limited as strictly.
	SignInPaths []string
	// SessionCookie is the name of the cookie that holds the session of a browser; without it browsers count by address.
	SessionCookie string
	// Version is shown in the first line of the log.
	Version string
}

// Server is one HTTP server, and a second one for metrics when an address is set for them.
type Server struct {
	cfg     config.Config
	log     *slog.Logger
	metrics *obs.Metrics // nil: not counted
	opts    Options
	limiter *limiter // nil: not limited
	ready   singleflight.Group

	handler         http.Handler
	http            *http.Server
	listener        net.Listener
	metricsListener net.Listener
}

// The limits of a connection. There is none on writing: streams and long waits are normal replies. The one on reading
// ends with the body, so it does not touch them either.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 60 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 32 << 10
)

// New returns a server that does not listen yet. The metrics may be nil.
func New(cfg config.Config, log *slog.Logger, m *obs.Metrics, opts Options) *Server {
	if opts.Problem == nil {
		panic("server: Options.Problem is required")
	}
	s := &Server{cfg: cfg, log: log, metrics: m, opts: opts}
	if cfg.RateLimits {
		s.limiter = newLimiter(opts.SignInPaths, opts.SessionCookie)
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
		// OPTIONS * goes through the chain as everything else does.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s
}

// chain puts the middleware around the mux. Outermost is what must see every request and every way it can end;
// limits come before any work is done for a request.
func (s *Server) chain(mux *http.ServeMux) http.Handler {
	h := s.route(mux)
	h = s.guard(h)
	h = s.limit(h)
	h = s.secure(h)
	h = s.recover(h)
	return s.observe(h)
}

// Handler returns the whole chain, for tests that need no socket.
func (s *Server) Handler() http.Handler { return s.handler }
