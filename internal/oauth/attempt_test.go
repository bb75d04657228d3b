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

// attempts returns the failed attempts that the user sees with this role.
func (srv *server) attempts(role core.Role) []oauth.Attempt {
	srv.Helper()
	actor := core.Operator(srv.user.ID)
	actor.Role = role
	list, err := srv.service.Attempts(srv.Context(), actor)
	if err != nil {
		srv.Fatal(err)
	}
	return list
}

// failedAttempt is a request that fails, and a part of the Attempt that it must leave.
type failedAttempt struct {
	fail    func()
	stage   oauth.Stage
	problem string
	client  string
	// unattributed means that the request does not identify an account.
	unattributed bool
	mend         string
}

func (srv *server) failedAttempts() map[string]failedAttempt {
	c, confidential := srv.register("none"), srv.register("client_secret_post")
	return map[string]failedAttempt{
		"an unknown client": {
			func() { srv.authorize(client{id: "cli_x"}.request()) }, oauth.StageAuthorize,
			"unknown_client", "", false, "add it again",
		},
		"another redirect": {
			func() { srv.authorize(c.request("redirect_uri", "https://evil.example")) },
			oauth.StageAuthorize, "redirect_mismatch", c.id, false, "add it again",
		},
		"no PKCE": {
			func() { srv.authorize(c.request("code_challenge", "")) }, oauth.StageAuthorize,
			"invalid_request", c.id, false, "Update it",
		},
		"another resource": {
			func() { srv.authorize(c.request("resource", "https://evil.example")) },
			oauth.StageAuthorize, "invalid_target", c.id, false, "Compare the address",
		},
		"an admin scope": {
			func() { srv.authorize(c.request("scope", "admin")) }, oauth.StageAuthorize,
			"invalid_scope", c.id, false, "ask for less",
		},
		"prompt=none": {
			func() { srv.authorize(c.request("prompt", "none")) }, oauth.StageAuthorize,
			"consent_required", c.id, false, "Update it",
		},
		"a denial": {
			func() { srv.consent(c.request(), "deny") }, oauth.StageAuthorize, "access_denied", c.id,
			false, "if that was a mistake",
		},
		"an old page": {func() {
			handle := srv.handleIn(srv.authorize(c.request()))
			srv.clock.Advance(10 * time.Minute)
			srv.post("authorize", url.Values{"request": {handle}, "decision": {"allow"}}, "Cookie",
				"session="+srv.cookie, "Sec-Fetch-Site", "same-origin")
		}, oauth.StageAuthorize, "page_expired", "", false, "Connect again"},
		"an old code": {func() {
			code := srv.code(c)
			srv.clock.Advance(time.Minute)
			srv.post("token", c.redemption(code))
		}, oauth.StageToken, "invalid_grant", c.id, false, "Connect again"},
		"another verifier": {
			func() { srv.post("token", c.redemption(srv.code(c), "code_verifier", verifier+"x")) },
			oauth.StageToken, "invalid_grant", c.id, false, "Connect again",
		},
		"a used code": {func() {
			code := srv.code(c)
			srv.post("token", c.redemption(code))
			srv.post("token", c.redemption(code))
		}, oauth.StageToken, "token_reused", c.id, false, "one copy"},
		"a used refresh token": {func() {
			first := srv.connect(c)
			srv.refresh(c, first.Refresh)
			srv.clock.Advance(time.Minute)
			srv.refresh(c, first.Refresh)
		}, oauth.StageRefresh, "token_reused", c.id, false, "one copy"},
		"a wider scope": {func() {
			srv.refresh(c, srv.connect(c, "scope", "agents offline_access").Refresh, "scope",
				"manage")
		}, oauth.StageRefresh, "invalid_scope", c.id, false, "ask for less"},
		"a wrong secret": {func() {
			srv.post("token", confidential.redemption(srv.code(confidential), "client_secret", "x"))
		}, oauth.StageToken, "invalid_client", confidential.id, false, "add it again"},
		"junk for a code": {
			func() { srv.post("token", c.redemption("x")) }, oauth.StageToken, "invalid_grant",
			c.id, true, "Connect again",
		},
		"another grant type": {
			func() { srv.post("token", c.redemption("x", "grant_type", "password")) },
			oauth.StageToken, "unsupported_grant_type", c.id, true, "Update it",
		},
		"a bad registration": {func() {
			srv.send(http.MethodPost, "/api/auth/mcp/register", `{"redirect_uris":["http://a.example"]}`)
		}, oauth.StageRegister, "invalid_redirect_uri", "", true, "Update it"},
	}
}

func TestFailedAttemptExplainsTheProblemAndTheFix(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	for name, try := range srv.failedAttempts() {
		srv.clock.Advance(time.Second)
		try.fail()
		for role, sees := range map[core.Role]bool{core.RoleMember: !try.unattributed, core.RoleOwner: true} {
			list := srv.attempts(role)
			got := oauth.Attempt{}
			if len(list) > 0 && list[0].LastAt.Equal(srv.clock.Now()) {
				got = list[0]
			}
			if (got.ID != "") != sees {
				t.Errorf("%s: visible to a %s: %t", name, role, got.ID != "")
				continue
			}
			if sees && (got.Stage != try.stage || got.Problem != try.problem || got.ClientID != try.client ||
				!strings.Contains(got.Mend, try.mend) ||
				got.Asked == "" || got.Wrong == "" || (got.ClientName == "App") != (try.client != "") ||
				got.Program != "Go-http-client/1.1") {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

func TestIdenticalFailedAttemptsAreCountedTogether(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	first := srv.clock.Now()
	for range 5 {
		srv.clock.Advance(time.Minute)
		srv.authorize(c.request("code_challenge", ""))
	}
	list := srv.attempts(core.RoleMember)
	if len(list) != 1 || list[0].Count != 5 || !list[0].FirstAt.Equal(first.Add(time.Minute)) ||
		!list[0].LastAt.Equal(srv.clock.Now()) {
		t.Errorf("%+v", list)
	}
	srv.clock.Advance(31 * day)
	if err := srv.service.Prune(t.Context()); err != nil || len(srv.attempts(core.RoleMember)) != 0 {
		t.Errorf("attempts are not pruned (%v)", err)
	}
}

func TestFailedAttemptsAreVisibleToTheirAccountOnly(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.authorize(client{id: "cli_x"}.request())
	actor := core.Operator(srv.user.ID)
	actor.Credential, actor.Scopes = core.CredentialOAuth, []core.Scope{core.ScopeAgents, core.ScopeManage}
	if _, err := srv.service.Attempts(t.Context(), actor); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a client can list attempts: %v", err)
	}
	other := core.Operator("usr_other")
	other.Role = core.RoleMember
	if list, err := srv.service.Attempts(t.Context(), other); err != nil || len(list) != 0 {
		t.Errorf("another account sees %v (%v)", list, err)
	}
}
