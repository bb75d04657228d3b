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
	"path/filepath"
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
)

func TestMain(m *testing.M) { testkit.Main(m) }

// front is a stand-in for the pages: it takes whoever the cookie names as signed in.
type front struct {
	mu       sync.Mutex
	sessions map[string]oauth.Session
}

func (f *front) Session(r *http.Request) (oauth.Session, bool) {
	c, err := r.Cookie("session")
	if err != nil {
		return oauth.Session{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.sessions[c.Value]
	return s, ok
}

func (f *front) SignIn(w http.ResponseWriter, _ *http.Request, returnTo string) {
	w.Header().Set("Location", "/sign-in?"+url.Values{"return": {returnTo}}.Encode())
	w.WriteHeader(http.StatusSeeOther)
}

var consentTemplate = template.Must(template.New("").Parse(
	`<h1>{{.Client}} at {{.ClientHost}} for {{.Account}}</h1>{{with .Publisher}}by {{.}}{{end}}{{range .Scopes}}<li>{{.Scope}}{{end}}{{range $k, $v := .Fields}}<input name="{{$k}}" value="{{$v}}">{{end}}`))

func (f *front) Consent(w http.ResponseWriter, _ *http.Request, p oauth.ConsentPage) {
	_ = consentTemplate.Execute(w, p)
}

func (f *front) Fail(w http.ResponseWriter, _ *http.Request, p oauth.FailPage) {
	w.WriteHeader(p.Status)
	_, _ = fmt.Fprint(w, "FAIL ", p.Title)
}

// syncBuffer is a log that many goroutines write to.
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

// world is an authorization server on a real database and a real socket, with a user who is signed in.
type world struct {
	testing.TB
	issuer      string
	clock       *testkit.Clock
	db          *store.DB
	service     *oauth.Service
	credentials *credential.Service
	front       *front
	user        account.User
	log         *syncBuffer
	http        *http.Client
	// cookie is that of the user's session.
	cookie string
	// documents are the ones of clients.
	documents *documents
}

var secret = []byte("a secret of an installation in a test")

func newWorld(t *testing.T) *world {
	return newWorldOn(t, store.Options{Path: filepath.Join(t.TempDir(), "db")})
}

func newPostgresWorld(t *testing.T) *world {
	return newWorldOn(t, store.Options{URL: testkit.PostgresTemplate(t, "oauth", func(url string) error {
		db, err := store.Open(context.Background(), store.Options{URL: url})
		if err != nil {
			return err
		}
		return db.Close()
	})})
}

func newWorldOn(t testing.TB, o store.Options) *world {
	t.Helper()
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w := &world{
		TB: t, issuer: server.URL, clock: testkit.NewClock(), db: db, log: &syncBuffer{}, cookie: "s1",
		front: &front{sessions: map[string]oauth.Session{}},
		http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		},
	}
	t.Cleanup(w.http.CloseIdleConnections)
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	prefixes := oauth.PrefixesFor("crl")
	w.service, err = oauth.New(db, w.clock, secret, oauth.Options{
		Issuer: w.issuer, Prefixes: prefixes, Documents: w.serveDocuments(),
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	recorder := audit.New(audit.Deps{Store: db, Clock: w.clock, Log: log})
	w.service.RecordTo(recorder)
	w.service.Routes(mux, w.front)
	w.credentials = credential.NewService(credential.Deps{
		Store: db, Clock: w.clock, Audit: recorder, HashKey: secret, Agents: agent.NewService(db, w.clock), Grants: w.service,
		Prefixes: credential.Prefixes{Key: "crl", Code: "crlc"},
		OAuth:    credential.TokenDeps{Store: db, Prefix: prefixes.Access, Audience: oauth.Resources(w.issuer)},
	})
	w.user = account.User{
		ID: core.NewID(core.PrefixUser), Email: "ada@example.org", Name: "Ada", Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: w.clock.Now(),
	}
	if err := db.InsertUser(t.Context(), w.user, "hash"); err != nil {
		t.Fatal(err)
	}
	w.front.sessions["s1"] = oauth.Session{
		ID: "ses_1", UserID: w.user.ID, Email: w.user.Email, Name: w.user.Name, AuthenticatedAt: w.clock.Now(),
	}
	return w
}

// reply is an answer that was read to its end.
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

// send makes a request; headers come in pairs.
func (w *world) send(method, path, body string, headers ...string) reply {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.issuer+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := w.http.Do(r)
	if err != nil {
		w.Error(err)
		return reply{}
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.Error(err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

func (w *world) post(path string, form url.Values, headers ...string) reply {
	w.Helper()
	return w.send(http.MethodPost, "/api/auth/mcp/"+path, form.Encode(), append(headers, "Content-Type", "application/x-www-form-urlencoded")...)
}

// wantError fails the test unless a reply is this error, in the form of RFC 6749.
func (w *world) wantError(r reply, status int, code string) {
	w.Helper()
	var v map[string]string
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.status != status || v["error"] != code || v["error_description"] == "" {
		w.Errorf("got %d %q, want %d %s", r.status, r.body, status, code)
	}
	if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Content-Type") != "application/json" {
		w.Errorf("headers %v", r.header)
	}
}

const redirectURI = "https://app.example/cb"

// client is a registered client.
type client struct{ id, secret string }

func (w *world) register(method string, redirects ...string) client {
	w.Helper()
	if len(redirects) == 0 {
		redirects = []string{redirectURI}
	}
	body, _ := json.Marshal(map[string]any{"redirect_uris": redirects, "client_name": "App", "token_endpoint_auth_method": method})
	r := w.send(http.MethodPost, "/api/auth/mcp/register", string(body), "Content-Type", "application/json")
	if r.status != http.StatusCreated {
		w.Fatalf("registration: %d %s", r.status, r.body)
	}
	v := r.json(w.TB)
	s, _ := v["client_secret"].(string)
	return client{v["client_id"].(string), s}
}

const verifier = "a-verifier-that-is-long-enough-for-the-specification"

func challengeOf(v string) string {
	sum := sha256.Sum256([]byte(v))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// request is an authorization request that is good; pairs change it.
func (c client) request(pairs ...string) url.Values {
	q := url.Values{
		"client_id": {c.id}, "redirect_uri": {redirectURI}, "response_type": {"code"}, "state": {"st"}, "nonce": {"n"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"}, "scope": {"openid profile email offline_access"},
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return q
}

func (w *world) authorize(q url.Values) reply {
	w.Helper()
	return w.send(http.MethodGet, "/api/auth/mcp/authorize?"+q.Encode(), "", "Cookie", "session="+w.cookie)
}

// handleIn finds the hidden field of the consent page.
func (w *world) handleIn(page reply) string {
	w.Helper()
	_, rest, ok := strings.Cut(page.body, `name="request" value="`)
	if !ok {
		w.Fatalf("no consent page: %d %q %s", page.status, page.body, page.header.Get("Location"))
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// consent goes through the page and returns where the browser is sent.
func (w *world) consent(q url.Values, decision string) (to *url.URL, answer url.Values) {
	w.Helper()
	r := w.post("authorize", url.Values{"request": {w.handleIn(w.authorize(q))}, "decision": {decision}},
		"Cookie", "session="+w.cookie, "Sec-Fetch-Site", "same-origin")
	if r.status != http.StatusSeeOther {
		w.Fatalf("consent: %d %s", r.status, r.body)
	}
	to, err := url.Parse(r.header.Get("Location"))
	if err != nil {
		w.Fatal(err)
	}
	return to, to.Query()
}

// code returns a fresh code for the client.
func (w *world) code(c client, pairs ...string) string {
	w.Helper()
	_, answer := w.consent(c.request(pairs...), "allow")
	if answer.Get("code") == "" {
		w.Fatalf("no code: %v", answer)
	}
	return answer.Get("code")
}

func (c client) redemption(code string, pairs ...string) url.Values {
	form := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {c.id}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {redirectURI},
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

// tokens are what a client got.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
	Scope   string `json:"scope"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
}

func (w *world) tokensIn(r reply) tokens {
	w.Helper()
	var t tokens
	if err := json.Unmarshal([]byte(r.body), &t); err != nil || r.status != http.StatusOK {
		w.Fatalf("tokens: %d %s", r.status, r.body)
	}
	return t
}

// connect goes through the whole flow.
func (w *world) connect(c client, pairs ...string) tokens {
	w.Helper()
	return w.tokensIn(w.post("token", c.redemption(w.code(c, pairs...))))
}

func (w *world) refresh(c client, token string, pairs ...string) reply {
	w.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {c.id}, "refresh_token": {token}}
	if c.secret != "" {
		form.Set("client_secret", c.secret)
	}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return w.post("token", form)
}

// works reports whether an access token is accepted.
func (w *world) works(token string) bool {
	w.Helper()
	_, err := w.credentials.Authenticate(w.Context(), token)
	if err != nil && !core.IsKind(err, core.KindUnauthenticated) {
		w.Error(err)
	}
	return err == nil
}

// together runs do n times at once.
func together(n int, do func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	wg.Wait()
}

const day = 24 * time.Hour
