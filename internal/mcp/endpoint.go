package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/streamwatch"
)

// Headers of the protocol that decide how a request is routed.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerName    = "Mcp-Name"
)

// firstStateless is the first version without sessions. Versions are dates and compare as strings.
const firstStateless = "2026-07-28"

// methodListen opens a stream of notifications in the stateless era.
const methodListen = "subscriptions/listen"

// maxBody limits the size of a message, like the body limit of the REST API.
const maxBody = 1 << 20

// protocol is the part behind the endpoint: an SDK server for each era, and the hooks that run before it.
type protocol struct {
	// stateful and stateless are the servers of the two eras. They send no requests to clients, so a session needs no
	// memory; see sessions.
	stateful, stateless *sdk.Server
	sessions            *sessions
	// sdkSessions replaces stateful in tests: the tools of the conformance suite send requests to clients, which needs the
	// SDK's sessions.
	sdkSessions http.Handler
	// check may refuse a request before it is carried out.
	check func(who core.Actor, m message) error
	// singleReply reports whether a request is answered with a single message. Such a reply needs no stream, which is more
	// expensive for both sides.
	singleReply func(m message) bool
	// cacheKey returns the key under which the reply can be cached; empty means not at all.
	cacheKey func(who core.Actor, m message) string
	// listen answers subscriptions/listen and the GET of a session. It returns a function that sends notifications until
	// the stream ends. Nil leaves subscriptions/listen to the SDK.
	listen func(s *stream, r *http.Request, who core.Actor, m message) (wait func())
}

// endpoint is the HTTP side of the protocol: one URL for both eras.
type endpoint struct {
	deps     Deps
	protocol protocol
	// stateful and stateless are the SDK's handlers for the two eras.
	stateful, stateless handlers
	sdkSessions         http.Handler
	host, origin        string
	// open are the replies that stay open, whose credentials are rechecked.
	open *streamwatch.Watch[*stream]
	// cache holds results of the SDK by cache key.
	cache sync.Map
}

// handlers answer with an event stream, or with a single JSON message.
type handlers struct{ streaming, plain http.Handler }

func newEndpoint(d Deps, p protocol) (*endpoint, error) {
	base, err := url.Parse(d.BaseURL)
	if err != nil {
		return nil, err
	}
	both := func(s *sdk.Server) handlers {
		return handlers{
			streaming: newHandler(s, sdk.StreamableHTTPOptions{Stateless: true}),
			plain:     newHandler(s, sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}),
		}
	}
	e := &endpoint{
		deps: d, protocol: p, host: base.Hostname(), origin: base.Scheme + "://" + base.Host,
		stateful: both(p.stateful), stateless: both(p.stateless), sdkSessions: p.sdkSessions,
	}
	e.open = streamwatch.New(recheckInterval, e.recheckStreams)
	return e, nil
}

// newHandler returns an SDK handler whose requests carry the actor.
func newHandler(s *sdk.Server, o sdk.StreamableHTTPOptions) http.Handler {
	// checkSender checks Host and Origin. The SDK's check refuses a proxy on the same machine and accepts foreign origins.
	o.DisableLocalhostProtection = true
	o.PropagateRequestCancellation = true
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &o)
	return auth.RequireBearerToken(tokenInfo, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
}

// actorInfo is the key of the actor in the SDK's token information.
const actorInfo = "actor"

// tokenInfo passes the actor to the SDK as token information. The request's context cannot carry it: the SDK may run a
// handler in the context of another request of the session.
func tokenInfo(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	who, ok := core.ActorFrom(ctx)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: who.UserID, Extra: map[string]any{actorInfo: who}}, nil
}

// actorOf returns the actor of an SDK request. Without one it returns the zero Actor, which every operation denies.
func actorOf(r sdk.Request) core.Actor {
	if extra := r.GetExtra(); extra != nil && extra.TokenInfo != nil {
		who, _ := extra.TokenInfo.Extra[actorInfo].(core.Actor)
		return who
	}
	return core.Actor{}
}

// ServeHTTP answers a request of either era. Listeners wait here, after answer has returned, to keep the stack of an
// idle connection small.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if wait := e.answer(w, r); wait != nil {
		wait()
	}
}

// answer checks the sender and the credential, reads the message and answers it. If it returns a function, the stream
// stays open and the function has to end it.
func (e *endpoint) answer(w http.ResponseWriter, r *http.Request) (wait func()) {
	if err := e.checkSender(r); err != nil {
		e.deps.Problem(w, r, err)
		return nil
	}
	token, who, err := e.authenticate(r)
	if err != nil {
		e.deps.Problem(w, r, err)
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
		if s.release, err = e.deps.Streams.Take(who.CredentialID); err != nil {
			s.end()
			e.deps.Problem(w, r, err)
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

// opensStream reports whether a request may be answered with an event stream: the stream of a session, a subscription,
// or a tool that reports progress.
func (e *endpoint) opensStream(r *http.Request, m message) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodPost && !e.protocol.singleReply(m)
}

// route passes a request to the server of its era. It returns the function that serves the stream if that stays open.
func (e *endpoint) route(s *stream, r *http.Request, who core.Actor, m message) (wait func()) {
	switch {
	case isStateful(r, m):
		return e.serveSession(s, r, who, m)
	case e.protocol.listen != nil && m.Method == methodListen && isWellFormed(r, m) && m.Params.Notifications != nil:
		return e.protocol.listen(s, r, who, m)
	default:
		e.serve(s, r, who, m)
		return nil
	}
}

// serve answers a message from the cache or with the SDK.
func (e *endpoint) serve(s *stream, r *http.Request, who core.Actor, m message) {
	h, version := e.stateless, firstStateless
	if isStateful(r, m) {
		h, version = e.stateful, r.Header.Get(headerVersion)
	}
	key := e.protocol.cacheKey(who, m)
	switch {
	case key != "" && (version < firstStateless || isWellFormed(r, m)):
		e.serveCached(s, r, m, version+" "+key, h.plain)
	case e.protocol.singleReply(m):
		h.plain.ServeHTTP(s, r)
	default:
		h.streaming.ServeHTTP(s, r)
	}
}

// isWellFormed reports whether the headers and the message of a stateless request agree. Other requests are left to the
// SDK, which returns the right error for each mismatch.
func isWellFormed(r *http.Request, m message) bool {
	var version string
	_ = json.Unmarshal(m.Params.Meta[sdk.MetaKeyProtocolVersion], &version)
	_, capable := m.Params.Meta[sdk.MetaKeyClientCapabilities]
	return r.Header.Get("Mcp-Method") == m.Method && version == firstStateless && r.Header.Get(headerVersion) == version &&
		capable && isPlainID(m.ID) &&
		strings.HasPrefix(r.Header.Get("Content-Type"), typeJSON) && strings.Contains(r.Header.Get("Accept"), typeJSON) &&
		strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// isPlainID reports whether a JSON-RPC id is a string or a number.
func isPlainID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// isStateful reports whether a request belongs to the era of sessions: it is not a POST, has a session id or an old
// version, or starts a session. A header with a stateless version takes precedence.
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

// checkSender refuses requests from pages of other origins, and unknown host names, with which such a page could get
// around the origin check (DNS rebinding). IP addresses and names without a dot cannot be used for that.
func (e *endpoint) checkSender(r *http.Request) error {
	if origins := r.Header.Values("Origin"); len(origins) > 1 ||
		len(origins) == 1 && !strings.EqualFold(origins[0], e.origin) {
		return core.Forbidden("forbidden", "Web pages of other sites cannot use this server. Connect with a program instead.")
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	if strings.EqualFold(host, e.host) || !strings.Contains(strings.TrimSuffix(host, "."), ".") || isAddress(host) {
		return nil
	}
	return core.Forbidden("forbidden",
		"This server is not known by that host name. Use its configured URL; a proxy must pass on the Host header.")
}

// authenticate returns the bearer token of a request and its actor. Cookies are ignored.
func (e *endpoint) authenticate(r *http.Request) (string, core.Actor, error) {
	token, err := core.BearerToken(r.Header.Values("Authorization"))
	switch {
	case errors.Is(err, core.ErrNoAuthorization):
		return "", core.Actor{}, httpapi.MissingCredential()
	case err != nil:
		return "", core.Actor{}, httpapi.InvalidBearer()
	}
	who, err := e.deps.Authenticate(r.Context(), token)
	if err == nil {
		err = e.deps.Admit(r.Context(), who)
	}
	if err == nil && who.Lacks.Has(core.CapMCP) { // other restrictions show in the list of tools
		err = who.Allow(core.OpUseMCP)
	}
	return token, who, err
}

// recheck reports whether the credential of an open stream is still valid, and returns its current actor. If the check
// fails for another reason, such as a database error, the stream stays open.
func (e *endpoint) recheck(ctx context.Context, token string, was core.Actor) (core.Actor, bool) {
	now, err := e.deps.Authenticate(ctx, token)
	if err == nil {
		return now, true
	}
	return was, !core.IsKind(err, core.KindUnauthenticated) && !core.IsKind(err, core.KindForbidden)
}

// read reads the message of a request and puts the body back for the SDK.
func (e *endpoint) read(w http.ResponseWriter, r *http.Request) (message, error) {
	tooLarge := &core.Error{Kind: core.KindTooLarge, Code: "body_too_large", Detail: "The message is larger than 1 MiB."}
	if r.ContentLength > maxBody {
		w.Header().Set("Connection", "close") // otherwise net/http reads the rest of the body first
		return message{}, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		w.Header().Set("Connection", "close")
		return message{}, tooLarge
	case err != nil:
		return message{}, malformed("The message is incomplete.")
	}
	m, err := parseMessage(body)
	if err != nil {
		return m, err
	}
	m.body = body
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return m, nil
}

// refuse answers a message that is not carried out: with a JSON-RPC error, or for credentials and rate limits with an
// HTTP error, because clients act on its status and challenge.
func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, m message, err error) {
	var rpc *rpcError
	if errors.As(err, &rpc) {
		rpc.write(w, http.StatusBadRequest, m.ID)
		return
	}
	e.deps.Problem(w, r, err)
}

// methods are the HTTP methods of the endpoint.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodDelete}
