package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"carrel/internal/core"
	"carrel/internal/server"
)

// newLimitedServer returns a server with rate limits. Its API accepts credentials that start with "good" and are not in
// revoked.
func newLimitedServer(t *testing.T, revoked map[string]bool) harness {
	t.Helper()
	opts := server.Options{
		SignInPaths:   []string{"/sign-in"},
		SessionCookie: "session",
		Routes: func(mux *http.ServeMux) {
			mux.HandleFunc("/public", ok)
			mux.HandleFunc("/sign-in", ok)
			mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
				_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
				token = strings.TrimSpace(token)
				if c, err := r.Cookie("session"); err == nil && token == "" {
					token = c.Value
				}
				if !strings.HasPrefix(token, "good") || revoked[token] {
					problem(w, r, core.Unauthenticated("invalid_credential", "No."))
					return
				}
				// The user is the part after the last dash; the Test-Rate header sets the rate of the plan.
				who := core.Actor{UserID: token[strings.LastIndex(token, "-")+1:]}
				_, _ = fmt.Sscanf(r.Header.Get("Test-Rate"), "%d/%d", &who.Rate.PerSecond, &who.Rate.Burst)
				if err := server.Admit(r.Context(), who); err != nil {
					problem(w, r, err)
					return
				}
				ok(w, r)
			})
		},
	}
	return newServer(t, opts, "CARREL_RATE_LIMITS", "on", "CARREL_LOG_LEVEL", "error", "CARREL_TRUSTED_PROXIES",
		"10.0.0.0/8")
}

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

// spend sends n requests and returns the number of accepted ones.
func spend(n int, send func(i int) *httptest.ResponseRecorder) int {
	passed := 0
	for i := range n {
		if send(i).Code != http.StatusTooManyRequests {
			passed++
		}
	}
	return passed
}

func TestBurstThenRateIsAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimitedServer(t, nil)
		send := func(int) *httptest.ResponseRecorder { return h.do("GET", "/public") }
		if got := spend(300, send); got != 200 {
			t.Errorf("%d of a burst passed", got)
		}
		time.Sleep(time.Second)
		if got := spend(100, send); got != 50 {
			t.Errorf("%d passed after a second", got)
		}
		if other := h.do("GET", "/public", from("198.51.100.1:1")); other.Code != 200 {
			t.Errorf("another address: %d", other.Code)
		}
		time.Sleep(time.Hour)
		if got := spend(300, send); got != 200 {
			t.Errorf("%d passed after an hour", got)
		}
	})
}

func TestRefusalHasRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimitedServer(t, nil)
		first := h.do("POST", "/api/connect/exchange")
		if got := first.Header().Get("RateLimit"); got != `"sign-in";r=39;t=3` {
			t.Errorf("RateLimit %q", got)
		}
		if got := first.Header().Get("RateLimit-Policy"); got != `"sign-in";q=40;w=120` {
			t.Errorf("RateLimit-Policy %q", got)
		}
		spend(39, func(int) *httptest.ResponseRecorder { return h.do("POST", "/api/connect/exchange") })
		rec := h.do("POST", "/api/connect/exchange")
		wantProblem(t, rec, 429, "rate_limited")
		if got := rec.Header().Get("RateLimit"); got != `"sign-in";r=0;t=120` {
			t.Errorf("RateLimit %q", got)
		}
		wait, err := strconv.Atoi(rec.Header().Get("Retry-After"))
		if err != nil || wait != 3 {
			t.Errorf("Retry-After %q", rec.Header().Get("Retry-After"))
		}
		time.Sleep(time.Duration(wait) * time.Second)
		if rec := h.do("POST", "/api/connect/exchange"); rec.Code == 429 {
			t.Error("refused after Retry-After")
		}
		if rec := h.do("GET", "/public"); rec.Code != 200 || rec.Header().Get("RateLimit") != `"address";r=199;t=1` {
			t.Errorf("other paths: %d %q", rec.Code, rec.Header().Get("RateLimit"))
		}
	})
}

func TestSignInPathsHaveAStrictLimit(t *testing.T) {
	for _, path := range []string{"/api/connect/exchange", "/api/auth/mcp/register", "/api/auth/mcp/token", "/sign-in"} {
		synctest.Test(t, func(t *testing.T) {
			h := newLimitedServer(t, nil)
			got := spend(100, func(i int) *httptest.ResponseRecorder {
				return h.do("POST", path, bearer(fmt.Sprint("good",
					i)))
			})
			if got != 40 {
				t.Errorf("%s: %d passed", path, got)
			}
		})
	}
}

func TestValidCredentialHasItsOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimitedServer(t, nil)
		use := func(token string) func(int) *httptest.ResponseRecorder {
			return func(int) *httptest.ResponseRecorder { return h.do("GET", "/api/x", bearer(token)) }
		}
		// The first request counts against the address and validates the credential.
		if got := spend(300, use("good-a")); got != 200 {
			t.Errorf("%d of one credential passed", got)
		}
		if got := spend(300, use("good-b")); got != 200 {
			t.Errorf("%d of another credential passed", got)
		}
		// The limit is bound to the credential, not to the address.
		if rec := h.do("GET", "/api/x", bearer("good-a"), from("198.51.100.1:1")); rec.Code != 429 {
			t.Errorf("from another address: %d", rec.Code)
		}
		if rec := h.do("GET", "/api/x", bearer("good-a")); !strings.HasPrefix(rec.Header().Get("RateLimit"),
			`"credential";r=0;`) {
			t.Errorf("RateLimit %q", rec.Header().Get("RateLimit"))
		}
	})
}

func TestCredentialsOfAUserShareTheUsersLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimitedServer(t, nil)
		use := func(user string) func(i int) *httptest.ResponseRecorder {
			return func(i int) *httptest.ResponseRecorder {
				return h.do("GET", "/api/x", bearer(fmt.Sprintf("good%d-%s", i%5, user)))
			}
		}
		if got := spend(900, use("ada")); got != 400 {
			t.Errorf("%d of a user with five credentials passed", got)
		}
		rec := use("ada")(0)
		wantProblem(t, rec, 429, "rate_limited")
		if got := strings.Join(rec.Header().Values("RateLimit"), ", "); !strings.HasSuffix(got, `, "user";r=0;t=4`) ||
			!strings.HasPrefix(got, `"credential";r=`) {
			t.Errorf("RateLimit %q", got)
		}
		if got := strings.Join(rec.Header().Values("RateLimit-Policy"),
			", "); got != `"credential";q=200;w=4, "user";q=400;w=4` {
			t.Errorf("RateLimit-Policy %q", got)
		}
		if got := rec.Header().Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After %q", got)
		}
		if rec := use("bob")(0); rec.Code != 200 {
			t.Errorf("another user: %d", rec.Code)
		}
		time.Sleep(time.Second)
		if got := spend(300, use("ada")); got != 100 {
			t.Errorf("%d passed after a second", got)
		}
	})
}

func TestPlanSetsTheLimitOfItsUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimitedServer(t, nil)
		use := func(plan string) func(int) *httptest.ResponseRecorder {
			return func(int) *httptest.ResponseRecorder {
				return h.do("GET", "/api/x", bearer("good-ada"), header("Test-Rate", plan))
			}
		}
		if got := spend(30, use("2/10")); got != 10 {
			t.Errorf("%d passed", got)
		}
		// Another plan applies from the next request. Switching plans does not refill the bucket.
		if got := spend(30, use("2/20")); got != 10 {
			t.Errorf("%d passed with a larger plan", got)
		}
		if got := spend(30, use("2/10")); got != 0 {
			t.Errorf("%d passed with the smaller plan again", got)
		}
		time.Sleep(3 * time.Second)
		if got := spend(30, use("2/10")); got != 6 {
			t.Errorf("%d passed after three seconds", got)
		}
	})
}

func TestBrowserSessionCountsAsACredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimitedServer(t, nil)
		use := func(session string) func(int) *httptest.ResponseRecorder {
			return func(int) *httptest.ResponseRecorder {
				return h.do("GET", "/api/x", header("Cookie", "theme=dark; session="+session))
			}
		}
		// Only the first request of each session counts against the shared address.
		for _, user := range []string{"ada", "bob", "cat"} {
			if got := spend(300, use("good-"+user)); got != 200 {
				t.Errorf("%d of the session of %s passed", got, user)
			}
		}
		if rec := use("good-dan")(0); rec.Header().Get("RateLimit") != `"address";r=196;t=1` {
			t.Errorf("left to the address: %q", rec.Header().Get("RateLimit"))
		}
		if got := spend(300, func(i int) *httptest.ResponseRecorder { return use(fmt.Sprint("junk", i))(i) }); got != 196 {
			t.Errorf("%d invented sessions passed", got)
		}
	})
}

func TestSpellingsOfTheHeaderShareABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimitedServer(t, nil)
		spellings := []string{"Bearer good", "bearer good", "BEARER  good", "Bearer \t good ", " Bearer good"}
		got := spend(400, func(i int) *httptest.ResponseRecorder {
			return h.do("GET", "/api/x", header("Authorization", spellings[i%len(spellings)]))
		})
		if got != 200 || h.KnownCredentials() != 1 {
			t.Errorf("%d passed, %d credentials known", got, h.KnownCredentials())
		}
	})
}

func TestInventedCredentialsCountAgainstTheAddress(t *testing.T) {
	for _, path := range []string{"/api/x", "/public", "/nowhere"} {
		synctest.Test(t, func(t *testing.T) {
			h := newLimitedServer(t, nil)
			h.do("GET", "/api/x", bearer("good"))
			got := spend(1000, func(i int) *httptest.ResponseRecorder {
				return h.do("GET", path, bearer(fmt.Sprint("junk",
					i/2)))
			})
			if got != 199 || h.KnownCredentials() != 1 {
				t.Errorf("%s: %d passed, %d credentials known", path, got, h.KnownCredentials())
			}
			if rec := h.do("GET", "/public"); rec.Code != 429 {
				t.Errorf("%s: the address is not charged: %d", path, rec.Code)
			}
			// A validated credential at the same address is not affected.
			if rec := h.do("GET", "/api/x", bearer("good")); rec.Code != 200 {
				t.Errorf("%s: a valid credential at the same address: %d", path, rec.Code)
			}
		})
	}
}

func TestRevokedCredentialCountsAgainstTheAddressToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		revoked := map[string]bool{}
		h := newLimitedServer(t, revoked)
		// Refusals must not refill the bucket.
		got := spend(500, func(i int) *httptest.ResponseRecorder {
			revoked["good"] = i%10 == 9
			return h.do("GET", "/api/x", bearer("good"))
		})
		if got != 200 {
			t.Errorf("%d passed", got)
		}
		// The first request came before validation; 20 of the 200 were refused.
		if rec := h.do("GET", "/public"); rec.Header().Get("RateLimit") != `"address";r=178;t=1` {
			t.Errorf("left to the address: %q", rec.Header().Get("RateLimit"))
		}
	})
}

func TestIPv6NetworksAndForwardedAddressesHaveABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimitedServer(t, nil)
		same := spend(400, func(i int) *httptest.ResponseRecorder {
			return h.do("GET", "/public", from(fmt.Sprintf("[2001:db8:0:1::%x]:1", i)))
		})
		if same != 200 {
			t.Errorf("%d of one /64 passed", same)
		}
		if rec := h.do("GET", "/public", from("[2001:db8:0:2::1]:1")); rec.Code != 200 {
			t.Errorf("the next /64: %d", rec.Code)
		}
		behind := spend(400, func(i int) *httptest.ResponseRecorder {
			return h.do("GET", "/public", from("10.0.0.1:1"), header("X-Forwarded-For", fmt.Sprintf("6.6.6.%d, 203.0.113.9",
				i%250)))
		})
		if behind != 200 {
			t.Errorf("%d of one client behind a proxy passed", behind)
		}
	})
}

func TestProbesAndServersWithoutLimitsAreNotLimited(t *testing.T) {
	t.Parallel()
	h := newLimitedServer(t, nil)
	if got := spend(500, func(int) *httptest.ResponseRecorder { return h.do("GET", "/healthz") }); got != 500 {
		t.Errorf("%d probes passed", got)
	}
	off := newServer(t, routes(map[string]http.HandlerFunc{"/x": ok}), "CARREL_LOG_LEVEL", "error")
	if got := spend(500, func(int) *httptest.ResponseRecorder { return off.do("GET", "/x") }); got != 500 {
		t.Errorf("%d passed without limits", got)
	}
	if got := off.do("GET", "/x").Header(); got.Get("RateLimit") != "" {
		t.Errorf("headers without limits: %v", got)
	}
}
