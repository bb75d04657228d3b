package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// request is an authorization request whose client and redirect are good.
type request struct {
	ClientID string
	// RedirectURI is what the client sent, which the token request must repeat; empty if it has only one and sent none.
	RedirectURI string
	// RedirectTo is where the answer goes.
	RedirectTo string
	State      string
	Challenge  string
	Nonce      string
	Scopes     []string
	Resources  []string
	// MaxAge is the longest time since the user signed in, in seconds; nil is any. Zero always asks.
	MaxAge *int
}

// tooOld reports whether a sign-in lies further back than the client wants.
func (r request) tooOld(age time.Duration) bool {
	return r.MaxAge != nil && (*r.MaxAge == 0 || age > time.Duration(*r.MaxAge)*time.Second)
}

// handle is a request on its way through the consent page. It is sealed for one session, so that nobody else can have it
// made or send it.
type handle struct {
	Request request
	Expires time.Time
}

// handleLife is how long a person may look at the consent page.
const handleLife = 10 * time.Minute

// challengeForm is a SHA-256 in base64url (RFC 7636, 4.2).
var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// maxNonce and maxState bound what is kept or given back for a client.
const (
	maxNonce = 512
	maxState = 4096
)

// authorize answers an authorization request: it asks who is there and whether they consent, every time.
func (s *Service) authorize(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer")
	allowOpener(w)
	session, signedIn := s.front.Session(r)
	a := attempt{stage: StageAuthorize, userID: session.UserID}
	p, err := parseParams(r.URL.RawQuery)
	if err != nil {
		s.failedWith(r, a, err)
		s.failPage(w, r, "The request is malformed", "The program that sent you here has made a mistake. Try to connect again from there.")
		return nil
	}
	c, req, ok := s.trustedRequest(w, r, a, p, signedIn)
	if !ok {
		return nil
	}
	a.client = c
	if err := s.fill(&req, p); err != nil {
		s.failedWith(r, a, err)
		s.refuseRequest(w, r, req, signedIn, err)
		return nil
	}
	prompt := strings.Fields(p.Get("prompt"))
	now := s.clock.Now()
	fresh := signedIn && !req.tooOld(now.Sub(session.AuthenticatedAt)) && !session.AuthenticatedAt.Before(p.signedInSince(now))
	switch {
	case slices.Contains(prompt, "none"):
		err := bad("consent_required", "The user must be asked. Do not send prompt=none.")
		if !fresh {
			err.code = "login_required"
		}
		s.failedWith(r, a, err)
		s.refuseRequest(w, r, req, signedIn, err)
		return nil
	case !fresh || slices.Contains(prompt, "login"):
		s.signIn(w, r, p)
		return nil
	}
	s.front.Consent(w, r, s.consentPage(c, req, session))
	return nil
}

// sinceParam is a parameter of our own, in milliseconds: the user must have signed in since. It takes the place of a wish
// for a new sign-in on the way back from it, where that wish would never end, and no wish would have whoever goes there
// without signing in let through.
const sinceParam = "signed_in_since"

// signIn has the user prove who they are and come back with the same request.
func (s *Service) signIn(w http.ResponseWriter, r *http.Request, p params) {
	if slices.Contains(strings.Fields(p.Get("prompt")), "login") || p.Get("max_age") == "0" {
		p.Set(sinceParam, strconv.FormatInt(s.clock.Now().UnixMilli(), 10))
	}
	p.Del("prompt")
	if p.Get("max_age") == "0" {
		p.Del("max_age")
	}
	s.front.SignIn(w, r, r.URL.Path+"?"+p.Encode())
}

// signedInSince is the earliest sign-in that will do. What is not a time that has been is not ours, and ignored as any
// parameter that nobody knows.
func (p params) signedInSince(now time.Time) time.Time {
	ms, err := strconv.ParseInt(p.Get(sinceParam), 10, 64)
	if since := time.UnixMilli(ms); err == nil && !since.After(now) {
		return since
	}
	return time.Time{}
}

// trustedRequest finds the client and where its answer goes. Before both are known to be good nothing is sent anywhere.
func (s *Service) trustedRequest(w http.ResponseWriter, r *http.Request, a attempt, p params, signedIn bool) (Client, request, bool) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(p.Values[name]) > 1 {
			s.failedWith(r, a, invalidRequest("A parameter is there twice."))
			s.failPage(w, r, "The request is malformed", "The program that sent you here has named itself twice. Try to connect again from there.")
			return Client{}, request{}, false
		}
	}
	c, err := s.presentClient(r.Context(), p.Get("client_id"), signedIn)
	var document *documentError
	switch {
	case errors.Is(err, errSignInFirst) && !slices.Contains(strings.Fields(p.Get("prompt")), "none"):
		s.signIn(w, r, p)
		return Client{}, request{}, false
	case errors.As(err, &document):
		s.failed(r, a, problemDocument, document.wrong)
		s.failPage(w, r, "The program's description can't be used", document.wrong+" The program that sent you here has to mend this.")
		return Client{}, request{}, false
	case errors.Is(err, errSignInFirst), core.IsKind(err, core.KindNotFound):
		s.failed(r, a, problemUnknownClient, "")
		s.failPage(w, r, "This program is not known here",
			"It has not registered, or its registration was removed because it was never used. Remove the connection in the program and add it again.")
		return Client{}, request{}, false
	case err != nil:
		e := s.protocolErrorOf(r, err)
		s.front.Fail(w, r, FailPage{Title: "This did not work", Detail: e.description, Status: e.status})
		return Client{}, request{}, false
	}
	a.client = c
	req := request{ClientID: c.ID, RedirectURI: p.Get("redirect_uri"), State: p.Get("state")}
	req.RedirectTo = req.RedirectURI
	if req.RedirectURI == "" && len(c.RedirectURIs) == 1 {
		req.RedirectTo = c.RedirectURIs[0]
	}
	if !matchRedirect(c.RedirectURIs, req.RedirectTo) {
		s.failed(r, a, problemRedirect, "")
		s.failPage(w, r, "The return address is not the program's",
			"The program wants the answer sent to an address that it has not registered. Nothing was sent there. Remove the connection in the program and add it again.")
		return Client{}, request{}, false
	}
	return c, req, true
}

// fill reads the rest of the request. What is wrong with it the client is told.
func (s *Service) fill(req *request, p params) (err error) {
	switch {
	case len(req.State) > maxState:
		req.State = ""
		return invalidRequest("state is too long.")
	case p.repeated != "":
		if p.repeated == "state" {
			req.State = ""
		}
		return invalidRequest("A parameter is there twice.")
	case p.Get("request") != "":
		return bad("request_not_supported", "Send the parameters themselves.")
	case p.Get("request_uri") != "":
		return bad("request_uri_not_supported", "Send the parameters themselves.")
	case p.Get("response_type") == "":
		return invalidRequest("response_type is missing; it must be code.")
	case p.Get("response_type") != "code":
		return bad("unsupported_response_type", "response_type must be code.")
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

func (s *Service) failPage(w http.ResponseWriter, r *http.Request, title, detail string) {
	s.front.Fail(w, r, FailPage{Title: title, Detail: detail, Status: http.StatusBadRequest})
}

// refuseRequest reports an invalid authorization request. The client is told by a redirect only if a user is signed in
// here; an anonymous visitor gets a page. Anyone can register a client with any redirect URI, so redirecting anonymous
// visitors would make this endpoint an open redirector (RFC 9700, 4.11.2). That includes prompt=none without a session,
// where OpenID Connect Core, 3.1.2.6 would redirect with login_required.
func (s *Service) refuseRequest(w http.ResponseWriter, r *http.Request, req request, signedIn bool, err error) {
	if signedIn {
		s.redirectError(w, r, http.StatusFound, req, err)
		return
	}
	e := s.protocolErrorOf(r, err)
	if e.code == "login_required" {
		s.failPage(w, r, "You are not signed in", "Sign in here first, then connect again from the program.")
		return
	}
	s.front.Fail(w, r, FailPage{
		Title: "The request can't be completed", Status: e.status,
		Detail: e.description + " The program that sent you here has to correct this. Nothing was sent to it.",
	})
}

// redirectError tells the client what went wrong, at the address that is known to be its own.
func (s *Service) redirectError(w http.ResponseWriter, r *http.Request, status int, req request, err error) {
	e := s.protocolErrorOf(r, err)
	s.redirect(w, status, req, url.Values{"error": {e.code}, "error_description": {e.description}})
}

// redirect sends an answer. Every one says who it is from (RFC 9207).
func (s *Service) redirect(w http.ResponseWriter, status int, req request, answer url.Values) {
	answer.Set("iss", s.issuer)
	if req.State != "" {
		answer.Set("state", req.State)
	}
	h := w.Header()
	h.Set("Location", withQuery(req.RedirectTo, answer))
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
}

func (s *Service) consentPage(c Client, req request, session Session) ConsentPage {
	plain, err := json.Marshal(handle{Request: req, Expires: s.clock.Now().Add(handleLife)})
	if err != nil {
		panic(err) // strings and a time always marshal
	}
	sealed := s.handles.Seal(plain, session.ID)
	action := root + "/authorize"
	if u, err := url.Parse(s.issuer); err == nil {
		action = u.Path + action
	}
	return ConsentPage{
		Client: c.Name, Publisher: publisherOf(c), ClientHost: hostOf(req.RedirectTo), RedirectTo: req.RedirectTo, Scopes: textsOf(req.Scopes),
		Account: session.Email, Action: action,
		Fields: map[string]string{"request": base64.RawURLEncoding.EncodeToString(sealed)},
	}
}

// allowOpener lets the window that opened this one hear of its end: web clients authorize in a pop-up, which the policy
// of all other pages would cut off from them.
func allowOpener(w http.ResponseWriter) { w.Header().Set("Cross-Origin-Opener-Policy", "unsafe-none") }

// decide answers the consent page's form.
func (s *Service) decide(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer")
	allowOpener(w)
	if err := s.origin.Check(r); err != nil {
		s.front.Fail(w, r, FailPage{
			Title: "This came from another site", Detail: "The answer was not sent from our own page, so it was not taken.", Status: http.StatusForbidden,
		})
		return nil //nolint:nilerr // the page has said it
	}
	form, err := readForm(w, r)
	if err != nil {
		s.failPage(w, r, "The form is malformed", "Try to connect again from the program.")
		return nil //nolint:nilerr // the page has said it
	}
	session, signedIn := s.front.Session(r)
	a := attempt{stage: StageAuthorize, userID: session.UserID}
	req, ok := s.openHandle(form.Get("request"), session.ID)
	if !signedIn || !ok {
		s.failed(r, a, problemStale, "")
		s.failPage(w, r, "This page is too old", "You were signed out, or took longer than ten minutes. Try to connect again from the program.")
		return nil
	}
	// The client may have been removed, or its addresses changed, since the page was shown.
	c, err := s.client(r.Context(), req.ClientID)
	if err != nil || !matchRedirect(c.RedirectURIs, req.RedirectTo) {
		s.failPage(w, r, "This program is not known here", "Remove the connection in the program and add it again.")
		return nil //nolint:nilerr // the page has said it
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
		err := bad("access_denied", "The user said no.")
		a.client = c
		s.failedWith(r, a, err)
		s.redirectError(w, r, http.StatusSeeOther, req, err)
	default:
		s.failPage(w, r, "The form is malformed", "It says neither yes nor no. Try to connect again from the program.")
	}
	return nil
}

// openHandle returns the request that was shown to this session.
func (s *Service) openHandle(text, sessionID string) (request, bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || sessionID == "" {
		return request{}, false
	}
	plain, err := s.handles.Open(sealed, sessionID)
	if err != nil {
		return request{}, false
	}
	var h handle
	if json.Unmarshal(plain, &h) != nil || !s.clock.Now().Before(h.Expires) {
		return request{}, false
	}
	return h.Request, true
}

// issueCode makes the code that the client turns into tokens.
func (s *Service) issueCode(ctx context.Context, req request, session Session) (string, error) {
	code := credential.NewSecret(s.prefixes.Code)
	err := s.store.InsertAuthCode(ctx, Code{
		GrantID: core.NewID(core.PrefixGrant), UserID: session.UserID, ClientID: req.ClientID, RedirectURI: req.RedirectURI,
		Challenge: req.Challenge, Nonce: req.Nonce, Scopes: req.Scopes, Resources: req.Resources,
		AuthTime: session.AuthenticatedAt, ExpiresAt: s.clock.Now().Add(CodeLife),
	}, credential.Hash(s.hashKey, code))
	return code, err
}
