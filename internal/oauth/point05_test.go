package oauth_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/testkit"
)

func TestPoint05ACodeIsBoundToAllThatItWasMadeFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.register("none"), w.register("none")
	code := w.code(c, "resource", w.issuer)
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
			w := *w
			w.TB = t
			w.wantError(w.post("token", c.redemption(code, try.pairs...)), http.StatusBadRequest, try.code)
		})
	}
	if got := w.tokensIn(w.post("token", c.redemption(code))); !w.works(got.Access) {
		t.Error("the token does not work")
	}
}

func TestPoint05ACodeLivesForAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	code := w.code(c)
	w.clock.Advance(60 * time.Second)
	w.wantError(w.post("token", c.redemption(code)), http.StatusBadRequest, "invalid_grant")
	code = w.code(c)
	w.clock.Advance(60*time.Second - time.Millisecond)
	w.tokensIn(w.post("token", c.redemption(code)))
}

func TestPoint05AReplayRevokesTheGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	code := w.code(c)
	got := w.tokensIn(w.post("token", c.redemption(code)))
	if !w.works(got.Access) {
		t.Fatal("the token does not work")
	}
	w.wantError(w.post("token", c.redemption(code)), http.StatusBadRequest, "invalid_grant")
	if w.works(got.Access) {
		t.Error("the access token still works")
	}
	w.wantError(w.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
}

func TestPoint05OfManyParallelRedemptionsOneWins(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *world{"sqlite": newWorld, "postgres": newPostgresWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			c := w.register("none")
			for range 10 {
				code := w.code(c)
				var won, lost atomic.Int32
				testkit.Concurrently(24, func(int) {
					switch r := w.post("token", c.redemption(code)); r.status {
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
