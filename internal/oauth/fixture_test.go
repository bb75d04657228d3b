package oauth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fakePages implements oauth.Pages. The cookie "session" names the session.
type fakePages struct {
	mu       sync.Mutex
	sessions map[string]oauth.Session
}

func (f *fakePages) Session(r *http.Request) (oauth.Session, bool) {
	c, err := r.Cookie("session")
	if err != nil {
		return oauth.Session{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.sessions[c.Value]
	return s, ok
}

func (f *fakePages) SignIn(rw http.ResponseWriter, _ *http.Request, returnTo string) {
	rw.Header().Set("Location", "/sign-in?"+url.Values{"return": {returnTo}}.Encode())
	rw.WriteHeader(http.StatusSeeOther)
}

var consentTemplate = template.Must(template.New("").Parse(
	`<h1>{{.Client}} at {{.ClientHost}} for {{.Account}}</h1>{{with .Publisher}}by {{.}}{{end}}` +
		`{{range .Scopes}}<li>{{.}}{{end}}{{range $k, $v := .Fields}}<input name="{{$k}}" value="{{$v}}">{{end}}`))

func (f *fakePages) Consent(rw http.ResponseWriter, _ *http.Request, p oauth.ConsentPage) {
	_ = consentTemplate.Execute(rw, p)
}

func (f *fakePages) Fail(rw http.ResponseWriter, _ *http.Request, p oauth.FailPage) {
	rw.WriteHeader(p.Status)
	_, _ = fmt.Fprint(rw, "FAIL ", p.Failure)
}

// syncBuffer is a bytes.Buffer for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// server is an authorization server on a real database and a real socket, with one signed-in user.
type server struct {
	testing.TB
	issuer      string
	clock       *testkit.Clock
	db          *store.DB
	service     *oauth.Service
	credentials *credential.Service
	pages       *fakePages
	user        account.User
	log         *syncBuffer
	http        *http.Client
	// cookie is the session cookie that authorize sends.
	cookie    string
	documents *documentSite
	// deps are the service's dependencies, for tests that need a second service on the same database.
	deps oauth.Deps
}

var secret = []byte("the secret of a test installation")

func newServer(t *testing.T) *server {
	return newServerOn(t, store.Options{Path: fixture.SQLite(t)})
}

func newPostgresServer(t *testing.T) *server {
	return newServerOn(t, store.Options{URL: testkit.PostgresTemplate(t, "oauth", func(url string) error {
		db, err := store.Open(context.Background(), store.Options{URL: url})
		if err != nil {
			return err
		}
		return db.Close()
	})})
}

func newServerOn(t testing.TB, o store.Options) *server {
	t.Helper()
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	mux := http.NewServeMux()
	httpServer := httptest.NewServer(mux)
	t.Cleanup(httpServer.Close)
	srv := &server{
		TB: t, issuer: httpServer.URL, clock: testkit.NewClock(), db: db, log: &syncBuffer{}, cookie: "s1",
		pages: &fakePages{sessions: map[string]oauth.Session{}},
		http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		},
	}
	t.Cleanup(srv.http.CloseIdleConnections)
	log := slog.New(slog.NewTextHandler(srv.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	prefixes := oauth.PrefixesFor("crl")
	srv.deps = oauth.Deps{
		Store: db, Clock: srv.clock, Log: log, Secret: secret, HashKey: secret,
		Audit:  audit.New(audit.Deps{Store: db, Clock: srv.clock, Log: log}),
		Issuer: srv.issuer, Prefixes: prefixes, Documents: srv.startDocumentSite(),
	}
	srv.service, err = oauth.NewService(srv.deps)
	if err != nil {
		t.Fatal(err)
	}
	srv.service.Routes(mux, srv.pages)
	srv.credentials = credential.NewService(credential.Deps{
		Store: db, Clock: srv.clock, Audit: srv.deps.Audit, HashKey: secret,
		Agents: agent.NewService(agent.Deps{Store: db, Clock: srv.clock, Audit: srv.deps.Audit}),
		Grants: srv.service, Prefixes: credential.Prefixes{Key: "crl", Code: "crlc"},
		OAuth: credential.TokenDeps{Store: db, Prefix: prefixes.Access, Audience: oauth.Resources(srv.issuer)},
	})
	srv.user = account.User{
		ID: core.NewID(core.PrefixUser), Email: "ada@example.org", Name: "Ada", Role: core.RoleMember,
		Plan: core.PlanOpen, CreatedAt: srv.clock.Now(),
	}
	if err := db.InsertUser(t.Context(), srv.user, "hash"); err != nil {
		t.Fatal(err)
	}
	srv.pages.sessions["s1"] = oauth.Session{
		ID: "ses_1", UserID: srv.user.ID, Email: srv.user.Email, Name: srv.user.Name, AuthenticatedAt: srv.clock.Now(),
	}
	return srv
}

// reply is a response with its body.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) json(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%v in %d %q", err, r.status, r.body)
	}
	return v
}

// send sends a request. The headers are name-value pairs.
func (srv *server) send(method, path, body string, headers ...string) reply {
	srv.Helper()
	r, err := http.NewRequestWithContext(srv.Context(), method, srv.issuer+path, strings.NewReader(body))
	if err != nil {
		srv.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := srv.http.Do(r)
	if err != nil {
		srv.Error(err)
		return reply{}
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		srv.Error(err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

func (srv *server) post(path string, form url.Values, headers ...string) reply {
	srv.Helper()
	return srv.send(http.MethodPost, "/api/auth/mcp/"+path, form.Encode(),
		append(headers, "Content-Type", "application/x-www-form-urlencoded")...)
}

// wantError checks that a reply is an error response of RFC 6749 with this code.
func (srv *server) wantError(r reply, status int, code string) {
	srv.Helper()
	var v map[string]string
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.status != status || v["error"] != code ||
		v["error_description"] == "" {
		srv.Errorf("got %d %q, want %d %s", r.status, r.body, status, code)
	}
	if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Content-Type") != "application/json" {
		srv.Errorf("headers %v", r.header)
	}
}

const redirectURI = "https://app.example/cb"

// client is a registered client.
type client struct{ id, secret string }

func (srv *server) register(method string, redirects ...string) client {
	srv.Helper()
	if len(redirects) == 0 {
		redirects = []string{redirectURI}
	}
	body, _ := json.Marshal(map[string]any{
		"redirect_uris": redirects, "client_name": "App",
		"token_endpoint_auth_method": method,
	})
	r := srv.send(http.MethodPost, "/api/auth/mcp/register", string(body), "Content-Type", "application/json")
	if r.status != http.StatusCreated {
		srv.Fatalf("registration: %d %s", r.status, r.body)
	}
	v := r.json(srv.TB)
	s, _ := v["client_secret"].(string)
	return client{v["client_id"].(string), s}
}

const verifier = "a-verifier-that-is-long-enough-for-the-specification"

func challengeOf(v string) string {
	sum := sha256.Sum256([]byte(v))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// request returns the parameters of a valid authorization request. The name-value pairs replace parameters; an empty
// value removes one.
func (c client) request(pairs ...string) url.Values {
	q := url.Values{
		"client_id": {c.id}, "redirect_uri": {redirectURI}, "response_type": {"code"}, "state": {"st"}, "nonce": {"n"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"},
		"scope": {"openid profile email offline_access"},
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return q
}

func (srv *server) authorize(q url.Values) reply {
	srv.Helper()
	return srv.send(http.MethodGet, "/api/auth/mcp/authorize?"+q.Encode(), "", "Cookie", "session="+srv.cookie)
}

// handleIn returns the hidden field of the consent page.
func (srv *server) handleIn(page reply) string {
	srv.Helper()
	_, rest, ok := strings.Cut(page.body, `name="request" value="`)
	if !ok {
		srv.Fatalf("no consent page: %d %q %s", page.status, page.body, page.header.Get("Location"))
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// consent submits the consent page and returns the redirect with its parameters.
func (srv *server) consent(q url.Values, decision string) (to *url.URL, response url.Values) {
	srv.Helper()
	r := srv.post("authorize", url.Values{"request": {srv.handleIn(srv.authorize(q))}, "decision": {decision}},
		"Cookie", "session="+srv.cookie, "Sec-Fetch-Site", "same-origin")
	if r.status != http.StatusSeeOther {
		srv.Fatalf("consent: %d %s", r.status, r.body)
	}
	to, err := url.Parse(r.header.Get("Location"))
	if err != nil {
		srv.Fatal(err)
	}
	return to, to.Query()
}

// code returns a new authorization code for the client.
func (srv *server) code(c client, pairs ...string) string {
	srv.Helper()
	_, response := srv.consent(c.request(pairs...), "allow")
	if response.Get("code") == "" {
		srv.Fatalf("no code: %v", response)
	}
	return response.Get("code")
}

func (c client) redemption(code string, pairs ...string) url.Values {
	form := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {c.id}, "code": {code}, "code_verifier": {verifier},
		"redirect_uri": {redirectURI},
	}
	if c.secret != "" {
		form.Set("client_secret", c.secret)
	}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			form.Del(pairs[i])
		}
	}
	return form
}

// tokens is a successful token response.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
	Scope   string `json:"scope"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
}

func (srv *server) tokensIn(r reply) tokens {
	srv.Helper()
	var t tokens
	if err := json.Unmarshal([]byte(r.body), &t); err != nil || r.status != http.StatusOK {
		srv.Fatalf("tokens: %d %s", r.status, r.body)
	}
	return t
}

// connect runs the whole flow and returns the tokens.
func (srv *server) connect(c client, pairs ...string) tokens {
	srv.Helper()
	return srv.tokensIn(srv.post("token", c.redemption(srv.code(c, pairs...))))
}

func (srv *server) refresh(c client, token string, pairs ...string) reply {
	srv.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {c.id}, "refresh_token": {token}}
	if c.secret != "" {
		form.Set("client_secret", c.secret)
	}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return srv.post("token", form)
}

// accepts reports whether an access token is accepted.
func (srv *server) accepts(token string) bool {
	srv.Helper()
	_, err := srv.credentials.Authenticate(srv.Context(), token)
	if err != nil && !core.IsKind(err, core.KindUnauthenticated) {
		srv.Error(err)
	}
	return err == nil
}

const day = 24 * time.Hour
