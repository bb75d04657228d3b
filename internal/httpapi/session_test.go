package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// Browsers authenticate with the session cookie.
func TestBrowserSessions(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"SessionHasAllScopes", sessionActs},
		{"BearerTokenTakesPrecedence", bearerFirst},
		{"CrossOriginRequestsAreRefused", crossOrigin},
		{"InvalidCookiesAreRefused", badCookies},
		{"EndedSessionFailsOnTheNextRequest", endedSession},
		{"ProfileIsReadAndChanged", profile},
		{"MemberAddressNeedsAnAdministrator", pendingAddress},
		{"SpendCapAppliesToSessions", sessionAtTheCap},
	})
}

// signedIn returns the same user in a browser, which sends the session cookie only.
func (p *testUser) signedIn() *browser {
	p.t.Helper()
	s, token, err := p.w.sessions.Begin(p.t.Context(), p.id, "192.0.2.1", "Mozilla/5.0 (X11; Linux x86_64)")
	if err != nil {
		p.t.Fatal(err)
	}
	return &browser{testUser: p.with(""), session: s, cookie: credential.SessionCookie(true) + "=" + token}
}

// browser is a signed-in user.
type browser struct {
	*testUser
	session credential.Session
	cookie  string
}

func (b *browser) send(method, path, body string, headers ...string) answer {
	b.t.Helper()
	return b.testUser.send(method, path, body,
		append([]string{"Cookie", b.cookie, "Sec-Fetch-Site", "same-origin"}, headers...)...)
}

func (b *browser) get(path string, headers ...string) answer {
	b.t.Helper()
	return b.send(http.MethodGet, path, "", headers...)
}

func (b *browser) post(path string, body any, headers ...string) answer {
	b.t.Helper()
	return b.send(http.MethodPost, path, encode(b.t, body), headers...)
}

func sessionActs(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	if got := b.get("/api/agents").ok(t).list("agents", "id"); !slices.Equal(got, []string{p.agent}) {
		t.Errorf("it sees the agents %v", got)
	}
	b.send(http.MethodPatch, p.at(""), `{"name":"Renamed"}`).ok(t)
	b.post(p.at("/search"), object{"query": "x"}).ok(t)
	thread := b.post(p.at("/threads"), object{"title": "T"}).ok(t).str("thread", "id")
	b.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).ok(t)
	a := b.get("/api/account").ok(t)
	if a.str("account", "id") != p.id || a.str("credential", "kind") != "session" ||
		a.str("credential", "id") != b.session.ID {
		t.Errorf("the account is %s", a.body)
	}
	if until := a.str("credential", "provedUntil"); until == "" {
		t.Errorf("it does not say until when it is proved: %s", a.body)
	}
	if got := a.header.Values("Vary"); !slices.Contains(got, "Authorization, Cookie") {
		t.Errorf("Vary is %q", got)
	}
}

func bearerFirst(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	b.get("/api/account").ok(t)
	// The key is used although the session has more scopes, and an invalid header is refused despite the cookie.
	b.get("/api/account", "Authorization", "Bearer "+p.token).refused(t, 403, "insufficient_scope")
	b.get("/api/account", "Authorization", "Bearer junk").refused(t, 401, "invalid_credential")
	b.get("/api/account", "Authorization", "Basic YTpi").refused(t, 401, "invalid_credential")
	b.get("/api/account", "Authorization", "").refused(t, 401, "invalid_credential")
	// A session secret is not a bearer token.
	_, secret, _ := strings.Cut(b.cookie, "=")
	p.with(secret).get("/api/account").refused(t, 401, "invalid_credential")
	// A key is not a session.
	p.with("").get("/api/account", "Cookie",
		credential.SessionCookie(true)+"="+p.token).refused(t, 401, "invalid_credential")
}

func crossOrigin(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	change := `{"name":"Taken"}`
	for name, headers := range map[string][]string{
		"another site":             {"Sec-Fetch-Site", "cross-site"},
		"another host of the site": {"Sec-Fetch-Site", "same-site"},
		"an older browser":         {"Sec-Fetch-Site", "-", "Origin", "https://evil.example"},
		"a page without origin":    {"Sec-Fetch-Site", "-", "Origin", "null"},
		"our host over plain HTTP": {"Sec-Fetch-Site", "-", "Origin", "http://carrel.test"},
	} {
		for _, r := range [][3]string{
			{"PATCH", p.at(""), change},
			{"POST", "/api/agents", change},
			{"DELETE", p.at(""), ""},
			{"PATCH", "/api/account", change},
		} {
			if a := b.send(r[0], r[1], r[2], headers...); a.status != 403 || a.str("code") != "cross_origin" {
				t.Errorf("%s: %s %s: %d %s", name, r[0], r[1], a.status, a.body)
			}
		}
		// Reading is allowed: without CORS the other site cannot read the reply.
		if a := b.get("/api/agents", headers...).ok(t); a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may read", name)
		}
		// Browsers never attach a bearer token themselves, so it is accepted from any origin.
		p.send("PATCH", p.at(""), `{"name":"Mine"}`, headers...).ok(t)
	}
	for name, headers := range map[string][]string{
		"our page":              {"Sec-Fetch-Site", "same-origin"},
		"our page, behind":      {"Sec-Fetch-Site", "-", "Origin", baseURL},
		"somebody's own script": {"Sec-Fetch-Site", "-"},
	} {
		if a := b.send("PATCH", p.at(""), change, headers...); a.status != 200 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

func badCookies(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	name, secret, _ := strings.Cut(b.cookie, "=")
	for cookie, code := range map[string]string{
		"carrel=" + secret:                       "missing_credential", // the cookie name of plain HTTP
		name + "=":                               "missing_credential",
		b.cookie + "; " + b.cookie:               "missing_credential",
		b.cookie + "; " + name + "=x":            "missing_credential",
		name + "=" + secret + "x":                "invalid_credential",
		name + "=" + strings.ToUpper(secret):     "invalid_credential",
		name + "=junk":                           "invalid_credential",
		name + "=" + credential.NewSecret("crl"): "invalid_credential",
		name + "=" + credential.NewSecret(credential.SessionPrefix): "invalid_credential",
	} {
		b.get("/api/agents", "Cookie", cookie).refused(t, 401, code)
	}
	b.get("/api/agents", "Cookie", "theme=dark; "+b.cookie+"; x=y").ok(t)
}

func endedSession(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	ended, stays := p.signedIn(), p.signedIn()
	ended.get("/api/agents").ok(t)
	if err := w.sessions.End(t.Context(), p.id, ended.session.ID); err != nil {
		t.Fatal(err)
	}
	ended.get("/api/agents").refused(t, 401, "invalid_credential")
	stays.get("/api/agents").ok(t)
	if err := w.db.DisableUser(t.Context(), p.id, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	stays.get("/api/agents").refused(t, 401, "invalid_credential")
}

func sessionAtTheCap(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	nothing := int64(0)
	if err := w.db.SetSpendCap(t.Context(), p.id, &nothing); err != nil {
		t.Fatal(err)
	}
	p.signedIn().post(p.at("/search"), object{"query": "x"}).refused(t, 402, "spend_cap_reached")
}

// profile uses an administrator, whose address changes at once. For members see pendingAddress.
func profile(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	w.makeAdmin(t, p)
	b := p.signedIn()
	a := b.send("PATCH", "/api/account", `{"name":"  Ada King ","email":"`+strings.ToUpper(p.id)+`@new.example"}`).ok(t)
	if a.str("account", "name") != "Ada King" || a.str("account", "email") != p.id+"@new.example" ||
		a.value("account", "pendingEmail") != nil {
		t.Errorf("it is now %s", a.body)
	}
	if got := b.get("/api/account").ok(t).str("account", "email"); got != p.id+"@new.example" {
		t.Errorf("read again it is %s", got)
	}
	for body, pointer := range map[string]string{
		`{"name":""}`: "/name",
		`{"name":"` + strings.Repeat("x", 201) + `"}`: "/name",
		`{"name":1}`:                        "/name",
		`{"email":"nobody"}`:                "/email",
		`{"email":"Ada <ada@example.org>"}`: "/email",
		`{"email":"` + strings.Repeat("x", 250) + `@x.org"}`: "/email",
	} {
		got := b.send("PATCH", "/api/account", body).refused(t, 400, "invalid_request").pointers()
		if !slices.Equal(got, []string{pointer}) {
			t.Errorf("%s: the problem is in %v", body, got)
		}
	}
	b.send("PATCH", "/api/account", `{"email":"`+other.id+`@example.org"}`).refused(t, 409, "conflict")
	b.send("PATCH", "/api/account", `{}`).ok(t)
	entries, err := w.audit.List(t.Context(), p.id, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range entries {
		if e.Actor == b.session.ID {
			events = append(events, string(e.Event))
		}
		if strings.Contains(e.Detail, "King") || strings.Contains(e.Detail, "@") {
			t.Errorf("the log keeps what changed: %s", e.Detail)
		}
	}
	if !slices.Equal(events, []string{"email_changed", "name_changed"}) {
		t.Errorf("the log says %v", events)
	}
}

// pendingAddress checks that a member's new address gives the same reply whether or not another account has it, until
// an administrator sets it.
func pendingAddress(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	b := p.signedIn()
	own, taken, free := p.id+"@example.org", other.id+"@example.org", "free-"+p.id+"@example.org"
	replies := map[string]string{}
	for _, address := range []string{taken, free} {
		before := w.state(t, other)
		a := b.send("PATCH", "/api/account", `{"email":"`+strings.ToUpper(address)+`"}`).ok(t)
		if a.str("account", "email") != own || a.str("account", "pendingEmail") != address {
			t.Errorf("asking for another address gives %s", a.body)
		}
		header := a.header.Clone()
		header.Del("X-Request-Id")
		header.Del("Date")
		header.Del("Content-Length")
		replies[strings.ReplaceAll(string(a.body), address, "…")+fmt.Sprint(a.status, header)] = address
		if w.state(t, other) != before {
			t.Error("the other account changed")
		}
		// Repeating the change and reading the account give the same reply.
		if again := b.send("PATCH", "/api/account", `{"email":"`+address+`"}`).ok(t); string(again.body) != string(a.body) {
			t.Errorf("once more it is %s", again.body)
		}
		if read := b.get("/api/account").ok(t); read.str("account", "pendingEmail") != address {
			t.Errorf("read it is %s", read.body)
		}
	}
	if len(replies) != 1 {
		t.Errorf("the replies for a free and a taken address differ: %v", replies)
	}
	b.send("PATCH", "/api/account", `{"email":"`+own+`"}`).ok(t)
	if a := b.get("/api/account").ok(t); a.value("account", "pendingEmail") != nil {
		t.Errorf("withdrawn it is %s", a.body)
	}
	// An administrator sets the address, and learns whether it is taken.
	b.send("PATCH", "/api/account", `{"email":"`+free+`"}`).ok(t)
	admin := w.user(t, core.PlanOpen)
	w.makeAdmin(t, admin)
	office, user := admin.signedIn(), "/api/admin/users/"+p.id
	if got := office.get(user).ok(t).str("user", "pendingEmail"); got != free {
		t.Errorf("the administrator sees %s", got)
	}
	office.send("PATCH", user, `{"email":"`+taken+`"}`).refused(t, 409, "conflict")
	office.send("PATCH", user, `{"email":"nobody"}`).refused(t, 400, "invalid_request")
	if a := office.send("PATCH", user, `{"email":"`+free+`"}`).ok(t); a.str("user", "email") != free ||
		a.value("user", "pendingEmail") != nil {
		t.Errorf("set by the administrator it is %s", a.body)
	}
	office.send("PATCH", "/api/admin/users/"+admin.id, `{"email":"x@example.org"}`).refused(t, 409, "conflict")
	second := w.user(t, core.PlanOpen)
	w.makeAdmin(t, second)
	office.send("PATCH", "/api/admin/users/"+second.id, `{"email":"x@example.org"}`).refused(t, 403, "forbidden")
}

func TestStepUp(t *testing.T) {
	t.Parallel()
	inTurn(t, []test{{"SensitiveActsNeedAFreshProof", func(t *testing.T, w *testServer) {
		p := w.user(t, core.PlanOpen)
		b := p.signedIn()
		email := func(name string) string { return `{"email":"` + name + p.id + `@example.org"}` }
		w.clock.Set(b.session.AuthenticatedAt.Add(core.ProofLife - time.Millisecond))
		b.send("PATCH", "/api/account", email("a")).ok(t)
		w.clock.Set(b.session.AuthenticatedAt.Add(core.ProofLife))
		b.send("PATCH", "/api/account", email("b")).refused(t, 403, "step_up_required")
		b.post("/api/account/keys", object{"name": "x"}).refused(t, 403, "step_up_required")
		b.post("/api/account/connect-codes", "").refused(t, 403, "step_up_required")
		// Reading and revoking need a session only.
		for _, path := range []string{"", "/keys", "/connect-codes", "/connections", "/sessions", "/audit"} {
			b.get("/api/account" + path).ok(t)
		}
		b.send("PATCH", "/api/account", `{"name":"Harmless"}`).ok(t)
		b.send("PATCH", "/api/account", email("a")).ok(t) // nothing changes
		// A key with the account scope needs no proof.
		key := p.with(p.key(credential.NewKey{Name: "account", Scopes: []core.Scope{core.ScopeAccount}}))
		key.send("PATCH", "/api/account", email("c")).refused(t, 403, "session_required")
		key.send("PATCH", "/api/account", `{"name":"Also harmless"}`).ok(t)
		key.post("/api/account/keys", object{"name": "x", "scopes": []string{"account"}}).ok(t)
		key.post("/api/account/connect-codes", "").refused(t, 403, "insufficient_scope") // it has no scope to pass on
		p.accountKey().post("/api/account/connect-codes", "").ok(t)
		a := key.get("/api/account").ok(t)
		if a.str("credential", "kind") != "key" || a.value("credential", "provedUntil") != nil {
			t.Errorf("the key is %s", a.body)
		}
		if err := w.sessions.StepUp(t.Context(), b.session.ID); err != nil {
			t.Fatal(err)
		}
		b.send("PATCH", "/api/account", email("d")).ok(t)
		b.post("/api/account/keys", object{"name": "x"}).ok(t)
		b.post("/api/account/connect-codes", "").ok(t)
	}}})
}
