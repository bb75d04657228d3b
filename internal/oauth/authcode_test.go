package oauth_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/testkit"
)

func TestAuthorizationCodeIsBoundToClientRedirectAndVerifier(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c, other := srv.register("none"), srv.register("none")
	code := srv.code(c, "resource", srv.issuer)
	for name, try := range map[string]struct {
		pairs []string
		code  string
	}{
		"another client":      {[]string{"client_id", other.id}, "invalid_grant"},
		"another redirect":    {[]string{"redirect_uri", redirectURI + "/"}, "invalid_grant"},
		"no redirect":         {[]string{"redirect_uri", ""}, "invalid_grant"},
		"another verifier":    {[]string{"code_verifier", verifier + "x"}, "invalid_grant"},
		"the challenge":       {[]string{"code_verifier", challengeOf(verifier)}, "invalid_grant"},
		"a short verifier":    {[]string{"code_verifier", "x"}, "invalid_grant"},
		"no verifier":         {[]string{"code_verifier", ""}, "invalid_request"},
		"no code":             {[]string{"code", ""}, "invalid_request"},
		"an unknown code":     {[]string{"code", "crlz_" + strings.Repeat("0", 38)}, "invalid_grant"},
		"junk":                {[]string{"code", "x"}, "invalid_grant"},
		"an unknown resource": {[]string{"resource", "https://other.example"}, "invalid_target"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := *srv
			srv.TB = t
			srv.wantError(srv.post("token", c.redemption(code, try.pairs...)), http.StatusBadRequest, try.code)
		})
	}
	if got := srv.tokensIn(srv.post("token", c.redemption(code))); !srv.accepts(got.Access) {
		t.Error("the token does not work")
	}
}

func TestAuthorizationCodeExpiresAfterOneMinute(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	code := srv.code(c)
	srv.clock.Advance(60 * time.Second)
	srv.wantError(srv.post("token", c.redemption(code)), http.StatusBadRequest, "invalid_grant")
	code = srv.code(c)
	srv.clock.Advance(60*time.Second - time.Millisecond)
	srv.tokensIn(srv.post("token", c.redemption(code)))
}

func TestAuthorizationCodeReplayRevokesTheGrant(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	code := srv.code(c)
	got := srv.tokensIn(srv.post("token", c.redemption(code)))
	if !srv.accepts(got.Access) {
		t.Fatal("the token does not work")
	}
	srv.wantError(srv.post("token", c.redemption(code)), http.StatusBadRequest, "invalid_grant")
	if srv.accepts(got.Access) {
		t.Error("the access token still works")
	}
	srv.wantError(srv.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
}

func TestAuthorizationCodeIsRedeemedOnceUnderConcurrency(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *server{"sqlite": newServer, "postgres": newPostgresServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := open(t)
			c := srv.register("none")
			for range 10 {
				code := srv.code(c)
				var won, lost atomic.Int32
				testkit.Concurrently(24, func(int) {
					switch r := srv.post("token", c.redemption(code)); r.status {
					case http.StatusOK:
						won.Add(1)
					case http.StatusBadRequest:
						lost.Add(1)
					}
				})
				if won.Load() != 1 || lost.Load() != 23 {
					t.Fatalf("%d won and %d lost", won.Load(), lost.Load())
				}
			}
		})
	}
}
