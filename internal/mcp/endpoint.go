package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/streamwatch"
)

// The headers of the protocol that decide where a request goes.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerName    = "Mcp-Name"
)

// firstStateless is the version from which on there are no sessions. Versions are dates and compare as texts.
const firstStateless = "2026-07-28"

// methodListen opens a stream of news in the stateless era.
const methodListen = "subscriptions/listen"

// maxBody is the largest message, the same as the largest body of the REST API.
const maxBody = 1 << 20

// Edge is what the endpoint needs to know of the server that it is a part of.
type Edge struct {
	// BaseURL is the installation's address as clients see it.
	BaseURL string
	// Authenticate returns who a bearer token acts for. It is asked on every request, and about once a second for the
	// open streams of a token.
	Authenticate func(ctx context.Context, token string) (core.Actor, error)
	// Admit is told of every request whose credential is good, and refuses those that come too often.
	Admit func(ctx context.Context, who core.Actor) error
	// Problem answers a request that does not get as far as the protocol, with the challenge that belongs to it.
	Problem func(w http.ResponseWriter, r *http.Request, err error)
	// Streams limits the event streams of a credential; the REST API shares it. Nil limits nothing.
	Streams *streamwatch.Slots
	// Sealer signs the ids of sessions, so that they outlive the process and can't be used by others.
	Sealer Sealer
	// Draining is closed when the server stops: streams without an end end then.
	Draining <-chan struct{}
	Log      *slog.Logger
}

// Sealer encrypts short texts for one place.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// protocol is what the endpoint serves: a server for each era, and what is said of requests before they get there.
type protocol struct {
	// stateful and stateless are the servers of the eras. They never ask their clients anything, so that a session needs no
	// memory; see sessions.
	stateful, stateless *sdk.Server
	sessions            *sessions
	// asking takes the place of stateful for tests: the suite's tools ask their clients, and need sessions of the SDK.
	asking http.Handler
	// check may refuse a request before it is carried out.
	check func(who core.Actor, m message) error
	// quick reports whether a request is answered with one message and nothing before it. Such an answer needs no
	// stream, which costs both sides.
	quick func(m message) bool
	// cached names the answer to a request that is the same whenever it is asked; empty means that it may not be.
	cached func(who core.Actor, m message) string
	// listen answers subscriptions/listen, and GET of a session, and returns what waits for news and ends the stream; nil
	// leaves the first to the server.
	listen func(s *stream, r *http.Request, who core.Actor, m message) (wait func())
}

// endpoint is the HTTP side of the protocol: one address for both eras.
type endpoint struct {
	edge     Edge
	protocol protocol
	// The handlers are the SDK's: for each era one that answers with streams and one that answers with plain JSON.
	old, new     handlers
	stateful     http.Handler
	host, origin string
	// open are the replies that are not over at once.
	open *streamwatch.Watch[*stream]
	// answers are those that may be given again, as the SDK has once given them.
	answers sync.Map
}

type handlers struct{ streaming, plain http.Handler }

func newEndpoint(e Edge, p protocol) (*endpoint, error) {
	base, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, err
	}
	both := func(s *sdk.Server) handlers {
		return handlers{streaming: newHandler(s, sdk.StreamableHTTPOptions{Stateless: true}), plain: newHandler(s, sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})}
	}
	end := &endpoint{
		edge: e, protocol: p, host: base.Hostname(), origin: base.Scheme + "://" + base.Host,
		old: both(p.stateful), new: both(p.stateless), stateful: p.asking,
	}
	end.open = streamwatch.New(recheckEvery, end.look)
	return end, nil
}

// newHandler returns a handler of the SDK that knows who is asking.
func newHandler(s *sdk.Server, o sdk.StreamableHTTPOptions) http.Handler {
	// Host and Origin are checked here: the SDK takes a proxy on this machine for an attack, and lets foreign pages in.
	o.DisableLocalhostProtection = true
	o.PropagateRequestCancellation = true
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &o)
	return auth.RequireBearerToken(knownToken, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
}

// actorInfo is the name under which the SDK's token information carries the actor.
const actorInfo = "actor"

// knownToken hands the actor of a request over to the SDK, which has no other door for it: its handlers may run in the
// context of another request of the session.
func knownToken(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	who, ok := core.ActorFrom(ctx)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: who.UserID, Extra: map[string]any{actorInfo: who}}, nil
}

// actorOf returns who sent a request. Without anybody it is nobody, who may do nothing.
func actorOf(r sdk.Request) core.Actor {
	if extra := r.GetExtra(); extra != nil && extra.TokenInfo != nil {
		who, _ := extra.TokenInfo.Extra[actorInfo].(core.Actor)
		return who
	}
	return core.Actor{}
}

// ServeHTTP is the front of both eras. What waits for news waits here, when all that was needed to begin is off the stack,
// which is the most that an idle client costs.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if wait := e.answer(w, r); wait != nil {
		wait()
	}
}

// answer answers a request: is it for us, who is asking, what is it. It may leave something to wait for, which then has to
// end the stream.
func (e *endpoint) answer(w http.ResponseWriter, r *http.Request) (wait func()) {
	if err := e.checkSender(r); err != nil {
		e.edge.Problem(w, r, err)
		return nil
	}
	token, who, err := e.authenticate(r)
	if err != nil {
		e.edge.Problem(w, r, err)
		return nil
	}
	r = r.WithContext(core.WithActor(r.Context(), who))
	var m message
	if r.Method == http.MethodPost {
		if m, err = e.read(w, r); err != nil {
			e.refuse(w, r, m, err)
			return nil
		}
		if err := cmp.Or(checkTaskHeader(r.Header.Get(headerName), m), e.protocol.check(who, m)); err != nil {
			e.refuse(w, r, m, err)
			return nil
		}
	}
	s := newStream(w, r, who, token, e.open)
	if e.opensStream(r, m) {
		if s.release, err = e.edge.Streams.Take(who.CredentialID); err != nil {
			s.end()
			e.edge.Problem(w, r, err)
			return nil
		}
	}
	defer func() {
		if wait == nil {
			s.end()
		}
	}()
	return e.route(s, s.request, who, m)
}

// opensStream reports whether a request may be answered with a stream of events: the stream of a session, a subscription,
// or a tool that reports progress.
func (e *endpoint) opensStream(r *http.Request, m message) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodPost && !e.protocol.quick(m)
}

// route sends a request to its era, and returns what is left to wait for.
func (e *endpoint) route(s *stream, r *http.Request, who core.Actor, m message) (wait func()) {
	switch {
	case isStateful(r, m):
		return e.serveSession(s, r, who, m)
	case e.protocol.listen != nil && m.Method == methodListen && fits(r, m) && m.Params.Notifications != nil:
		return e.protocol.listen(s, r, who, m)
	default:
		e.serve(s, r, who, m)
		return nil
	}
}

// serve has the SDK answer a message, unless it has answered the same before.
func (e *endpoint) serve(s *stream, r *http.Request, who core.Actor, m message) {
	h, version := e.new, firstStateless
	if isStateful(r, m) {
		h, version = e.old, r.Header.Get(headerVersion)
	}
	name := e.protocol.cached(who, m)
	switch {
	case name != "" && (version < firstStateless || fits(r, m)):
		e.serveAgain(s, r, m, version+" "+name, h.plain)
	case e.protocol.quick(m):
		h.plain.ServeHTTP(s, r)
	default:
		h.streaming.ServeHTTP(s, r)
	}
}

// fits reports whether a request of the stateless era is beyond doubt. One with headers that do not fit its message is
// left to the SDK, which knows all the ways to refuse it.
func fits(r *http.Request, m message) bool {
	var version string
	_ = json.Unmarshal(m.Params.Meta[sdk.MetaKeyProtocolVersion], &version)
	_, capable := m.Params.Meta[sdk.MetaKeyClientCapabilities]
	return r.Header.Get("Mcp-Method") == m.Method && version == firstStateless && r.Header.Get(headerVersion) == version && capable && plainID(m.ID) &&
		strings.HasPrefix(r.Header.Get("Content-Type"), typeJSON) && strings.Contains(r.Header.Get("Accept"), typeJSON) &&
		strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// plainID reports whether an id is a text or a number.
func plainID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// isStateful reports whether a request is of the era of sessions: one that is not POST, carries a session or an old
// version, or begins a session. One that says that it is of the other era is believed.
func isStateful(r *http.Request, m message) bool {
	version := r.Header.Get(headerVersion)
	if r.Method != http.MethodPost || m.batch {
		return true
	}
	if version >= firstStateless {
		return false
	}
	return version != "" || m.Method == "initialize" || r.Header.Get(headerSession) != ""
}

// checkSender refuses browsers that another site has made ask, and names that are not ours, which is how such a site
// gets around the first rule (DNS rebinding). An address or a name without a dot can't be of such a site.
func (e *endpoint) checkSender(r *http.Request) error {
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !strings.EqualFold(origins[0], e.origin) {
		return core.Forbidden("forbidden", "Pages of other sites may not use this server. Connect with a program that is no page.")
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	if strings.EqualFold(host, e.host) || !strings.Contains(strings.TrimSuffix(host, "."), ".") || isAddress(host) {
		return nil
	}
	return core.Forbidden("forbidden", "This server does not have that name. Use the address that it shows; a proxy must pass on the Host header.")
}

// authenticate returns the bearer token of a request and its actor. A cookie is never looked at.
func (e *endpoint) authenticate(r *http.Request) (string, core.Actor, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", core.Actor{}, core.Unauthenticated("missing_credential",
			"Send a credential in the header: Authorization: Bearer <token>.")
	}
	fields := strings.Fields(values[0])
	if len(values) > 1 || len(fields) != 2 || !strings.EqualFold(fields[0], "Bearer") {
		return "", core.Actor{}, core.Unauthenticated("invalid_credential",
			"The Authorization header must be one bearer token: Authorization: Bearer <token>.")
	}
	who, err := e.edge.Authenticate(r.Context(), fields[1])
	if err == nil {
		err = e.edge.Admit(r.Context(), who)
	}
	if err == nil && who.Lacks.Has(core.CapMCP) { // what else a credential may not do is missing from its tools
		err = who.Allow(core.OpUseMCP)
	}
	return fields[1], who, err
}

// recheck reports whether an open stream's credential is still good, and for whom. While that can't be found out, it is
// as it was.
func (e *endpoint) recheck(ctx context.Context, token string, was core.Actor) (core.Actor, bool) {
	now, err := e.edge.Authenticate(ctx, token)
	if err == nil {
		return now, true
	}
	return was, !core.IsKind(err, core.KindUnauthenticated) && !core.IsKind(err, core.KindForbidden)
}

// read takes the message out of a request and puts it back for the SDK.
func (e *endpoint) read(w http.ResponseWriter, r *http.Request) (message, error) {
	tooLarge := &core.Error{Kind: core.KindTooLarge, Code: "body_too_large", Detail: "The message is larger than 1 MiB."}
	if r.ContentLength > maxBody {
		w.Header().Set("Connection", "close") // net/http would first read on to the end
		return message{}, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		w.Header().Set("Connection", "close")
		return message{}, tooLarge
	case err != nil:
		return message{}, malformed("The message did not arrive whole.")
	}
	m, err := parseMessage(body)
	if err != nil {
		return m, err
	}
	m.body = body
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return m, nil
}

// refuse answers a request that was read but is not carried out. What needs another credential is a matter of HTTP,
// whose status and challenge clients act on; the rest is said in the protocol's own words.
func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, m message, err error) {
	var rpc *rpcError
	if errors.As(err, &rpc) {
		rpc.write(w, http.StatusBadRequest, m.ID)
		return
	}
	e.edge.Problem(w, r, err)
}

// methods are what the address has at all.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodDelete}
