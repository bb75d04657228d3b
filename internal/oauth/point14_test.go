package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/oauth"
)

// attempts are those that the user sees.
func (w *world) attempts(role core.Role) []oauth.Attempt {
	w.Helper()
	actor := core.Operator(w.user.ID)
	actor.Role = role
	list, err := w.service.Attempts(w.Context(), actor)
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func TestPoint14EachFailedAttemptLeavesWhatToDoAboutIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, confidential := w.register("none"), w.register("client_secret_post")
	for name, try := range map[string]struct {
		fail    func()
		stage   oauth.Stage
		problem string
		client  string
		// nobodys says that it can't be known whose attempt it is.
		nobodys bool
		mend    string
	}{
		"an unknown client":  {func() { w.authorize(client{id: "cli_x"}.request()) }, oauth.StageAuthorize, "unknown_client", "", false, "add it again"},
		"another redirect":   {func() { w.authorize(c.request("redirect_uri", "https://evil.example")) }, oauth.StageAuthorize, "redirect_mismatch", c.id, false, "add it again"},
		"no PKCE":            {func() { w.authorize(c.request("code_challenge", "")) }, oauth.StageAuthorize, "invalid_request", c.id, false, "update it"},
		"another resource":   {func() { w.authorize(c.request("resource", "https://evil.example")) }, oauth.StageAuthorize, "invalid_target", c.id, false, "Compare the address"},
		"too much":           {func() { w.authorize(c.request("scope", "admin")) }, oauth.StageAuthorize, "invalid_scope", c.id, false, "ask for less"},
		"nothing to be seen": {func() { w.authorize(c.request("prompt", "none")) }, oauth.StageAuthorize, "consent_required", c.id, false, "update it"},
		"a no":               {func() { w.consent(c.request(), "deny") }, oauth.StageAuthorize, "access_denied", c.id, false, "if that was a mistake"},
		"an old page": {func() {
			handle := w.handleIn(w.authorize(c.request()))
			w.clock.Advance(10 * time.Minute)
			w.post("authorize", url.Values{"request": {handle}, "decision": {"allow"}}, "Cookie", "session="+w.cookie, "Sec-Fetch-Site", "same-origin")
		}, oauth.StageAuthorize, "page_expired", "", false, "Connect again"},
		"an old code": {func() {
			code := w.code(c)
			w.clock.Advance(time.Minute)
			w.post("token", c.redemption(code))
		}, oauth.StageToken, "invalid_grant", c.id, false, "Connect again"},
		"another verifier": {func() { w.post("token", c.redemption(w.code(c), "code_verifier", verifier+"x")) }, oauth.StageToken, "invalid_grant", c.id, false, "Connect again"},
		"a used code": {func() {
			code := w.code(c)
			w.post("token", c.redemption(code))
			w.post("token", c.redemption(code))
		}, oauth.StageToken, "token_reused", c.id, false, "one copy"},
		"a used refresh token": {func() {
			first := w.connect(c)
			w.refresh(c, first.Refresh)
			w.clock.Advance(time.Minute)
			w.refresh(c, first.Refresh)
		}, oauth.StageRefresh, "token_reused", c.id, false, "one copy"},
		"a wider scope": {func() { w.refresh(c, w.connect(c, "scope", "agents offline_access").Refresh, "scope", "manage") }, oauth.StageRefresh, "invalid_scope", c.id, false, "ask for less"},
		"a wrong secret": {func() {
			w.post("token", confidential.redemption(w.code(confidential), "client_secret", "x"))
		}, oauth.StageToken, "invalid_client", confidential.id, false, "add it again"},
		"junk for a code":    {func() { w.post("token", c.redemption("x")) }, oauth.StageToken, "invalid_grant", c.id, true, "Connect again"},
		"another grant type": {func() { w.post("token", c.redemption("x", "grant_type", "password")) }, oauth.StageToken, "unsupported_grant_type", c.id, true, "update it"},
		"a bad registration": {func() {
			w.send(http.MethodPost, "/api/auth/mcp/register", `{"redirect_uris":["http://a.example"]}`)
		}, oauth.StageRegister, "invalid_redirect_uri", "", true, "update it"},
	} {
		w.clock.Advance(time.Second)
		try.fail()
		for role, sees := range map[core.Role]bool{core.RoleMember: !try.nobodys, core.RoleOwner: true} {
			list := w.attempts(role)
			got := oauth.Attempt{}
			if len(list) > 0 && list[0].LastAt.Equal(w.clock.Now()) {
				got = list[0]
			}
			if (got.ID != "") != sees {
				t.Errorf("%s: a %s sees it: %t", name, role, got.ID != "")
				continue
			}
			if sees && (got.Stage != try.stage || got.Problem != try.problem || got.ClientID != try.client || !strings.Contains(got.Mend, try.mend) ||
				got.Asked == "" || got.Wrong == "" || (got.ClientName == "App") != (try.client != "") || got.Program != "Go-http-client/1.1") {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

func TestPoint14AttemptsThatFailAlikeAreOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	first := w.clock.Now()
	for range 5 {
		w.clock.Advance(time.Minute)
		w.authorize(c.request("code_challenge", ""))
	}
	list := w.attempts(core.RoleMember)
	if len(list) != 1 || list[0].Count != 5 || !list[0].FirstAt.Equal(first.Add(time.Minute)) || !list[0].LastAt.Equal(w.clock.Now()) {
		t.Errorf("%+v", list)
	}
	w.clock.Advance(31 * day)
	if err := w.service.Prune(t.Context()); err != nil || len(w.attempts(core.RoleMember)) != 0 {
		t.Errorf("they stay for ever (%v)", err)
	}
}

func TestPoint14AttemptsAreForTheAccountsOwnerAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.authorize(client{id: "cli_x"}.request())
	actor := core.Operator(w.user.ID)
	actor.Credential, actor.Scopes = core.CredentialOAuth, []core.Scope{core.ScopeAgents, core.ScopeManage}
	if _, err := w.service.Attempts(t.Context(), actor); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a client sees them: %v", err)
	}
	other := core.Operator("usr_other")
	other.Role = core.RoleMember
	if list, err := w.service.Attempts(t.Context(), other); err != nil || len(list) != 0 {
		t.Errorf("somebody else sees %v (%v)", list, err)
	}
}
