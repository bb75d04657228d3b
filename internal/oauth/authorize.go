package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/lazyregexp"
)

// request is an authorization request with a known client and a registered redirect URI.
type request struct {
	ClientID string
	// RedirectURI is the parameter as sent, which the token request must repeat. It may be empty if the client has
	// registered only one.
	RedirectURI string
	// RedirectTo is the address that the response is sent to.
	RedirectTo string
	State      string
	Challenge  string
	Nonce      string
	Scopes     []string
	Resources  []string
	// MaxAge is the maximum age of the sign-in, in seconds; nil allows any age, and zero always requires a new sign-in.
	MaxAge *int
}

// tooOld reports whether a sign-in of this age exceeds the request's max_age.
func (r request) tooOld(age time.Duration) bool {
	return r.MaxAge != nil && (*r.MaxAge == 0 || age > time.Duration(*r.MaxAge)*time.Second)
}

// consentHandle carries a request through the consent page as a hidden form field. It is encrypted for one session, so
// a handle made in another session is refused.
type consentHandle struct {
	Request request
	Expires time.Time
}

// consentTimeout is how long the consent page can be answered.
const consentTimeout = 10 * time.Minute

// challengeForm is a SHA-256 in base64url (RFC 7636, 4.2).
var challengeForm = lazyregexp.New(`^[A-Za-z0-9_-]{43}$`)

// Maximum lengths of parameters that are stored or returned to the client.
const (
	maxNonce = 512
	maxState = 4096
)

// authorizeEndpoint is the authorization endpoint, the only one with pages.
type authorizeEndpoint struct {
	*Service
	pages Pages
}

// authorize handles an authorization request (RFC 6749, 4.1.1). It shows the consent page every time, also if the user
// has allowed the client before.
func (s *authorizeEndpoint) authorize(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer")
	allowOpener(w)
	session, signedIn := s.pages.Session(r)
	a := attempt{stage: StageAuthorize, userID: session.UserID}
	p, err := parseParams(r.URL.RawQuery)
	if err != nil {
		s.recordProtocolError(r, a, err)
		s.showFailure(w, r, FailMalformedRequest, "")
		return nil
	}
	c, req, ok := s.resolveClient(w, r, a, p, signedIn)
	if !ok {
		return nil
	}
	a.client = c
	if err := s.parseRequest(&req, p); err != nil {
		s.recordProtocolError(r, a, err)
		s.refuseRequest(w, r, req, signedIn, err)
		return nil
	}
	prompt := strings.Fields(p.Get("prompt"))
	now := s.clock.Now()
	fresh := signedIn && !req.tooOld(now.Sub(session.AuthenticatedAt)) &&
		!session.AuthenticatedAt.Before(p.signedInSince(now))
	switch {
	case slices.Contains(prompt, "none"):
		err := badRequest("consent_required", "The user must see the consent page. Do not send prompt=none.")
		if !fresh {
			err.code = "login_required"
		}
		s.recordProtocolError(r, a, err)
		s.refuseRequest(w, r, req, signedIn, err)
		return nil
	case !fresh || slices.Contains(prompt, "login"):
		s.signIn(w, r, p)
		return nil
	}
	s.pages.Consent(w, r, s.consentPage(c, req, session))
	return nil
}

// sinceParam is a parameter of this server: the earliest sign-in that is accepted, in Unix milliseconds. It replaces
// prompt=login and max_age=0 in the URL that the sign-in page returns to. Keeping those would require another sign-in
// on every return; dropping them would accept a return without a sign-in.
const sinceParam = "signed_in_since"

// signIn redirects to the sign-in page, which returns with the same request.
func (s *authorizeEndpoint) signIn(w http.ResponseWriter, r *http.Request, p params) {
	if slices.Contains(strings.Fields(p.Get("prompt")), "login") || p.Get("max_age") == "0" {
		p.Set(sinceParam, strconv.FormatInt(s.clock.Now().UnixMilli(), 10))
	}
	p.Del("prompt")
	if p.Get("max_age") == "0" {
		p.Del("max_age")
	}
	s.pages.SignIn(w, r, r.URL.Path+"?"+p.Encode())
}

// signedInSince returns the value of sinceParam. A value that is no time in the past was not written by this server and
// is ignored like any unknown parameter.
func (p params) signedInSince(now time.Time) time.Time {
	ms, err := strconv.ParseInt(p.Get(sinceParam), 10, 64)
	if since := time.UnixMilli(ms); err == nil && !since.After(now) {
		return since
	}
	return time.Time{}
}

// resolveClient returns the client of an authorization request and its redirect URI. Until both are known to be good it
// only shows pages and never redirects to the client (RFC 6749, 4.1.2.1).
func (s *authorizeEndpoint) resolveClient(
	w http.ResponseWriter, r *http.Request, a attempt, p params, signedIn bool,
) (Client, request, bool) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(p.Values[name]) > 1 {
			s.recordProtocolError(r, a, errRepeated)
			s.showFailure(w, r, FailMalformedRequest, "")
			return Client{}, request{}, false
		}
	}
	c, err := s.findOrFetchClient(r.Context(), p.Get("client_id"), signedIn)
	var document *documentError
	switch {
	case errors.Is(err, errSignInFirst) && !slices.Contains(strings.Fields(p.Get("prompt")), "none"):
		s.signIn(w, r, p)
		return Client{}, request{}, false
	case errors.As(err, &document):
		s.recordFailure(r, a, problemDocument, document.wrong)
		s.showFailure(w, r, FailClientDocument, document.wrong)
		return Client{}, request{}, false
	case errors.Is(err, errSignInFirst), core.IsKind(err, core.KindNotFound):
		s.recordFailure(r, a, problemUnknownClient, "")
		s.showFailure(w, r, FailUnknownClient, "")
		return Client{}, request{}, false
	case err != nil:
		e := s.protocolErrorOf(r, err)
		failure := FailInternal
		if e.status == http.StatusServiceUnavailable {
			failure = FailUnavailable
		}
		s.pages.Fail(w, r, FailPage{Failure: failure, Status: e.status})
		return Client{}, request{}, false
	}
	a.client = c
	req := request{ClientID: c.ID, RedirectURI: p.Get("redirect_uri"), State: p.Get("state")}
	req.RedirectTo = req.RedirectURI
	if req.RedirectURI == "" && len(c.RedirectURIs) == 1 {
		req.RedirectTo = c.RedirectURIs[0]
	}
	if !matchRedirect(c.RedirectURIs, req.RedirectTo) {
		s.recordFailure(r, a, problemRedirect, "")
		s.showFailure(w, r, FailRedirectMismatch, "")
		return Client{}, request{}, false
	}
	return c, req, true
}

// parseRequest reads the remaining parameters into req. Its errors are sent to the client.
func (s *Service) parseRequest(req *request, p params) (err error) {
	switch {
	case len(req.State) > maxState:
		req.State = ""
		return invalidRequest("state is too long.")
	case p.repeated != "":
		if p.repeated == "state" {
			req.State = ""
		}
		return errRepeated
	case p.Get("request") != "":
		return badRequest("request_not_supported", "Request objects are not supported. Send plain parameters.")
	case p.Get("request_uri") != "":
		return badRequest("request_uri_not_supported", "Request objects are not supported. Send plain parameters.")
	case p.Get("response_type") == "":
		return invalidRequest("response_type is missing; it must be code.")
	case p.Get("response_type") != "code":
		return badRequest("unsupported_response_type", "response_type must be code.")
	case p.Get("response_mode") != "" && p.Get("response_mode") != "query":
		return invalidRequest("response_mode must be query.")
	case p.Get("code_challenge") == "":
		return invalidRequest("code_challenge is missing: PKCE is required.")
	case p.Get("code_challenge_method") != "S256":
		return invalidRequest("code_challenge_method must be S256.")
	case !challengeForm.MatchString(p.Get("code_challenge")):
		return invalidRequest("code_challenge must be 43 characters of base64url.")
	case len(p.Get("nonce")) > maxNonce:
		return invalidRequest("nonce is too long.")
	}
	if raw := p.Get("max_age"); raw != "" {
		age, err := strconv.ParseUint(raw, 10, 31)
		if err != nil {
			return invalidRequest("max_age must be a number of seconds.")
		}
		seconds := int(age)
		req.MaxAge = &seconds
	}
	req.Challenge, req.Nonce = p.Get("code_challenge"), p.Get("nonce")
	if req.Scopes, err = parseScope(p.Get("scope")); err != nil {
		return err
	}
	req.Resources, err = s.parseResources(p.resources())
	return err
}

func (s *authorizeEndpoint) showFailure(w http.ResponseWriter, r *http.Request, f Failure, detail string) {
	s.pages.Fail(w, r, FailPage{Failure: f, Detail: detail, Status: http.StatusBadRequest})
}

// refuseRequest reports an invalid authorization request: to the client by a redirect if a user is signed in here, and
// on a page to an anonymous visitor. Anyone can register a client with any redirect URI, so redirecting anonymous
// visitors would make this endpoint an open redirector (RFC 9700, 4.11.2). That includes prompt=none without a session,
// where OpenID Connect Core, 3.1.2.6 would redirect with login_required.
func (s *authorizeEndpoint) refuseRequest(
	w http.ResponseWriter, r *http.Request, req request, signedIn bool, err error,
) {
	if signedIn {
		s.redirectError(w, r, http.StatusFound, req, err)
		return
	}
	e := s.protocolErrorOf(r, err)
	if e.code == "login_required" {
		s.showFailure(w, r, FailNotSignedIn, "")
		return
	}
	s.pages.Fail(w, r, FailPage{Failure: FailInvalidRequest, Detail: e.description, Status: e.status})
}

// redirectError sends an error response to the client's redirect URI.
func (s *Service) redirectError(w http.ResponseWriter, r *http.Request, status int, req request, err error) {
	e := s.protocolErrorOf(r, err)
	s.redirect(w, status, req, url.Values{"error": {e.code}, "error_description": {e.description}})
}

// redirect sends an authorization response. Every response names the issuer (RFC 9207).
func (s *Service) redirect(w http.ResponseWriter, status int, req request, response url.Values) {
	response.Set("iss", s.issuer)
	if req.State != "" {
		response.Set("state", req.State)
	}
	h := w.Header()
	h.Set("Location", withQuery(req.RedirectTo, response))
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
}

func (s *Service) consentPage(c Client, req request, session Session) ConsentPage {
	plain, err := json.Marshal(consentHandle{Request: req, Expires: s.clock.Now().Add(consentTimeout)})
	if err != nil {
		panic(err) // strings and a time always marshal
	}
	sealed := s.handles.Seal(plain, session.ID)
	action := root + "/authorize"
	if u, err := url.Parse(s.issuer); err == nil {
		action = u.Path + action
	}
	return ConsentPage{
		Client: c.Name, Publisher: publisherOf(c), ClientHost: hostOf(req.RedirectTo), RedirectTo: req.RedirectTo,
		Scopes: req.Scopes, Account: session.Email, Action: action,
		Fields: map[string]string{"request": base64.RawURLEncoding.EncodeToString(sealed)},
	}
}

// allowOpener keeps the link between a pop-up and the web client that opened it. The policy of all other pages would
// cut it, and the client would not notice that the authorization is complete.
func allowOpener(w http.ResponseWriter) { w.Header().Set("Cross-Origin-Opener-Policy", "unsafe-none") }

// decide handles the form of the consent page.
func (s *authorizeEndpoint) decide(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer")
	allowOpener(w)
	if err := s.origin.Check(r); err != nil {
		s.pages.Fail(w, r, FailPage{Failure: FailCrossOrigin, Status: http.StatusForbidden})
		return nil //nolint:nilerr // the page reports it
	}
	form, err := readForm(w, r)
	if err != nil {
		s.showFailure(w, r, FailMalformedForm, "")
		return nil //nolint:nilerr // the page reports it
	}
	session, signedIn := s.pages.Session(r)
	a := attempt{stage: StageAuthorize, userID: session.UserID}
	req, ok := s.openHandle(form.Get("request"), session.ID)
	if !signedIn || !ok {
		s.recordFailure(r, a, problemStale, "")
		s.showFailure(w, r, FailPageExpired, "")
		return nil
	}
	// The client may have been deleted, or its redirect URIs changed, since the page was shown.
	c, err := s.client(r.Context(), req.ClientID)
	if err != nil || !matchRedirect(c.RedirectURIs, req.RedirectTo) {
		s.showFailure(w, r, FailUnknownClient, "")
		return nil //nolint:nilerr // the page reports it
	}
	switch form.Get("decision") {
	case "allow":
		code, err := s.issueCode(r.Context(), req, session)
		if err != nil {
			s.redirectError(w, r, http.StatusSeeOther, req, err)
			return nil
		}
		s.redirect(w, http.StatusSeeOther, req, url.Values{"code": {code}})
	case "deny":
		err := badRequest("access_denied", "The user denied access.")
		a.client = c
		s.recordProtocolError(r, a, err)
		s.redirectError(w, r, http.StatusSeeOther, req, err)
	default:
		s.showFailure(w, r, FailMalformedForm, "")
	}
	return nil
}

// openHandle decrypts a consent handle. It fails for a handle of another session and for an expired one.
func (s *Service) openHandle(text, sessionID string) (request, bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || sessionID == "" {
		return request{}, false
	}
	plain, err := s.handles.Open(sealed, sessionID)
	if err != nil {
		return request{}, false
	}
	var h consentHandle
	if json.Unmarshal(plain, &h) != nil || !s.clock.Now().Before(h.Expires) {
		return request{}, false
	}
	return h.Request, true
}

// issueCode stores a new authorization code and returns its secret.
func (s *Service) issueCode(ctx context.Context, req request, session Session) (string, error) {
	code := credential.NewSecret(s.prefixes.Code)
	err := s.store.InsertAuthCode(ctx, Code{
		GrantID: core.NewID(core.PrefixGrant), UserID: session.UserID, ClientID: req.ClientID,
		RedirectURI: req.RedirectURI, Challenge: req.Challenge, Nonce: req.Nonce,
		Scopes: req.Scopes, Resources: req.Resources,
		AuthTime: session.AuthenticatedAt, ExpiresAt: s.clock.Now().Add(CodeLife),
	}, credential.Hash(s.hashKey, code))
	return code, err
}
