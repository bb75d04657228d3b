package e2e

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

// userTokens returns how many requests the user has left according to the headers of a reply.
func userTokens(t *testing.T, header http.Header) int {
	t.Helper()
	for _, line := range header.Values("RateLimit") {
		if m := regexp.MustCompile(`"user";r=(\d+)`).FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no limit of the user: %v", header)
	return 0
}

func TestRateLimitHoldsForAllServers(t *testing.T) {
	t.Parallel()
	opts := testkit.ServerOptions{Database: testkit.Postgres(t)}
	w := newLimitedLibrary(t, opts)
	other := testkit.StartServer(t, opts)
	const burst = 150
	w.admin(t, "plan", "put", "slow", "--capabilities", "all", "--rate-limit", "1", "--rate-burst", strconv.Itoa(burst))
	w.admin(t, "plan", "set", "--user", "ada@example.org", "--plan", "slow")
	list := call{method: "GET", path: "/api/agents", key: w.key}
	for refused := false; !refused; {
		status, r := w.try(t, list)
		refused = status == http.StatusTooManyRequests && userTokens(t, r.header) == 0
	}
	// By itself, the other server would admit 150 requests and one more for each second.
	list.base = other.URL
	granted := 0
	for {
		status, r := w.try(t, list)
		if status == http.StatusTooManyRequests {
			if wait, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || wait < 1 {
				t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
			}
			break
		}
		if granted++; granted >= burst {
			t.Fatalf("the other server admits %d requests, and %d are left", granted, userTokens(t, r.header))
		}
		time.Sleep(500 * time.Millisecond)
	}
	w.problem(t, call{method: "GET", path: "/api/agents"}, http.StatusUnauthorized, "missing_credential")
}

func TestSignInLimitHoldsForAllServers(t *testing.T) {
	t.Parallel()
	opts := testkit.ServerOptions{Database: testkit.Postgres(t)}
	w := newLimitedLibrary(t, opts)
	other := testkit.StartServer(t, opts)
	started := time.Now()
	people := []person{newPerson(t, w.server.URL), newPerson(t, other.URL)}
	allowed := 0
	for ; allowed < 100; allowed++ {
		body, _ := people[allowed%2].send("/sign-in", "email", "ada@example.org", "password", "a wrong password")
		if strings.Contains(body, "Too many attempts") {
			break
		}
	}
	// 10 attempts, and one more for each minute.
	if most := 10 + int(time.Since(started)/time.Minute); allowed < 10 || allowed > most {
		t.Errorf("two servers allow %d attempts, want 10 to %d", allowed, most)
	}
}

func TestSpendCapHoldsForAllServers(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t, modelfake.OpenAI)
	m.at["evidence"] = func(r modelfake.Request) modelfake.Reply {
		reply := sensible("evidence", r)
		reply.In, reply.Out = 1000, 2000 // 0.20 USD at 100 USD per million tokens
		return reply
	}
	opts := testkit.ServerOptions{
		Database: testkit.Postgres(t),
		Env:      append(m.env("CARREL_MODEL_PRICE_IN=1", "CARREL_MODEL_PRICE_OUT=100"), "CARREL_RATE_LIMITS=off"),
	}
	w := newLimitedLibrary(t, opts)
	w.add(t, "Works", englishWorks, "--default", "--language", "en")
	other := testkit.StartServer(t, opts)
	w.admin(t, "spend", "set", "--user", "ada@example.org", "--cap", "0.30")
	for _, base := range []string{w.server.URL, other.URL, w.server.URL} {
		w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
		status, r := w.try(t, call{
			method: "POST", path: w.inThread("/messages"), base: base, key: w.key, body: `{"text": "` + aboutLoom + `"}`,
		})
		if status != http.StatusPaymentRequired && r.at("partial") != true {
			t.Errorf("status %d: %v", status, r.body)
		}
	}
	if got := strings.Count(strings.Join(m.paidFor(), " "), "evidence"); got != 1 {
		t.Errorf("%d calls of 0.20 USD were paid with a cap of 0.30 USD", got)
	}
}
