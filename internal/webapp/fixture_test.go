package webapp_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/secretbox"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
	"carrel/internal/webapp"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	email     = "ada@example.org"
	password  = "correct horse battery"
	setupCode = "7XKM-2QRT-9WPA"
)

// site is the pages on a real database and a real HTTP server.
type site struct {
	t        testing.TB
	app      *webapp.App
	db       *store.DB
	clock    *testkit.Clock
	accounts *account.Service
	sessions *credential.Sessions
	auth     *signin.Service
	passkeys *passkey.Service
	audit    *audit.Log
	srv      *httptest.Server
	mux      *http.ServeMux
	log      *testkit.Log
	logger   *slog.Logger
	opts     webapp.Options
	user     account.User
	shared   sharedThreads
	// from is the client address of requests.
	from atomic.Pointer[string]
}

// setClientAddress sets the client address of the following requests.
func (s *site) setClientAddress(address string) { s.from.Store(&address) }

// newEmptySite returns a site without accounts.
func newEmptySite(t testing.TB, change ...func(*webapp.Options)) *site {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: fixture.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	site := &site{t: t, db: db, clock: testkit.NewClock(), log: &testkit.Log{}, mux: http.NewServeMux()}
	site.setClientAddress("203.0.113.7")
	log := slog.New(slog.NewJSONHandler(site.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	site.audit = audit.New(audit.Deps{
		Store: db, Clock: site.clock, Log: log, Address: func(context.Context) string { return "203.0.113.7" },
	})
	site.sessions = credential.NewSessions(credential.SessionDeps{
		Store: db, Clock: site.clock, Audit: site.audit, HashKey: []byte("secret"),
	})
	site.srv = httptest.NewUnstartedServer(site.mux)
	opts := webapp.Options{
		BaseURL: "http://" + site.srv.Listener.Addr().String(), SetupCode: setupCode,
		Address: func(context.Context) netip.Addr { return netip.MustParseAddr(*site.from.Load()) },
	}
	for _, c := range change {
		c(&opts)
	}
	site.logger, site.opts = log, opts
	site.serve(site.services(opts.BaseURL, log))
	site.srv.Start()
	t.Cleanup(site.srv.Close)
	return site
}

// serve replaces the pages by new ones with these services.
func (s *site) serve(services webapp.Services) {
	s.t.Helper()
	var err error
	if s.app, err = webapp.New(services, s.opts); err != nil {
		s.t.Fatal(err)
	}
	*s.mux = http.ServeMux{}
	s.app.Routes(s.mux)
}

// services wires the pages like the real server.
func (s *site) services(baseURL string, log *slog.Logger) webapp.Services {
	s.t.Helper()
	secret := []byte("secret")
	sealer, err := secretbox.New(secret, "authenticator apps")
	if err != nil {
		s.t.Fatal(err)
	}
	s.auth = signin.NewService(signin.Deps{
		Store: s.db, Clock: s.clock, Audit: s.audit, Sessions: s.sessions, Sealer: sealer,
		Key: secret, Issuer: "Carrel", OfferTOTP: true, LimitAttempts: true,
	})
	s.accounts = account.NewService(account.Deps{
		Store: s.db, Clock: s.clock, Audit: s.audit, Passwords: s.auth.Passwords, DefaultPlan: core.PlanOpen,
	})
	s.passkeys, err = passkey.New(passkey.Deps{
		Store: s.db, Pending: s.auth.Pending, Clock: s.clock, Audit: s.audit, BaseURL: baseURL,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return webapp.Services{
		Accounts: s.accounts, Sessions: s.sessions, Auth: s.auth, Passkeys: s.passkeys,
		Links: &s.shared, Audit: s.audit, Clock: s.clock, Log: log,
	}
}

// onLocalhost changes the base URL from an IP address to localhost, because browsers support passkeys only for names.
func onLocalhost(o *webapp.Options) {
	o.BaseURL = strings.Replace(o.BaseURL, "127.0.0.1", "localhost", 1)
}

// newSite returns a site with one account, an owner.
func newSite(t testing.TB, change ...func(*webapp.Options)) *site {
	t.Helper()
	site := newEmptySite(t, change...)
	var err error
	site.user, err = site.accounts.Create(t.Context(), core.Operator(""),
		account.NewUser{Email: email, Name: "Ada Lovelace", Password: password, Role: core.RoleOwner})
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// answer is a response with its body. cookie is the last one that it sets.
type answer struct {
	status int
	header http.Header
	body   string
	cookie *http.Cookie
}

// do sends a request without following redirects.
func (s *site) do(req *http.Request) answer {
	s.t.Helper()
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     s.srv.Client().Transport,
	}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
	for _, c := range resp.Cookies() {
		a.cookie = c
	}
	return a
}

func (s *site) request(method, path string, fields url.Values, cookie *http.Cookie) *http.Request {
	s.t.Helper()
	var body io.Reader = http.NoBody
	if fields != nil {
		body = strings.NewReader(fields.Encode())
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.srv.URL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if fields != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if cookie != nil {
		req.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	return req
}

func (s *site) get(path string, cookie *http.Cookie) answer {
	s.t.Helper()
	return s.do(s.request(http.MethodGet, path, nil, cookie))
}

func (s *site) post(path string, cookie *http.Cookie, pairs ...string) answer {
	s.t.Helper()
	return s.do(s.request(http.MethodPost, path, fieldsOf(pairs), cookie))
}

// fieldsOf returns the form with these name-value pairs.
func fieldsOf(pairs []string) url.Values {
	fields := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	return fields
}

// signIn signs in with the password and returns the session cookie.
func (s *site) signIn() *http.Cookie {
	s.t.Helper()
	a := s.post("/sign-in", nil, "email", email, "password", password)
	if a.status != http.StatusSeeOther || a.cookie == nil {
		s.t.Fatalf("signing in: %d %s", a.status, a.body)
	}
	return a.cookie
}

// isSignedIn reports whether the home page greets the user of the cookie.
func (s *site) isSignedIn(cookie *http.Cookie) bool {
	s.t.Helper()
	return strings.Contains(s.get("/", cookie).body, "Hello, Ada Lovelace")
}

func (s *site) events() []audit.Entry {
	s.t.Helper()
	entries, err := s.audit.List(s.t.Context(), "", 0, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	return entries
}
