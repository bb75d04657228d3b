// Package httpapi is the REST API: it turns requests into calls of the features' services and their outcomes into
// the replies of the contract. It decides nothing: access lies with the services, shapes with the contract.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/httpapi/oas"
	"carrel/internal/importer"
	"carrel/internal/memory"
	"carrel/internal/oauth"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/source"
	"carrel/internal/streamwatch"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

// Idempotency keeps what was answered to requests that came with an Idempotency-Key.
type Idempotency interface {
	// ClaimIdempotency takes the key for this request, until lockUntil. It returns mine = false and what is there
	// when the key is finished or another request holds it. A claim whose lock ran out is taken over with its seed.
	ClaimIdempotency(ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time) (rec core.IdempotencyRecord, mine bool, err error)
	FinishIdempotency(ctx context.Context, userID, key string, status int, body []byte, now time.Time) error
	ReleaseIdempotency(ctx context.Context, userID, key string) error
}

// Attempts tells why programs failed to connect.
type Attempts interface {
	Attempts(ctx context.Context, actor core.Actor) ([]oauth.Attempt, error)
}

// Machinery tells how the installation is doing, to those who administer it.
type Machinery interface {
	State(ctx context.Context, actor core.Actor) (State, error)
}

// Services is what the API speaks for.
type Services struct {
	Agents      *agent.Service
	Sources     *source.Service
	Intake      *importer.Service
	Memories    *memory.Service
	Favourites  *favourite.Service
	Threads     *thread.Service
	Webhooks    *webhook.Service
	Credentials *credential.Service
	Sessions    *credential.Sessions
	Accounts    *account.Service
	Auth        *signin.Service
	Passkeys    *passkey.Service
	Billing     *billing.Service
	Exports     *accountdata.Exports
	Deletions   *accountdata.Deletions
	Tasks       *task.Admin
	Audit       *audit.Log
	Attempts    Attempts
	Machinery   Machinery
	// Payments is nil unless plans are sold through a payment provider.
	Payments    Payments
	Idempotency Idempotency
	// Sealer encrypts the replies that Idempotency keeps.
	Sealer Sealer
	Clock  core.Clock
}

// Options is how the API behaves.
type Options struct {
	// BaseURL is the installation's address as clients see it.
	BaseURL string
	// TurnWait is how long a sent message waits for its reply before it is answered with 202.
	TurnWait time.Duration
	// Draining is closed when the server stops: waits and streams end then.
	Draining <-chan struct{}
	// Address tells where the request of a context came from; nil means nowhere.
	Address func(context.Context) netip.Addr
	// Streams limits the event streams of a credential; the MCP endpoint shares it. Nil limits nothing.
	Streams *streamwatch.Slots
	// OAuthScopes are those that the authorization server at BaseURL gives out; none means that there is no such server.
	OAuthScopes []string
}

// Hooks tell whoever runs the API about a request while it is answered: its route, for logs and metrics, and whose
// credential it carries, for rate limits, which may refuse it.
type Hooks struct {
	Route func(ctx context.Context, pattern string)
	Admit func(ctx context.Context, who core.Actor) error
}

// API serves the REST paths.
type API struct {
	Services
	hooks    Hooks
	baseURL  string
	scopes   []string
	turnWait time.Duration
	draining <-chan struct{}
	address  func(context.Context) netip.Addr
	log      *slog.Logger
	problems *Problems
	browsers browsers
	oas      *oas.Server
	// validator decodes requests and carries nothing out.
	validator *oas.Server
	// open are the streams of events.
	open    *streamwatch.Watch[*stream]
	streams *streamwatch.Slots
}

// New returns the API of an installation.
func New(s Services, hooks Hooks, o Options, problems *Problems, log *slog.Logger) (*API, error) {
	s.Idempotency = sealedReplies{s.Idempotency, s.Sealer}
	browsers, err := newBrowsers(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Address == nil {
		o.Address = func(context.Context) netip.Addr { return netip.Addr{} }
	}
	a := &API{
		Services: s, hooks: hooks, baseURL: o.BaseURL, scopes: o.OAuthScopes, turnWait: o.TurnWait, draining: o.Draining, address: o.Address, log: log, problems: problems,
		browsers: browsers, streams: o.Streams,
	}
	a.open = streamwatch.New(recheck, a.look)
	server, err := oas.NewServer(handlers{a},
		oas.WithErrorHandler(func(ctx context.Context, _ http.ResponseWriter, _ *http.Request, err error) {
			outcomeOf(ctx).err = decodeError(err)
		}),
		oas.WithNotFound(func(_ http.ResponseWriter, r *http.Request) {
			outcomeOf(r.Context()).err = core.NotFound("path")
		}),
		oas.WithMethodNotAllowed(func(w http.ResponseWriter, r *http.Request, allowed string) {
			path := r.URL.EscapedPath() // a card's id may end like a path
			if strings.HasSuffix(path, "/favourites/export") {
				allowed += ",GET" // the router knows it only as a card of that name
			}
			if strings.HasSuffix(path, "/files") {
				allowed += ",POST" // a plain handler
			}
			w.Header().Set("Allow", allowed)
			outcomeOf(r.Context()).err = methodNotAllowed()
		}),
	)
	if err != nil {
		return nil, err
	}
	a.oas = server
	a.validator, err = newValidator()
	return a, err
}

// Routes adds the API's paths to a mux.
func (a *API) Routes(mux *http.ServeMux) {
	DocumentRoutes(mux, a.baseURL)
	plain := http.NewServeMux()
	plain.HandleFunc("/api/", a.serve)
	plain.HandleFunc("GET /api/agents/{agentId}/favourites/export", a.exportFavourites)
	plain.HandleFunc("GET /api/agents/{agentId}/threads/{threadId}/export", a.exportThread)
	plain.HandleFunc("GET /api/account/usage/export", a.exportUsage)
	plain.HandleFunc("/api/account/usage/export", a.noSuchMethod("GET"))
	plain.HandleFunc("GET /api/account/export/file", a.downloadExport)
	plain.HandleFunc("/api/account/export/file", a.noSuchMethod("GET"))
	plain.HandleFunc("/api/agents/{agentId}/threads/{threadId}/export", a.noSuchMethod("GET"))
	plain.HandleFunc("GET /api/agents/{agentId}/threads/{threadId}/events", a.streamEvents)
	plain.HandleFunc("/api/agents/{agentId}/threads/{threadId}/events", a.noSuchMethod("GET"))
	a.sourceRoutes(plain)
	// Patterns with wildcards slow down every look-up in a mux, and few requests are for these.
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") || strings.HasSuffix(r.URL.Path, "/export") || strings.HasSuffix(r.URL.Path, "/export/file") || strings.Contains(r.URL.Path, "/sources/") {
			plain.ServeHTTP(w, r)
			return
		}
		a.serve(w, r)
	})
	mux.HandleFunc("POST /api/billing/stripe", a.takeStripeEvent)
	mux.HandleFunc("/api/billing/stripe", a.noSuchMethod("POST"))
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", a.resourceMetadata(""))
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", a.resourceMetadata("/mcp"))
}

// handlers implements the generated interface. It is a type of its own so that the API's other methods do not mix
// with the contract's operations.
type handlers struct{ *API }

// NewError keeps a service's error for the one place that renders errors; what it returns is thrown away there.
func (h handlers) NewError(ctx context.Context, err error) *oas.ProblemStatusCode {
	outcomeOf(ctx).err = err
	return &oas.ProblemStatusCode{StatusCode: http.StatusInternalServerError}
}

// actor returns who is asking. The front has checked the credential; without one there is nobody, and nobody may
// do nothing.
func actor(ctx context.Context) core.Actor {
	a, _ := core.ActorFrom(ctx)
	return a
}

// timestamp renders a time as the contract has it: UTC with milliseconds. A list has two of them in every row, which
// is why it does not use time.Format.
func timestamp(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b := [24]byte{4: '-', 7: '-', 10: 'T', 13: ':', 16: ':', 19: '.', 23: 'Z'}
	digits(b[0:4], year)
	digits(b[5:7], int(month))
	digits(b[8:10], day)
	digits(b[11:13], hour)
	digits(b[14:16], minute)
	digits(b[17:19], second)
	digits(b[20:23], t.Nanosecond()/1e6)
	return string(b[:])
}

// digits writes a number into all of b, with leading zeros.
func digits(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}
