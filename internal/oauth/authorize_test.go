package oauth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/oauth"
)

// wantRedirectError checks that the request is redirected to the client's URI with this error, the issuer and the
// state.
func (srv *server) wantRedirectError(q url.Values, code string) {
	srv.Helper()
	r := srv.authorize(q)
	to, err := url.Parse(r.header.Get("Location"))
	answer := to.Query()
	if err != nil || r.status != http.StatusFound || answer.Get("error") != code || answer.Get("iss") != srv.issuer ||
		answer.Get("error_description") == "" ||
		!strings.HasPrefix(r.header.Get("Location"), redirectURI+"?") || len(q["state"]) == 1 &&
		answer.Get("state") != q.Get("state") {
		srv.Errorf("%v\ngot %d %q %q, want %s", q, r.status, r.header.Get("Location"), r.body, code)
	}
	if got := r.header.Get("Cross-Origin-Opener-Policy"); got != "unsafe-none" {
		srv.Errorf("Cross-Origin-Opener-Policy is %q, which cuts off clients that authorize in a pop-up", got)
	}
	if r.header.Get("Referrer-Policy") != "no-referrer" || r.header.Get("Cache-Control") != "no-store" {
		srv.Errorf("headers %v", r.header)
	}
}

func TestUnknownClientOrRedirectURINeverRedirects(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none", redirectURI, "http://127.0.0.1/cb", "http://localhost:3000/cb?x=1", "http://[::1]/cb",
		"cursor://app/cb")
	never := []url.Values{
		c.request("client_id", ""), c.request("client_id", "cli_none"),
		c.request("client_id", strings.Replace(c.id, "cli_", "cli_0", 1)),
		c.request("client_id", "https://app.example/client.json\x00"), c.request("redirect_uri", ""),
	}
	for _, uri := range []string{
		"https://evil.example/cb", redirectURI + "/", redirectURI + "x", redirectURI + "?x=1", redirectURI + "#x",
		"https://app.example", "https://app.example/", "https://APP.example/cb", "https://app.example:443/cb",
		"https://app.example.evil.example/cb", "https://app.example@evil.example/cb",
		"https://evil.example/https://app.example/cb", "http://app.example/cb", "https://app.example/cb/../x",
		"https://app.example/%63b",
		"http://127.0.0.1:99/cb2", "http://127.0.0.1/cb?x=1", "http://127.0.0.2/cb", "http://localhost/cb",
		"http://localhost:9/cb?x=2", "https://127.0.0.1/cb", "http://127.0.0.1:99@evil.example/cb",
		"http://127.0.0.1:x/cb", "http://127.0.0.1:123456/cb", "http://127.0.0.1.evil.example/cb",
		"http://[::1]:80/cb#", "http://[::2]/cb", "http://127.0.0.1\\@evil.example/cb", "http://127.0.0.1:/cb",
		"cursor://app:99/cb", "cursor://app/cb/", "javascript:alert(1)",
	} {
		never = append(never, c.request("redirect_uri", uri))
	}
	for _, name := range []string{"client_id", "redirect_uri"} {
		q := c.request()
		q.Add(name, q.Get(name))
		never = append(never, q)
	}
	for _, q := range never {
		if r := srv.authorize(q); r.status != http.StatusBadRequest || r.header.Get("Location") != "" ||
			!strings.HasPrefix(r.body, "FAIL") || strings.Contains(r.body, "evil") {
			t.Errorf("%v\ngot %d %s %q", q, r.status, r.header.Get("Location"), r.body)
		}
	}
	r := srv.send(http.MethodGet, "/api/auth/mcp/authorize?client_id="+c.id+"&%zz", "", "Cookie", "session=s1")
	if r.status != http.StatusBadRequest {
		t.Errorf("a malformed query: %d", r.status)
	}
	for _, uri := range []string{
		redirectURI, "http://127.0.0.1/cb", "http://127.0.0.1:1/cb", "http://127.0.0.1:65535/cb",
		"http://localhost:4/cb?x=1", "http://localhost/cb?x=1", "http://[::1]:8080/cb", "cursor://app/cb",
	} {
		if r := srv.authorize(c.request("redirect_uri", uri)); r.status != http.StatusOK {
			t.Errorf("%s: %d %s", uri, r.status, r.body)
		}
	}
}

func TestInvalidAuthorizationRequestIsReportedToTheClient(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	for code, changes := range map[string][][2]string{
		"invalid_request": {
			{"response_type", ""},
			{"code_challenge", ""},
			{"code_challenge_method", ""},
			{"code_challenge_method", "plain"},
			{"code_challenge_method", "s256"},
			{"code_challenge", "short"},
			{"code_challenge", strings.Repeat("x", 44)},
			{"code_challenge", strings.Repeat("=", 43)},
			{"response_mode", "fragment"},
			{"response_mode", "form_post"},
			{"nonce", strings.Repeat("x", 513)},
		},
		"invalid_target": {
			{"resource", "https://other.example"},
			{"resource", srv.issuer + "/api"},
			{"resource", srv.issuer + "/mcp/x"},
			{"resource", srv.issuer + "#x"},
			{"resource", "x"},
		},
		"invalid_scope":             {{"scope", "openid account"}, {"scope", "admin"}},
		"request_not_supported":     {{"request", "e30.e30."}},
		"request_uri_not_supported": {{"request_uri", "https://app.example/r"}},
		"consent_required":          {{"prompt", "none"}},
	} {
		for _, change := range changes {
			srv.wantRedirectError(c.request(change[0], change[1]), code)
		}
	}
	for _, name := range []string{
		"state", "scope", "response_type", "code_challenge", "code_challenge_method",
		"nonce", "unknown",
	} {
		q := c.request("unknown", "x")
		q.Add(name, "again")
		srv.wantRedirectError(q, "invalid_request")
	}
}

// badRequests returns refused authorization requests of a valid client, by error code.
func badRequests(c client, issuer string) map[string]url.Values {
	repeated := c.request()
	repeated.Add("state", "again")
	return map[string]url.Values{
		"invalid_request":           c.request("code_challenge", ""),
		"invalid_request, repeated": repeated,
		"unsupported_response_type": c.request("response_type", "token"),
		"invalid_target":            c.request("resource", issuer+"/other"),
		"invalid_scope":             c.request("scope", "admin"),
		"request_not_supported":     c.request("request", "e30.e30."),
		"request_uri_not_supported": c.request("request_uri", "https://app.example/r"),
		"prompt=none":               c.request("prompt", "none"),
		"prompt=none, max_age":      c.request("prompt", "none", "max_age", "0"),
	}
}

// An anonymous visitor must never be sent to an address that an anonymously registered client chose.
func TestAuthorizeErrorsAreRedirectedForSignedInUsersOnly(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	for kind, c := range map[string]client{
		"registered": srv.register("none"),
		"documented": srv.publishDocument("/client.json"),
	} {
		srv.cookie = "s1"
		srv.code(c) // fetches the document, so that the client is known to anonymous requests too
		for _, cookie := range []string{"s1", "unknown", ""} {
			srv.cookie = cookie
			for name, q := range badRequests(c, srv.issuer) {
				r := srv.authorize(q)
				redirected := r.status == http.StatusFound &&
					strings.HasPrefix(r.header.Get("Location"), redirectURI+"?error=")
				shown := r.status == http.StatusBadRequest && r.header.Get("Location") == "" &&
					strings.HasPrefix(r.body, "FAIL")
				if signedIn := cookie == "s1"; redirected != signedIn || shown == signedIn {
					t.Errorf("%s client, cookie %q, %s: %d to %q", kind, cookie, name, r.status,
						r.header.Get("Location"))
				}
			}
		}
	}
}

func TestStoredRedirectURIIsCheckedAgainstCurrentRules(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	stored := []string{redirectURI, "https://*.example/cb", "myapp://cb", "app:/cb", "https://a.*/cb"}
	c := oauth.Client{
		ID: core.NewID(core.PrefixClient), Kind: oauth.ClientRegistered, Name: "App", RedirectURIs: stored,
		AuthMethod: oauth.AuthNone, CreatedAt: srv.clock.Now(),
	}
	if err := srv.db.PutClient(t.Context(), c, 10); err != nil {
		t.Fatal(err)
	}
	for _, uri := range stored[1:] {
		if r := srv.authorize(client{id: c.ID}.request("redirect_uri", uri)); r.status != http.StatusBadRequest ||
			r.header.Get("Location") != "" {
			t.Errorf("%s: %d %s", uri, r.status, r.header.Get("Location"))
		}
	}
	if r := srv.authorize(client{id: c.ID}.request()); r.status != http.StatusOK {
		t.Errorf("the valid URI: %d", r.status)
	}
}

func TestResourceParameterMayBeRepeated(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	q := c.request()
	q["resource"] = []string{srv.issuer + "/", srv.issuer + "/mcp"}
	_, answer := srv.consent(q, "allow")
	got := srv.tokensIn(srv.post("token", c.redemption(answer.Get("code"))))
	if !srv.accepts(got.Access) {
		t.Error("the token does not work")
	}
}

func TestAnonymousVisitorIsSentToSignIn(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	for name, set := range map[string]func() url.Values{
		"anonymous":    func() url.Values { srv.cookie = "unknown"; return c.request() },
		"prompt=login": func() url.Values { srv.cookie = "s1"; return c.request("prompt", "login") },
	} {
		q := set()
		r := srv.authorize(q)
		to, _ := url.Parse(r.header.Get("Location"))
		back, err := url.Parse(to.Query().Get("return"))
		if err != nil || r.status != http.StatusSeeOther || back.IsAbs() || back.Path != "/api/auth/mcp/authorize" ||
			back.Query().Get("code_challenge") != q.Get("code_challenge") || back.Query().Has("prompt") {
			t.Errorf("%s: %d %s", name, r.status, to)
		}
	}
}

func TestConsentIsAskedEveryTimeWithClientAccountAndScopes(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	for range 2 {
		page := srv.authorize(c.request())
		for _, want := range []string{
			"App at app.example for ada@example.org", "openid", "offline_access", "agents",
			"manage",
		} {
			if !strings.Contains(page.body, want) {
				t.Errorf("the page lacks %s: %s", want, page.body)
			}
		}
		srv.connect(c)
	}
	page := srv.authorize(c.request("scope", "agents"))
	if strings.Contains(page.body, "manage") || strings.Contains(page.body, "offline") {
		t.Errorf("unrequested scopes on the page: %s", page.body)
	}
}

func TestConsentIsBoundToSessionRequestAndOrigin(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.pages.sessions["s2"] = oauth.Session{
		ID: "ses_2", UserID: srv.user.ID, Email: srv.user.Email,
		AuthenticatedAt: srv.clock.Now(),
	}
	c := srv.register("none")
	handle := srv.handleIn(srv.authorize(c.request()))
	form := func(pairs ...string) url.Values {
		f := url.Values{"request": {handle}, "decision": {"allow"}}
		for i := 0; i < len(pairs); i += 2 {
			f.Set(pairs[i], pairs[i+1])
		}
		return f
	}
	const same = "same-origin"
	for name, try := range map[string]struct {
		form    url.Values
		headers []string
	}{
		"another session": {form(), []string{"Cookie", "session=s2", "Sec-Fetch-Site", same}},
		"no session":      {form(), []string{"Sec-Fetch-Site", same}},
		"another site":    {form(), []string{"Cookie", "session=s1", "Sec-Fetch-Site", "cross-site"}},
		"a sister site":   {form(), []string{"Cookie", "session=s1", "Sec-Fetch-Site", "same-site"}},
		"another origin":  {form(), []string{"Cookie", "session=s1", "Origin", "https://evil.example"}},
		"a null origin":   {form(), []string{"Cookie", "session=s1", "Origin", "null"}},
		"no handle":       {form("request", ""), []string{"Cookie", "session=s1", "Sec-Fetch-Site", same}},
		"a changed handle": {
			form("request", handle[:len(handle)-4]+"AAAA"),
			[]string{"Cookie", "session=s1", "Sec-Fetch-Site", same},
		},
		"no decision":         {form("decision", ""), []string{"Cookie", "session=s1", "Sec-Fetch-Site", same}},
		"an unknown decision": {form("decision", "yes"), []string{"Cookie", "session=s1", "Sec-Fetch-Site", same}},
		"two decisions": {
			url.Values{"request": {handle}, "decision": {"deny", "allow"}},
			[]string{"Cookie", "session=s1", "Sec-Fetch-Site", same},
		},
		"the plain request": {
			c.request("decision", "allow"),
			[]string{"Cookie", "session=s1", "Sec-Fetch-Site", same},
		},
	} {
		if r := srv.post("authorize", try.form, try.headers...); r.status < 400 || r.header.Get("Location") != "" ||
			strings.Contains(r.body, "code=") {
			t.Errorf("%s: %d %s", name, r.status, r.header.Get("Location"))
		}
	}
	good := []string{"Cookie", "session=s1", "Sec-Fetch-Site", same}
	if r := srv.post("authorize", form(), good...); r.status != http.StatusSeeOther ||
		r.header.Get("Referrer-Policy") != "no-referrer" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("valid form: %d %v", r.status, r.header)
	}
	srv.clock.Advance(10 * 60e9)
	if r := srv.post("authorize", form(), good...); r.status != http.StatusBadRequest {
		t.Errorf("after ten minutes: %d", r.status)
	}
}

func TestTokenScopesAreThoseRequestedAndKnown(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	for requested, want := range map[string]string{
		"":                            "agents manage",
		"openid":                      "openid agents manage",
		"agents":                      "agents",
		"manage openid":               "openid manage",
		"unknown read:things":         "agents manage",
		"offline_access agents email": "email agents offline_access",
	} {
		got := strings.Fields(srv.connect(c, "scope", requested).Scope)
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q gave %q, want %q", requested, got, want)
		}
	}
}

func TestPromptAndMaxAgeRequireAFreshSignIn(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	srv.clock.Advance(time.Minute) // since the user signed in
	for name, try := range map[string]struct {
		pairs []string
		// signIn is whether the user must sign in, and back the max_age in the URL to return to.
		signIn bool
		back   string
	}{
		"neither":             {nil, false, ""},
		"login":               {[]string{"prompt", "login"}, true, ""},
		"login and consent":   {[]string{"prompt", "login consent"}, true, ""},
		"consent":             {[]string{"prompt", "consent"}, false, ""},
		"max_age of a minute": {[]string{"max_age", "60"}, false, ""},
		"a lower max_age":     {[]string{"max_age", "59"}, true, "59"},
		"max_age=0":           {[]string{"max_age", "0"}, true, ""},
	} {
		r := srv.authorize(c.request(try.pairs...))
		to := r.header.Get("Location")
		if try.signIn != strings.HasPrefix(to, "/sign-in?") || !try.signIn && r.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, r.status, to)
			continue
		}
		if !try.signIn {
			continue
		}
		u, _ := url.Parse(to)
		back, _ := url.Parse(u.Query().Get("return"))
		if q := back.Query(); q.Get("prompt") != "" || q.Get("max_age") != try.back || q.Get("state") != "st" {
			t.Errorf("%s: back to %s", name, back)
		}
	}
	for _, bad := range []string{"-1", "x", "1.5", "99999999999999999999"} {
		u, _ := url.Parse(srv.authorize(c.request("max_age", bad)).header.Get("Location"))
		if u.Query().Get("error") != "invalid_request" {
			t.Errorf("max_age=%s: %s", bad, u)
		}
	}
	// With prompt=none an old sign-in is an error, because the sign-in page can't be shown.
	u, _ := url.Parse(srv.authorize(c.request("max_age", "1", "prompt", "none")).header.Get("Location"))
	if u.Query().Get("error") != "login_required" {
		t.Errorf("prompt=none with an old sign-in: %s", u)
	}
}

func TestRequiredSignInCannotBeSkipped(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	srv.clock.Advance(time.Minute) // since the user signed in
	for name, pairs := range map[string][]string{
		"login": {"prompt", "login"}, "login and consent": {"prompt", "login consent"}, "max_age=0": {"max_age", "0"},
		"signed_in_since from the client": {"prompt", "login", "signed_in_since", "1"},
	} {
		srv.cookie = "s1"
		// back returns the parameters of the URL that the sign-in page returns to; empty without a redirect to it.
		back := func(q url.Values) url.Values {
			to, _ := url.Parse(srv.authorize(q).header.Get("Location"))
			path, _ := url.Parse(to.Query().Get("return"))
			return path.Query()
		}
		first := back(c.request(pairs...))
		srv.clock.Advance(time.Second)
		second := back(first)
		if second.Get("state") != "st" {
			t.Errorf("%s: returning without signing in is accepted", name)
		}
		srv.pages.sessions[name] = oauth.Session{
			ID: "ses_2", UserID: srv.user.ID, Email: srv.user.Email,
			AuthenticatedAt: srv.clock.Now(),
		}
		srv.cookie = name
		for _, q := range []url.Values{first, second} {
			if r := srv.authorize(q); r.status != http.StatusOK {
				t.Errorf("%s: after the sign-in %d, to %s", name, r.status, r.header.Get("Location"))
			}
		}
	}
	srv.cookie = "s1"
	for _, ignored := range []string{"x", "", "-1", "99999999999999"} {
		if r := srv.authorize(c.request("signed_in_since", ignored)); r.status != http.StatusOK {
			t.Errorf("signed_in_since=%s of a client: %d", ignored, r.status)
		}
	}
}
