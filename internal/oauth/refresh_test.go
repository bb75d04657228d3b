package oauth_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
)

func TestAccessTokenExpiresAfterOneHour(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	got := srv.connect(c)
	if got.Expires != 3600 || got.Type != "Bearer" {
		t.Errorf("%+v", got)
	}
	srv.clock.Advance(time.Hour - time.Millisecond)
	if !srv.accepts(got.Access) {
		t.Error("the token expired too early")
	}
	srv.clock.Advance(time.Millisecond)
	if srv.accepts(got.Access) {
		t.Error("the token works after an hour")
	}
}

func TestRefreshTokenRequiresOfflineAccess(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	if got := srv.connect(c, "scope", "openid agents"); got.Refresh != "" {
		t.Error("a refresh token without offline_access")
	}
	if got := srv.connect(c); got.Refresh == "" {
		t.Error("no refresh token with offline_access")
	}
}

func TestRefreshTokenRotatesAndReuseRevokesTheGrant(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	for _, method := range []string{"none", "client_secret_post"} {
		c := srv.register(method)
		first := srv.connect(c)
		srv.clock.Advance(time.Minute)
		second := srv.tokensIn(srv.refresh(c, first.Refresh))
		if second.Refresh == first.Refresh || second.Access == first.Access || second.Refresh == "" ||
			!srv.accepts(second.Access) {
			t.Fatalf("%s: not rotated", method)
		}
		srv.clock.Advance(time.Minute)
		third := srv.tokensIn(srv.refresh(c, second.Refresh))
		srv.clock.Advance(11 * time.Second)
		srv.wantError(srv.refresh(c, first.Refresh), http.StatusBadRequest, "invalid_grant")
		for _, token := range []string{first.Access, second.Access, third.Access} {
			if srv.accepts(token) {
				t.Errorf("%s: a token of the grant still works", method)
			}
		}
		srv.wantError(srv.refresh(c, third.Refresh), http.StatusBadRequest, "invalid_grant")
	}
}

func TestRefreshRetryWithinTenSecondsReturnsTheSameTokens(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	first := srv.connect(c)
	pair := srv.tokensIn(srv.refresh(c, first.Refresh))
	srv.clock.Advance(10 * time.Second)
	again := srv.tokensIn(srv.refresh(c, first.Refresh))
	if again.Access != pair.Access || again.Refresh != pair.Refresh || again.Expires != 3590 {
		t.Errorf("got %+v, want %+v", again, pair)
	}
	srv.clock.Advance(time.Millisecond)
	srv.wantError(srv.refresh(c, first.Refresh), http.StatusBadRequest, "invalid_grant")
	if srv.accepts(pair.Access) {
		t.Error("the grant was not revoked")
	}
}

func TestConcurrentRefreshesReturnTheSameTokens(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *server{"sqlite": newServer, "postgres": newPostgresServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := open(t)
			c := srv.register("none")
			last := srv.connect(c)
			for range 10 {
				var mu sync.Mutex
				pairs := map[[2]string]int{}
				testkit.Concurrently(24, func(int) {
					r := srv.refresh(c, last.Refresh)
					if r.status != http.StatusOK {
						srv.Errorf("%d %s", r.status, r.body)
						return
					}
					got := r.json(t)
					mu.Lock()
					pairs[[2]string{got["access_token"].(string), got["refresh_token"].(string)}]++
					mu.Unlock()
				})
				if len(pairs) != 1 {
					t.Fatalf("%d pairs", len(pairs))
				}
				for pair := range pairs {
					last.Access, last.Refresh = pair[0], pair[1]
				}
				if !srv.accepts(last.Access) {
					t.Fatal("the pair does not work")
				}
				srv.clock.Advance(time.Minute)
			}
		})
	}
}

func TestRefreshNeverWidensScopeOrAudience(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c, other := srv.register("none"), srv.register("none")
	got := srv.connect(c, "scope", "openid agents offline_access", "resource", srv.issuer)
	srv.wantError(srv.refresh(c, got.Refresh, "scope", "openid agents manage"), http.StatusBadRequest, "invalid_scope")
	srv.wantError(srv.refresh(c, got.Refresh, "scope", "account"), http.StatusBadRequest, "invalid_scope")
	srv.wantError(srv.refresh(c, got.Refresh, "resource", "https://other.example"), http.StatusBadRequest,
		"invalid_target")
	srv.wantError(srv.refresh(other, got.Refresh), http.StatusBadRequest, "invalid_grant")
	narrow := srv.tokensIn(srv.refresh(c, got.Refresh, "scope", "openid"))
	if narrow.Scope != "openid" {
		t.Errorf("narrowed to %q", narrow.Scope)
	}
	actor, err := srv.credentials.Authenticate(t.Context(), narrow.Access)
	if err != nil || len(actor.Scopes) != 0 {
		t.Errorf("a token with only openid has the API scopes %v (%v)", actor.Scopes, err)
	}
	whole := srv.tokensIn(srv.refresh(c, narrow.Refresh))
	if !slices.Equal(strings.Fields(whole.Scope), []string{"openid", "agents", "offline_access"}) {
		t.Errorf("after the next refresh the scope is %q", whole.Scope)
	}
}

func TestRefreshTokenExpiresAfter30IdleDaysAnd180DaysInAnyCase(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	got := srv.connect(c)
	srv.clock.Advance(30 * day)
	srv.wantError(srv.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
	got = srv.connect(c)
	for range 6 {
		srv.clock.Advance(30*day - time.Second)
		got = srv.tokensIn(srv.refresh(c, got.Refresh))
	}
	srv.clock.Advance(7 * time.Second)
	srv.wantError(srv.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
}
