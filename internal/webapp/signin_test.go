package webapp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/webapp"
)

func TestSessionCookieIsBoundToItsHost(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]http.Cookie{
		"http://127.0.0.1:8080":  {Name: "carrel"},
		"http://localhost:8080":  {Name: "carrel"},
		"https://carrel.example": {Name: "__Host-carrel", Secure: true},
	} {
		site := newSite(t, func(o *webapp.Options) { o.BaseURL = base })
		c := site.signIn()
		if c.Name != want.Name || c.Secure != want.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode ||
			c.Path != "/" || c.Domain != "" ||
			c.MaxAge != int(credential.SessionLife/time.Second) {
			t.Errorf("%s: %s", base, c)
		}
		if len(c.Value) < 32 || !site.isSignedIn(c) {
			t.Errorf("%s: the cookie %s does not sign in", base, c)
		}
		if out := site.post("/sign-out", c); out.status != http.StatusSeeOther || out.cookie == nil ||
			out.cookie.MaxAge >= 0 || out.cookie.Name != want.Name || site.isSignedIn(c) {
			t.Errorf("%s: signing out answers %d with %v", base, out.status, out.cookie)
		}
	}
}

func TestSignInCreatesANewSession(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	planted := &http.Cookie{Name: "carrel", Value: "crls_00000000000000000000000000000000" + "000000"}
	first := site.post("/sign-in", planted, "email", email, "password", password)
	if first.cookie == nil || first.cookie.Value == planted.Value || site.isSignedIn(planted) {
		t.Fatalf("a planted cookie becomes a session: %v", first.cookie)
	}
	second := site.post("/sign-in", first.cookie, "email", email, "password", password)
	if second.cookie == nil || second.cookie.Value == first.cookie.Value || site.isSignedIn(first.cookie) ||
		!site.isSignedIn(second.cookie) {
		t.Error("signing in again keeps the previous session")
	}
	twice := site.request(http.MethodGet, "/", nil, second.cookie)
	twice.AddCookie(&http.Cookie{Name: "carrel", Value: first.cookie.Value})
	if strings.Contains(site.do(twice).body, "Hello") {
		t.Error("one of two session cookies is accepted")
	}
}

func TestEndedSessionFailsOnTheNextRequest(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(site *site, c *http.Cookie) error{
		"sign-out": func(site *site, c *http.Cookie) error { site.post("/sign-out", c); return nil },
		"revoked": func(site *site, _ *http.Cookie) error {
			list, err := site.sessions.List(site.t.Context(), site.user.ID)
			if err != nil || len(list) != 1 || list[0].Address != "203.0.113.7" ||
				!strings.HasPrefix(list[0].Agent, "Go-http-client") {
				site.t.Fatalf("listed %+v, %v", list, err)
			}
			return site.sessions.End(site.t.Context(), site.user.ID, list[0].ID)
		},
		"all revoked": func(site *site, _ *http.Cookie) error {
			return site.sessions.EndOthers(site.t.Context(), site.user.ID, "")
		},
		"disabled": func(site *site, _ *http.Cookie) error {
			return site.accounts.Disable(site.t.Context(), core.Operator(""), site.user.ID)
		},
		"new password": func(site *site, _ *http.Cookie) error {
			return site.auth.Passwords.Set(site.t.Context(), core.Operator(""), site.user.ID, "another password", "")
		},
		"14 days idle": func(site *site, _ *http.Cookie) error {
			site.clock.Advance(credential.SessionIdle)
			return nil
		},
	} {
		site := newSite(t)
		c := site.signIn()
		if !site.isSignedIn(c) {
			t.Fatalf("%s: not signed in", name)
		}
		if err := end(site, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if site.isSignedIn(c) {
			t.Errorf("%s: still signed in", name)
		}
		if _, ok := site.app.Session(site.request(http.MethodGet, "/", nil, c)); ok {
			t.Errorf("%s: there is still a session", name)
		}
	}
}

func TestSessionExpiresAfter90Days(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	c := site.signIn()
	for range 8 {
		site.clock.Advance(10 * 24 * time.Hour)
		if !site.isSignedIn(c) {
			t.Fatalf("signed out at %v", site.clock.Now())
		}
	}
	site.clock.Advance(10 * 24 * time.Hour)
	if site.isSignedIn(c) {
		t.Error("a session outlives 90 days")
	}
}

func TestCrossOriginFormIsRefused(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	c := site.signIn()
	for name, headers := range map[string]map[string]string{
		"cross-site":   {"Sec-Fetch-Site": "cross-site"},
		"same-site":    {"Sec-Fetch-Site": "same-site"},
		"no Sec-Fetch": {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
		"null origin":  {"Sec-Fetch-Site": "", "Origin": "null"},
		"similar host": {"Sec-Fetch-Site": "", "Origin": site.srv.URL + ".evil.example"},
	} {
		for _, path := range []string{"/sign-in", "/sign-out", "/setup"} {
			req := site.request(http.MethodPost, path, url.Values{"email": {email}, "password": {password}}, c)
			for k, v := range headers {
				req.Header.Set(k, v)
				if v == "" {
					req.Header.Del(k)
				}
			}
			if a := site.do(req); a.status != http.StatusForbidden || a.cookie != nil ||
				!strings.Contains(a.body, "another site") {
				t.Errorf("%s to %s: %d, cookie %v", name, path, a.status, a.cookie)
			}
		}
	}
	if !site.isSignedIn(c) {
		t.Error("another site signed the user out")
	}
}

func TestFailedSignInDoesNotRevealTheReason(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	if err := site.accounts.Disable(t.Context(), core.Operator(""), site.user.ID); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]bool{}
	for _, try := range [][2]string{
		{email, "wrong password"},
		{email, password},
		{"ada@example.com", password},
		{"ada@exa\x00mpl.org", password},
		{"ada@exampl\xff.org", password},
	} {
		a := site.post("/sign-in", nil, "email", try[0], "password", try[1])
		if a.status != http.StatusUnprocessableEntity || a.cookie != nil {
			t.Errorf("%q: %d, %v", try[0], a.status, a.cookie)
		}
		before, _, _ := strings.Cut(a.body, `<label for="email">`)
		bodies[before] = true
	}
	if len(bodies) != 1 {
		t.Errorf("%d different pages", len(bodies))
	}
	var reasons []string
	for _, e := range site.events() {
		var detail struct{ Reason string }
		if err := json.Unmarshal([]byte(e.Detail), &detail); err != nil || e.Event != audit.SignInFailed {
			t.Errorf("%+v, %v", e, err)
		}
		reasons = append(reasons, detail.Reason)
	}
	const want = "unknown account, unknown account, unknown account, disabled account, wrong password"
	if got := strings.Join(reasons, ", "); got != want {
		t.Errorf("the audit log: %s", got)
	}
}

func TestSignInAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	try := func(email, password string) answer {
		return site.post("/sign-in", nil, "email", email, "password", password)
	}
	for i := range 10 {
		if a := try(strings.ToUpper(email), "wrong"); a.status != http.StatusUnprocessableEntity {
			t.Fatalf("try %d: %d", i, a.status)
		}
	}
	a := try(email, password)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "60" ||
		!strings.Contains(a.body, "Too many attempts on this account from your network. Try again in 60 seconds.") {
		t.Fatalf("%d %s %s", a.status, a.header.Get("Retry-After"), a.body)
	}
	if a := try("other@example.org", "wrong"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("another account: %d", a.status)
	}
	site.clock.Advance(time.Minute)
	if a := try(email, password); a.status != http.StatusSeeOther {
		t.Errorf("a minute later: %d", a.status)
	}
	// One network may try 40 times and then 20 times a minute over all accounts. Successful attempts count as well.
	for range 100 {
		a = try(core.NewID("x")+"@example.org", "wrong")
		if a.status == http.StatusTooManyRequests {
			break
		}
	}
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "3" ||
		!strings.Contains(a.body, "from your network") {
		t.Errorf("many accounts from one network: %d %s", a.status, a.header.Get("Retry-After"))
	}
}

func TestSuccessfulSignInsDoNotCountAgainstTheAccountLimit(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	for range 30 {
		site.signIn()
	}
}

func TestSignInFormNamesMissingFields(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	a := site.post("/sign-in", nil, "email", "", "password", "")
	for _, want := range []string{
		`id="email-error">Enter your e-mail address.`, `id="password-error">Enter your password.`,
		`aria-invalid="true" aria-describedby="email-error"`,
		`autocomplete="username"`, `autocomplete="current-password"`, `<label for="email">`, `autofocus`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if a.status != http.StatusUnprocessableEntity || len(site.events()) != 0 {
		t.Errorf("%d, %v", a.status, site.events())
	}
	wrong := site.post("/sign-in", nil, "email", `"><script>alert(1)</script>`, "password", "x")
	if strings.Contains(wrong.body, "<script") || !strings.Contains(wrong.body, `aria-describedby="error"`) {
		t.Error(wrong.body)
	}
	big := site.post("/sign-in", nil, "email", strings.Repeat("a", 1<<17), "password", "x")
	if big.status != http.StatusBadRequest {
		t.Errorf("a huge form: %d", big.status)
	}
}

func TestPagesHaveAStrictContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	c := site.signIn()
	for path, cookie := range map[string]*http.Cookie{"/": c, "/sign-in": nil} {
		a := site.get(path, cookie)
		for header, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; " +
				"frame-ancestors 'none'; base-uri 'none'",
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Content-Type": "text/html; charset=utf-8", "X-Frame-Options": "DENY",
		} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %s is %q", path, header, got)
			}
		}
		if strings.Contains(a.body, "<script") || strings.Contains(a.body, "style=") {
			t.Errorf("%s has an inline script or style", path)
		}
		_, rest, _ := strings.Cut(a.body, `rel="stylesheet" href="`)
		sheet, _, _ := strings.Cut(rest, `"`)
		css := site.get(sheet, nil)
		if css.status != http.StatusOK || !strings.Contains(css.header.Get("Cache-Control"), "immutable") ||
			!strings.HasPrefix(css.header.Get("Content-Type"), "text/css") {
			t.Errorf("the style sheet %s: %d %v", sheet, css.status, css.header)
		}
	}
	lan := newSite(t, func(o *webapp.Options) { o.BaseURL = "http://carrel.lan:8080" })
	if got := lan.get("/sign-in", nil).header.Get("Referrer-Policy"); got != "same-origin" {
		t.Errorf("Referrer-Policy without Sec-Fetch-Site: %s", got)
	}
}

func TestPasswordsAndCookiesAreNotLogged(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	c := site.signIn()
	site.post("/sign-in", c, "email", email, "password", "another-wrong-one")
	site.post("/sign-out", c)
	_ = site.db.Close()
	if a := site.post("/sign-in", c, "email", email, "password", password); a.status < 500 {
		t.Errorf("with the database closed: %d", a.status)
	}
	if a := site.get("/", c); a.status < 500 {
		t.Errorf("the start page with the database closed: %d", a.status)
	}
	log := site.log.String()
	for _, secret := range []string{password, "another-wrong-one", c.Value, email} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
	if log == "" {
		t.Error("no error was logged, so the test proves nothing")
	}
}

func TestSignInEventsAreAudited(t *testing.T) {
	t.Parallel()
	site := newEmptySite(t)
	site.post("/setup", nil, "code", "nonsense")
	a := site.post("/setup", nil, "code", setupCode, "name", "Ada Lovelace", "email", email, "password", password)
	site.post("/sign-out", a.cookie)
	site.post("/sign-in", nil, "email", email, "password", "wrong")
	site.signIn()
	var got []string
	for _, e := range site.events() {
		got = append(got, string(e.Event))
		if e.Address != "203.0.113.7" || strings.Contains(e.Detail, email) || strings.Contains(e.Detail, password) ||
			strings.Contains(e.Detail, "nonsense") {
			t.Errorf("%+v", e)
		}
	}
	if s := strings.Join(got, " "); s != "sign_in sign_in_failed sign_out set_up set_up_failed" {
		t.Errorf("the audit log: %s", s)
	}
	if _, err := site.audit.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestFirstAccountRequiresTheSetupCode(t *testing.T) {
	t.Parallel()
	site := newEmptySite(t)
	if a := site.get("/sign-in", nil); a.status != http.StatusSeeOther || a.header.Get("Location") != "/setup" {
		t.Errorf("the sign-in page: %d %s", a.status, a.header.Get("Location"))
	}
	good := []string{"name", "Ada Lovelace", "email", email, "password", password, "code"}
	for _, code := range []string{"", "wrong", setupCode[1:], setupCode + "X"} {
		if a := site.post("/setup", nil, append(good, code)...); a.status != http.StatusUnprocessableEntity ||
			a.cookie != nil || !strings.Contains(a.body, "code-error") {
			t.Errorf("%q: %d", code, a.status)
		}
	}
	a := site.post("/setup", nil, "code", setupCode, "name", "", "email", "x", "password", "short")
	if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "name-error") ||
		!strings.Contains(a.body, "email-error") || !strings.Contains(a.body, "password-error") ||
		strings.Contains(a.body, "short") {
		t.Errorf("bad fields: %d %s", a.status, a.body)
	}
	a = site.post("/setup", nil, append(good, " 7xkm 2qrt-9wpa ")...)
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/" || !site.isSignedIn(a.cookie) {
		t.Fatalf("the code as people type it: %d %s", a.status, a.body)
	}
	for _, again := range []answer{site.get("/setup", nil), site.post("/setup", nil, append(good, setupCode)...)} {
		if again.status != http.StatusSeeOther || again.header.Get("Location") != "/sign-in" || again.cookie != nil {
			t.Errorf("the code used again: %d %s", again.status, again.header.Get("Location"))
		}
	}
	users, err := site.accounts.List(t.Context(), core.Operator(""))
	if err != nil || len(users) != 1 || users[0].Role != core.RoleOwner {
		t.Errorf("%+v, %v", users, err)
	}
}

func TestSetupCodeIsDerivedFromTheSecret(t *testing.T) {
	t.Parallel()
	a, b := webapp.SetupCode([]byte("one")), webapp.SetupCode([]byte("two"))
	if a != webapp.SetupCode([]byte("one")) || a == b || len(a) != 14 {
		t.Errorf("%s %s", a, b)
	}
}

func TestSignInReturnsToTheRequestedPath(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	for to, want := range map[string]string{
		"/api/auth/mcp/authorize?a=b&c=%2F": "/api/auth/mcp/authorize?a=b&c=%2F",
		"//evil.example":                    "/", "": "/",
	} {
		a := site.post("/sign-in", nil, "email", email, "password", password, "return", to)
		if got := a.header.Get("Location"); a.status != http.StatusSeeOther || got != want {
			t.Errorf("%q redirects to %q, want %q", to, got, want)
		}
		page := site.get("/sign-in?return="+url.QueryEscape(to), nil)
		if !strings.Contains(page.body, `name="return" value="`+strings.ReplaceAll(want, "&", "&amp;")+`"`) {
			t.Errorf("the page for %q does not hold %q", to, want)
		}
	}
}

func TestLinksIncludeThePathOfTheBaseURL(t *testing.T) {
	t.Parallel()
	site := newSite(t, func(o *webapp.Options) { o.BaseURL = "https://example.org/carrel" })
	a := site.post("/sign-in", nil, "email", email, "password", password, "return", "/docs")
	if a.header.Get("Location") != "/carrel/docs" || a.cookie.Path != "/" {
		t.Errorf("signing in redirects to %s with %v", a.header.Get("Location"), a.cookie)
	}
	page := site.get("/sign-in", nil).body
	for _, want := range []string{`action="/carrel/sign-in"`, `href="/carrel/pages/style-`, `href="/carrel/"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestMalformedFormIsRefused(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	req := site.request(http.MethodPost, "/sign-in", url.Values{}, nil)
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader("email=%zz")), -1
	if a := site.do(req); a.status != http.StatusBadRequest || !strings.Contains(a.body, "could not be read") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
