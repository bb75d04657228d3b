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

func TestPoint11ACookieIsBoundToItsHost(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]http.Cookie{
		"http://127.0.0.1:8080":  {Name: "carrel"},
		"http://localhost:8080":  {Name: "carrel"},
		"https://carrel.example": {Name: "__Host-carrel", Secure: true},
	} {
		w := newWorld(t, func(o *webapp.Options) { o.BaseURL = base })
		c := w.signIn()
		if c.Name != want.Name || c.Secure != want.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
			c.MaxAge != int(credential.SessionLife/time.Second) {
			t.Errorf("%s: %s", base, c)
		}
		if len(c.Value) < 32 || !w.isIn(c) {
			t.Errorf("%s: the cookie %s does not sign in", base, c)
		}
		if out := w.post("/sign-out", c); out.status != http.StatusSeeOther || out.cookie == nil || out.cookie.MaxAge >= 0 || out.cookie.Name != want.Name || w.isIn(c) {
			t.Errorf("%s: signing out answers %d with %v", base, out.status, out.cookie)
		}
	}
}

func TestPoint11TheIDChangesAtSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	planted := &http.Cookie{Name: "carrel", Value: "crls_00000000000000000000000000000000" + "000000"}
	first := w.post("/sign-in", planted, "email", email, "password", password)
	if first.cookie == nil || first.cookie.Value == planted.Value || w.isIn(planted) {
		t.Fatalf("a planted cookie is taken over: %v", first.cookie)
	}
	second := w.post("/sign-in", first.cookie, "email", email, "password", password)
	if second.cookie == nil || second.cookie.Value == first.cookie.Value || w.isIn(first.cookie) || !w.isIn(second.cookie) {
		t.Error("signing in again keeps the session of before")
	}
	twice := w.request(http.MethodGet, "/", nil, second.cookie)
	twice.AddCookie(&http.Cookie{Name: "carrel", Value: first.cookie.Value})
	if strings.Contains(w.do(twice).body, "Hello") {
		t.Error("of two cookies one is believed")
	}
}

func TestPoint11WhatEndsASessionEndsItOnTheNextRequest(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, c *http.Cookie) error{
		"sign-out": func(w *world, c *http.Cookie) error { w.post("/sign-out", c); return nil },
		"revoked": func(w *world, _ *http.Cookie) error {
			list, err := w.sessions.List(w.t.Context(), w.user.ID)
			if err != nil || len(list) != 1 || list[0].Address != "203.0.113.7" || !strings.HasPrefix(list[0].Agent, "Go-http-client") {
				w.t.Fatalf("listed %+v, %v", list, err)
			}
			return w.sessions.End(w.t.Context(), w.user.ID, list[0].ID)
		},
		"all revoked": func(w *world, _ *http.Cookie) error { return w.sessions.EndOthers(w.t.Context(), w.user.ID, "") },
		"disabled": func(w *world, _ *http.Cookie) error {
			return w.accounts.Disable(w.t.Context(), core.Operator(""), w.user.ID)
		},
		"new password": func(w *world, _ *http.Cookie) error {
			return w.auth.Passwords.Set(w.t.Context(), core.Operator(""), w.user.ID, "another password", "")
		},
		"14 days idle": func(w *world, _ *http.Cookie) error { w.clock.Advance(credential.SessionIdle); return nil },
	} {
		w := newWorld(t)
		c := w.signIn()
		if !w.isIn(c) {
			t.Fatalf("%s: not signed in", name)
		}
		if err := end(w, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if w.isIn(c) {
			t.Errorf("%s: still signed in", name)
		}
		if _, ok := w.app.Session(w.request(http.MethodGet, "/", nil, c)); ok {
			t.Errorf("%s: there is still a session", name)
		}
	}
}

func TestPoint11ASessionLastsWhileItIsUsedButNotForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.signIn()
	for range 8 {
		w.clock.Advance(10 * 24 * time.Hour)
		if !w.isIn(c) {
			t.Fatalf("out at %v", w.clock.Now())
		}
	}
	w.clock.Advance(10 * 24 * time.Hour)
	if w.isIn(c) {
		t.Error("a session outlives 90 days")
	}
}

func TestPoint11AnotherSitesFormIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.signIn()
	for name, headers := range map[string]map[string]string{
		"cross-site":    {"Sec-Fetch-Site": "cross-site"},
		"same-site":     {"Sec-Fetch-Site": "same-site"},
		"an old one":    {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
		"a hidden one":  {"Sec-Fetch-Site": "", "Origin": "null"},
		"a near origin": {"Sec-Fetch-Site": "", "Origin": w.srv.URL + ".evil.example"},
	} {
		for _, path := range []string{"/sign-in", "/sign-out", "/setup"} {
			req := w.request(http.MethodPost, path, url.Values{"email": {email}, "password": {password}}, c)
			for k, v := range headers {
				req.Header.Set(k, v)
				if v == "" {
					req.Header.Del(k)
				}
			}
			if a := w.do(req); a.status != http.StatusForbidden || a.cookie != nil || !strings.Contains(a.body, "another site") {
				t.Errorf("%s to %s: %d, cookie %v", name, path, a.status, a.cookie)
			}
		}
	}
	if !w.isIn(c) {
		t.Error("another site signed the user out")
	}
}

func TestPoint12AFailedSignInTellsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.accounts.Disable(t.Context(), core.Operator(""), w.user.ID); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]bool{}
	for _, try := range [][2]string{{email, "wrong password"}, {email, password}, {"ada@example.com", password}, {"ada@exa\x00mpl.org", password}, {"ada@exampl\xff.org", password}} {
		a := w.post("/sign-in", nil, "email", try[0], "password", try[1])
		if a.status != http.StatusUnprocessableEntity || a.cookie != nil {
			t.Errorf("%q: %d, %v", try[0], a.status, a.cookie)
		}
		before, _, _ := strings.Cut(a.body, `<label for="email">`)
		bodies[before] = true
	}
	if len(bodies) != 1 {
		t.Errorf("there are %d different answers", len(bodies))
	}
	var reasons []string
	for _, e := range w.events() {
		var detail struct{ Reason string }
		if err := json.Unmarshal([]byte(e.Detail), &detail); err != nil || e.Event != audit.SignInFailed {
			t.Errorf("%+v, %v", e, err)
		}
		reasons = append(reasons, detail.Reason)
	}
	if got := strings.Join(reasons, ", "); got != "unknown account, unknown account, unknown account, disabled account, wrong password" {
		t.Errorf("the audit log says %s", got)
	}
}

// TestPoint12AnUnknownUserTakesAsLong compares the sums of some tries: without the decoy the unknown one takes none.
func TestPoint12AnUnknownUserTakesAsLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	took := func(email string) time.Duration {
		started := time.Now()
		for range 5 {
			_, _, _ = w.auth.Passwords.Verify(t.Context(), email, "wrong password")
		}
		return time.Since(started)
	}
	known, unknown := took(email), took("nobody@example.org")
	if unknown < known/4 || unknown > known*4 {
		t.Errorf("a known user takes %v, an unknown one %v", known, unknown)
	}
}

func TestPoint12GuessesAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	try := func(email, password string) answer {
		return w.post("/sign-in", nil, "email", email, "password", password)
	}
	for i := range 10 {
		if a := try(strings.ToUpper(email), "wrong"); a.status != http.StatusUnprocessableEntity {
			t.Fatalf("try %d: %d", i, a.status)
		}
	}
	a := try(email, password)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "60" || !strings.Contains(a.body, "Too many attempts on this account from your network. Try again in 60 seconds.") {
		t.Fatalf("%d %s %s", a.status, a.header.Get("Retry-After"), a.body)
	}
	if a := try("other@example.org", "wrong"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("another account: %d", a.status)
	}
	w.clock.Advance(time.Minute)
	if a := try(email, password); a.status != http.StatusSeeOther {
		t.Errorf("a minute later: %d", a.status)
	}
	// One network may try 40 times and then 20 times a minute, whatever the account. Good ones count here too.
	for range 100 {
		a = try(core.NewID("x")+"@example.org", "wrong")
		if a.status == http.StatusTooManyRequests {
			break
		}
	}
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "3" || !strings.Contains(a.body, "from your network") {
		t.Errorf("many accounts from one network: %d %s", a.status, a.header.Get("Retry-After"))
	}
}

func TestSuccessIsNotHeldAgainstAnAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 30 {
		w.signIn()
	}
}

func TestMissingFieldsAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.post("/sign-in", nil, "email", "", "password", "")
	for _, want := range []string{
		`id="email-error">Type your e-mail address.`, `id="password-error">Type your password.`, `aria-invalid="true" aria-describedby="email-error"`,
		`autocomplete="username"`, `autocomplete="current-password"`, `<label for="email">`, `autofocus`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
	if a.status != http.StatusUnprocessableEntity || len(w.events()) != 0 {
		t.Errorf("%d, %v", a.status, w.events())
	}
	wrong := w.post("/sign-in", nil, "email", `"><script>alert(1)</script>`, "password", "x")
	if strings.Contains(wrong.body, "<script") || !strings.Contains(wrong.body, `aria-describedby="error"`) {
		t.Error(wrong.body)
	}
	big := w.post("/sign-in", nil, "email", strings.Repeat("a", 1<<17), "password", "x")
	if big.status != http.StatusBadRequest {
		t.Errorf("a huge form: %d", big.status)
	}
}

func TestPagesForbidWhatTheyDoNotNeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.signIn()
	for path, cookie := range map[string]*http.Cookie{"/": c, "/sign-in": nil} {
		a := w.get(path, cookie)
		for header, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"Cache-Control":           "no-store", "Referrer-Policy": "no-referrer", "Content-Type": "text/html; charset=utf-8", "X-Frame-Options": "DENY",
		} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %s is %q", path, header, got)
			}
		}
		if strings.Contains(a.body, "<script") || strings.Contains(a.body, "style=") {
			t.Errorf("%s has script or style of its own", path)
		}
		_, rest, _ := strings.Cut(a.body, `rel="stylesheet" href="`)
		sheet, _, _ := strings.Cut(rest, `"`)
		css := w.get(sheet, nil)
		if css.status != http.StatusOK || !strings.Contains(css.header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(css.header.Get("Content-Type"), "text/css") {
			t.Errorf("the style sheet %s: %d %v", sheet, css.status, css.header)
		}
	}
	lan := newWorld(t, func(o *webapp.Options) { o.BaseURL = "http://carrel.lan:8080" })
	if got := lan.get("/sign-in", nil).header.Get("Referrer-Policy"); got != "same-origin" {
		t.Errorf("where browsers send no Sec-Fetch-Site the policy is %s", got)
	}
}

func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.signIn()
	w.post("/sign-in", c, "email", email, "password", "another-wrong-one")
	w.post("/sign-out", c)
	_ = w.db.Close()
	if a := w.post("/sign-in", c, "email", email, "password", password); a.status < 500 {
		t.Errorf("with the database away: %d", a.status)
	}
	if a := w.get("/", c); a.status < 500 {
		t.Errorf("the start page with the database away: %d", a.status)
	}
	log := w.log.String()
	for _, secret := range []string{password, "another-wrong-one", c.Value, email} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
	if log == "" {
		t.Error("nothing was logged at all")
	}
}

func TestPoint13WhatHappensIsWrittenDown(t *testing.T) {
	t.Parallel()
	w := newEmptyWorld(t)
	w.post("/setup", nil, "code", "nonsense")
	a := w.post("/setup", nil, "code", setupCode, "name", "Ada Lovelace", "email", email, "password", password)
	w.post("/sign-out", a.cookie)
	w.post("/sign-in", nil, "email", email, "password", "wrong")
	w.signIn()
	var got []string
	for _, e := range w.events() {
		got = append(got, string(e.Event))
		if e.Address != "203.0.113.7" || strings.Contains(e.Detail, email) || strings.Contains(e.Detail, password) || strings.Contains(e.Detail, "nonsense") {
			t.Errorf("%+v", e)
		}
	}
	if s := strings.Join(got, " "); s != "sign_in sign_in_failed sign_out set_up set_up_failed" {
		t.Errorf("the log holds %s", s)
	}
	if _, err := w.audit.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestTheFirstAccountNeedsTheCode(t *testing.T) {
	t.Parallel()
	w := newEmptyWorld(t)
	if a := w.get("/sign-in", nil); a.status != http.StatusSeeOther || a.header.Get("Location") != "/setup" {
		t.Errorf("signing in leads to %d %s", a.status, a.header.Get("Location"))
	}
	good := []string{"name", "Ada Lovelace", "email", email, "password", password, "code"}
	for _, code := range []string{"", "wrong", setupCode[1:], setupCode + "X"} {
		if a := w.post("/setup", nil, append(good, code)...); a.status != http.StatusUnprocessableEntity || a.cookie != nil || !strings.Contains(a.body, "code-error") {
			t.Errorf("%q: %d", code, a.status)
		}
	}
	if a := w.post("/setup", nil, "code", setupCode, "name", "", "email", "x", "password", "short"); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "name-error") || !strings.Contains(a.body, "email-error") || !strings.Contains(a.body, "password-error") || strings.Contains(a.body, "short") {
		t.Errorf("bad fields: %d %s", a.status, a.body)
	}
	a := w.post("/setup", nil, append(good, " 7xkm 2qrt-9wpa ")...)
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/" || !w.isIn(a.cookie) {
		t.Fatalf("the code as people type it: %d %s", a.status, a.body)
	}
	for _, again := range []answer{w.get("/setup", nil), w.post("/setup", nil, append(good, setupCode)...)} {
		if again.status != http.StatusSeeOther || again.header.Get("Location") != "/sign-in" || again.cookie != nil {
			t.Errorf("the code once more: %d %s", again.status, again.header.Get("Location"))
		}
	}
	users, err := w.accounts.List(t.Context(), core.Operator(""))
	if err != nil || len(users) != 1 || users[0].Role != core.RoleOwner {
		t.Errorf("%+v, %v", users, err)
	}
}

func TestASetupCodeIsTheSameOnEveryNodeAndNoOther(t *testing.T) {
	t.Parallel()
	a, b := webapp.SetupCode([]byte("one")), webapp.SetupCode([]byte("two"))
	if a != webapp.SetupCode([]byte("one")) || a == b || len(a) != 14 {
		t.Errorf("%s %s", a, b)
	}
}

func TestAfterSigningInOneGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for to, want := range map[string]string{"/api/auth/mcp/authorize?a=b&c=%2F": "/api/auth/mcp/authorize?a=b&c=%2F", "//evil.example": "/", "": "/"} {
		a := w.post("/sign-in", nil, "email", email, "password", password, "return", to)
		if got := a.header.Get("Location"); a.status != http.StatusSeeOther || got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
		page := w.get("/sign-in?return="+url.QueryEscape(to), nil)
		if !strings.Contains(page.body, `name="return" value="`+strings.ReplaceAll(want, "&", "&amp;")+`"`) {
			t.Errorf("the page for %q does not hold %q", to, want)
		}
	}
}

func TestBehindAPathEveryLinkHasIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *webapp.Options) { o.BaseURL = "https://example.org/carrel" })
	if a := w.post("/sign-in", nil, "email", email, "password", password, "return", "/docs"); a.header.Get("Location") != "/carrel/docs" || a.cookie.Path != "/" {
		t.Errorf("signing in leads to %s with %v", a.header.Get("Location"), a.cookie)
	}
	page := w.get("/sign-in", nil).body
	for _, want := range []string{`action="/carrel/sign-in"`, `href="/carrel/pages/style-`, `href="/carrel/"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
}

func TestABodyThatIsCutOffIsABadForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	req := w.request(http.MethodPost, "/sign-in", url.Values{}, nil)
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader("email=%zz")), -1
	if a := w.do(req); a.status != http.StatusBadRequest || !strings.Contains(a.body, "did not arrive whole") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
