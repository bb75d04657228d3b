// Package httpapi serves the REST API. It authenticates requests, checks access, decodes them with code generated from
// the contract, calls the services and encodes their results. Invoke gives other protocols the same operations without
// HTTP.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/bin"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/httpapi/oas"
	"carrel/internal/importer"
	"carrel/internal/memory"
	"carrel/internal/oauth"
	"carrel/internal/savedsearch"
	"carrel/internal/sharelink"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/source"
	"carrel/internal/streamwatch"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/transcript"
	"carrel/internal/webhook"
	"carrel/internal/zoteroexport"
)

// Idempotency stores the replies to requests with an Idempotency-Key.
type Idempotency interface {
	// ClaimIdempotency claims the key for this request until lockUntil. If the key is finished, or another request holds
	// it, it returns mine = false and the existing record. An expired claim is taken over with its seed.
	ClaimIdempotency(
		ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time,
	) (rec core.IdempotencyRecord, mine bool, err error)
	FinishIdempotency(ctx context.Context, userID, key string, status int, body []byte, now time.Time) error
	ReleaseIdempotency(ctx context.Context, userID, key string) error
}

// Attempts lists failed attempts of programs to connect.
type Attempts interface {
	Attempts(ctx context.Context, actor core.Actor) ([]oauth.Attempt, error)
}

// Examples suggests questions that the documents of an agent answer.
type Examples interface {
	Suggest(ctx context.Context, userID string, a agent.Agent) ([]string, error)
}

// System reports the state of the installation to administrators.
type System interface {
	State(ctx context.Context, actor core.Actor) (State, error)
}

// Services are the services behind the API.
type Services struct {
	Agents      *agent.Service
	Sources     *source.Service
	Importer    *importer.Service
	Memories    *memory.Service
	Saved       *savedsearch.Service
	Bin         *bin.Service
	Favourites  *favourite.Service
	Zotero      *zoteroexport.Service
	Threads     *thread.Service
	Transcripts *transcript.Reader
	Links       *sharelink.Service
	Texts       TextChecker
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
	System      System
	Models      Models
	// Examples may be nil; no questions are suggested then.
	Examples Examples
	// Payments is nil if no payment provider is configured.
	Payments    Payments
	Idempotency Idempotency
	Leases      Leases
	// Sealer encrypts the replies that Idempotency stores.
	Sealer Sealer
	Clock  core.Clock
}

// Options configure the API.
type Options struct {
	// BaseURL is the installation's URL as clients see it.
	BaseURL string
	// TurnWait is how long a sent message waits for its reply before the response is 202.
	TurnWait time.Duration
	// Draining is closed when the server shuts down; waiting requests and streams end then.
	Draining <-chan struct{}
	// Address returns the client address of a request by its context. Nil means that it is unknown.
	Address func(context.Context) netip.Addr
	// Streams limits the event streams of a credential; the MCP endpoint shares it. Nil means no limit.
	Streams *streamwatch.Slots
	// OAuthScopes are the scopes of the authorization server at BaseURL; empty means that there is none.
	OAuthScopes []string
}

// Hooks are called during a request: Route with its route, for logs and metrics, and Admit with its actor, for rate
// limits, which may refuse it.
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
	plain    plainPaths
	// validator decodes requests without calling handlers.
	validator *oas.Server
	// open are the event streams, whose credentials are rechecked.
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
		Services: s, hooks: hooks, baseURL: o.BaseURL, scopes: o.OAuthScopes, turnWait: o.TurnWait, draining: o.Draining,
		address: o.Address, log: log, problems: problems, browsers: browsers, streams: o.Streams,
	}
	a.plain = a.plainPaths()
	a.open = streamwatch.New(recheckInterval, a.recheckStreams)
	server, err := oas.NewServer(handlers{a},
		oas.WithErrorHandler(func(ctx context.Context, _ http.ResponseWriter, _ *http.Request, err error) {
			outcomeOf(ctx).err = decodeError(err)
		}),
		oas.WithNotFound(func(w http.ResponseWriter, r *http.Request) {
			outcomeOf(r.Context()).err = a.notFound(w, r.URL, "")
		}),
		oas.WithMethodNotAllowed(func(w http.ResponseWriter, r *http.Request, allowed string) {
			outcomeOf(r.Context()).err = a.notFound(w, r.URL, allowed)
		}),
	)
	if err != nil {
		return nil, err
	}
	a.oas = server
	a.validator, err = newValidator()
	return a, err
}

// Routes adds the paths of the API to a mux.
func (a *API) Routes(mux *http.ServeMux) {
	DocumentRoutes(mux, a.baseURL)
	mux.HandleFunc("/api/", a.serve)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", a.resourceMetadata(""))
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", a.resourceMetadata("/mcp"))
}

// Handler serves the paths of the API in the contract.
func (a *API) Handler() http.Handler { return http.HandlerFunc(a.serve) }

// handlers implements the generated interface. It is a separate type to keep the operations apart from the API's other
// methods.
type handlers struct{ *API }

// NewError stores the error of a handler for serve, which renders all errors. Its return value is discarded.
func (h handlers) NewError(ctx context.Context, err error) *oas.ProblemStatusCode {
	outcomeOf(ctx).err = err
	return &oas.ProblemStatusCode{StatusCode: http.StatusInternalServerError}
}

// actor returns the actor of a request, which serve has authenticated. Without one it returns the zero Actor, which
// every operation denies.
func actor(ctx context.Context) core.Actor {
	a, _ := core.ActorFrom(ctx)
	return a
}

// timestamp formats a time as in the contract: RFC 3339 in UTC with milliseconds. It avoids time.Format for speed,
// because lists contain two timestamps per row.
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

// digits writes n into b, with leading zeros.
func digits(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}
