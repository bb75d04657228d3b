package webapp_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
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
	"carrel/internal/webapp"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	email     = "ada@example.org"
	password  = "correct horse battery"
	setupCode = "7XKM-2QRT-9WPA"
)

// world is the pages on a real database behind a real server.
type world struct {
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
	// from is the address that requests come from.
	from atomic.Pointer[string]
}

// comesFrom has requests come from an address from now on.
func (w *world) comesFrom(address string) { w.from.Store(&address) }

// newEmptyWorld has no account.
func newEmptyWorld(t testing.TB, change ...func(*webapp.Options)) *world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, db: db, clock: testkit.NewClock(), log: &testkit.Log{}, mux: http.NewServeMux()}
	w.comesFrom("203.0.113.7")
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.audit = audit.New(audit.Deps{Store: db, Clock: w.clock, Log: log, Address: func(context.Context) string { return "203.0.113.7" }})
	w.sessions = credential.NewSessions(credential.SessionDeps{Store: db, Clock: w.clock, Audit: w.audit, HashKey: []byte("secret")})
	w.srv = httptest.NewUnstartedServer(w.mux)
	opts := webapp.Options{
		BaseURL: "http://" + w.srv.Listener.Addr().String(), SetupCode: setupCode,
		Address: func(context.Context) netip.Addr { return netip.MustParseAddr(*w.from.Load()) },
	}
	for _, c := range change {
		c(&opts)
	}
	w.logger, w.opts = log, opts
	w.reopen(w.services(opts.BaseURL, log))
	w.srv.Start()
	t.Cleanup(w.srv.Close)
	return w
}

// reopen serves the pages with these services from now on.
func (w *world) reopen(s webapp.Services) {
	w.t.Helper()
	var err error
	if w.app, err = webapp.New(s, w.opts); err != nil {
		w.t.Fatal(err)
	}
	*w.mux = http.ServeMux{}
	w.app.Routes(w.mux)
}

// services wires what the pages need as the real server does.
func (w *world) services(baseURL string, log *slog.Logger) webapp.Services {
	w.t.Helper()
	secret := []byte("secret")
	sealer, err := secretbox.New(secret, "authenticator apps")
	if err != nil {
		w.t.Fatal(err)
	}
	w.auth = signin.NewService(signin.Deps{
		Store: w.db, Clock: w.clock, Audit: w.audit, Sessions: w.sessions, Sealer: sealer,
		Key: secret, Issuer: "Carrel", OfferTOTP: true, LimitAttempts: true,
	})
	w.accounts = account.NewService(account.Deps{
		Store: w.db, Clock: w.clock, Audit: w.audit, Passwords: w.auth.Passwords, DefaultPlan: core.PlanOpen,
	})
	w.passkeys, err = passkey.New(passkey.Deps{
		Store: w.db, Pending: w.auth.Pending, Clock: w.clock, Audit: w.audit, BaseURL: baseURL,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return webapp.Services{
		Accounts: w.accounts, Sessions: w.sessions, Auth: w.auth, Passkeys: w.passkeys, Audit: w.audit, Clock: w.clock, Log: log,
	}
}

// named gives an installation a name instead of an address, without which browsers have no passkeys.
func named(o *webapp.Options) { o.BaseURL = strings.Replace(o.BaseURL, "127.0.0.1", "localhost", 1) }

// newWorld has one account.
func newWorld(t testing.TB, change ...func(*webapp.Options)) *world {
	t.Helper()
	w := newEmptyWorld(t, change...)
	var err error
	w.user, err = w.accounts.Create(t.Context(), core.Operator(""), account.NewUser{Email: email, Name: "Ada Lovelace", Password: password, Role: core.RoleOwner})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// answer is a reply, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
	cookie *http.Cookie
}

// do sends a request without following redirects.
func (w *world) do(req *http.Request) answer {
	w.t.Helper()
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     w.srv.Client().Transport,
	}
	resp, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
	for _, c := range resp.Cookies() {
		a.cookie = c
	}
	return a
}

func (w *world) request(method, path string, fields url.Values, cookie *http.Cookie) *http.Request {
	w.t.Helper()
	var body io.Reader = http.NoBody
	if fields != nil {
		body = strings.NewReader(fields.Encode())
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.srv.URL+path, body)
	if err != nil {
		w.t.Fatal(err)
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

func (w *world) get(path string, cookie *http.Cookie) answer {
	w.t.Helper()
	return w.do(w.request(http.MethodGet, path, nil, cookie))
}

func (w *world) post(path string, cookie *http.Cookie, pairs ...string) answer {
	w.t.Helper()
	fields := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	return w.do(w.request(http.MethodPost, path, fields, cookie))
}

// signIn signs in and returns the cookie.
func (w *world) signIn() *http.Cookie {
	w.t.Helper()
	a := w.post("/sign-in", nil, "email", email, "password", password)
	if a.status != http.StatusSeeOther || a.cookie == nil {
		w.t.Fatalf("signing in: %d %s", a.status, a.body)
	}
	return a.cookie
}

// isIn reports whether the home page knows the bearer of the cookie.
func (w *world) isIn(cookie *http.Cookie) bool {
	w.t.Helper()
	return strings.Contains(w.get("/", cookie).body, "Hello, Ada Lovelace")
}

func (w *world) events() []audit.Entry {
	w.t.Helper()
	entries, err := w.audit.List(w.t.Context(), "", 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return entries
}
