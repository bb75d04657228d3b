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

func TestPoint06AnAccessTokenLivesForAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	got := w.connect(c)
	if got.Expires != 3600 || got.Type != "Bearer" {
		t.Errorf("%+v", got)
	}
	w.clock.Advance(time.Hour - time.Millisecond)
	if !w.works(got.Access) {
		t.Error("too short")
	}
	w.clock.Advance(time.Millisecond)
	if w.works(got.Access) {
		t.Error("too long")
	}
}

func TestPoint06RefreshTokensAreForOfflineAccessAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	if got := w.connect(c, "scope", "openid agents"); got.Refresh != "" {
		t.Error("a refresh token without offline_access")
	}
	if got := w.connect(c); got.Refresh == "" {
		t.Error("no refresh token with offline_access")
	}
}

func TestPoint06ARefreshRotatesAndReuseRevokesTheFamily(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, method := range []string{"none", "client_secret_post"} {
		c := w.register(method)
		first := w.connect(c)
		w.clock.Advance(time.Minute)
		second := w.tokensIn(w.refresh(c, first.Refresh))
		if second.Refresh == first.Refresh || second.Access == first.Access || second.Refresh == "" || !w.works(second.Access) {
			t.Fatalf("%s: not rotated", method)
		}
		w.clock.Advance(time.Minute)
		third := w.tokensIn(w.refresh(c, second.Refresh))
		w.clock.Advance(11 * time.Second)
		w.wantError(w.refresh(c, first.Refresh), http.StatusBadRequest, "invalid_grant")
		for _, token := range []string{first.Access, second.Access, third.Access} {
			if w.works(token) {
				t.Errorf("%s: a token of the family still works", method)
			}
		}
		w.wantError(w.refresh(c, third.Refresh), http.StatusBadRequest, "invalid_grant")
	}
}

func TestPoint06ALateRefreshGetsTheSamePairForTenSeconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	first := w.connect(c)
	pair := w.tokensIn(w.refresh(c, first.Refresh))
	w.clock.Advance(10 * time.Second)
	again := w.tokensIn(w.refresh(c, first.Refresh))
	if again.Access != pair.Access || again.Refresh != pair.Refresh || again.Expires != 3590 {
		t.Errorf("got %+v, want %+v", again, pair)
	}
	w.clock.Advance(time.Millisecond)
	w.wantError(w.refresh(c, first.Refresh), http.StatusBadRequest, "invalid_grant")
	if w.works(pair.Access) {
		t.Error("the family was not revoked")
	}
}

func TestPoint06ManyParallelRefreshesLeaveOneWorkingPair(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *world{"sqlite": newWorld, "postgres": newPostgresWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			c := w.register("none")
			last := w.connect(c)
			for range 10 {
				var mu sync.Mutex
				pairs := map[[2]string]int{}
				testkit.Concurrently(24, func(int) {
					r := w.refresh(c, last.Refresh)
					if r.status != http.StatusOK {
						w.Errorf("%d %s", r.status, r.body)
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
				if !w.works(last.Access) {
					t.Fatal("the pair does not work")
				}
				w.clock.Advance(time.Minute)
			}
		})
	}
}

func TestPoint06ARefreshNeverWidens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.register("none"), w.register("none")
	got := w.connect(c, "scope", "openid agents offline_access", "resource", w.issuer)
	w.wantError(w.refresh(c, got.Refresh, "scope", "openid agents manage"), http.StatusBadRequest, "invalid_scope")
	w.wantError(w.refresh(c, got.Refresh, "scope", "account"), http.StatusBadRequest, "invalid_scope")
	w.wantError(w.refresh(c, got.Refresh, "resource", "https://other.example"), http.StatusBadRequest, "invalid_target")
	w.wantError(w.refresh(other, got.Refresh), http.StatusBadRequest, "invalid_grant")
	narrow := w.tokensIn(w.refresh(c, got.Refresh, "scope", "openid"))
	if narrow.Scope != "openid" {
		t.Errorf("narrowed to %q", narrow.Scope)
	}
	actor, err := w.credentials.Authenticate(t.Context(), narrow.Access)
	if err != nil || len(actor.Scopes) != 0 {
		t.Errorf("a token for openid alone may do %v (%v)", actor.Scopes, err)
	}
	whole := w.tokensIn(w.refresh(c, narrow.Refresh))
	if !slices.Equal(strings.Fields(whole.Scope), []string{"openid", "agents", "offline_access"}) {
		t.Errorf("the next one has %q", whole.Scope)
	}
}

func TestPoint06ARefreshTokenEndsIdleAfter30DaysAndAtTheLatestAfter180(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	got := w.connect(c)
	w.clock.Advance(30 * day)
	w.wantError(w.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
	got = w.connect(c)
	for range 6 {
		w.clock.Advance(30*day - time.Second)
		got = w.tokensIn(w.refresh(c, got.Refresh))
	}
	w.clock.Advance(7 * time.Second)
	w.wantError(w.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
}
