package httpapi_test

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

// creation is a POST that honours an Idempotency-Key.
type creation struct {
	name, path, body string
	// count returns the number of objects.
	count func(p *testUser) int
}

// creations returns all of them, using a thread of the user.
func (p *testUser) creations(thread string) []creation {
	all := func(path, list string) func(*testUser) int {
		return func(p *testUser) int { return len(p.get(path+"?limit=200").ok(p.t).list(list, "createdAt")) }
	}
	messages := p.at("/threads/" + thread + "/messages")
	return []creation{
		{"an agent", "/api/agents", `{"name":"Once"}`, all("/api/agents", "agents")},
		{"a memory", p.at("/memories"), `{"text":"once"}`, all(p.at("/memories"), "memories")},
		{"a favourite", p.at("/favourites"), `{"card":{"title":"Once"}}`, all(p.at("/favourites"), "favourites")},
		{"a collection", "/api/collections", `{"name":"Once"}`, all("/api/collections", "collections")},
		{"a thread", p.at("/threads"), `{"title":"Once"}`, all(p.at("/threads"), "threads")},
		{"a thread without a body", p.at("/threads"), ``, all(p.at("/threads"), "threads")},
		{"a message", messages, `{"text":"once"}`, all(messages, "messages")},
	}
}

// each is the number of rows that a creation adds: a message adds itself and its reply.
func (c creation) each() int {
	if c.name == "a message" {
		return 2
	}
	return 1
}

func TestRequestWithAnIdempotencyKeyRunsOnce(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"RetryReplaysTheReply", replayed},
		{"AnotherRequestIsAMismatch", mismatched},
		{"FirstRequestInProgress", inProgress},
		{"FailedRequestReleasesItsKey", released},
		{"KeysArePerUser", perUser},
		{"ConcurrentRequestsCreateOne", atOnce},
		{"OnlyCreationsUseKeys", ignoredKeys},
	})
}

func replayed(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for _, c := range p.creations(p.newThread("T")) {
		key := "replay " + c.name
		before := c.count(p)
		first := p.post(c.path, c.body, "Idempotency-Key", key).ok(t)
		w.clock.Advance(time.Millisecond) // a second creation would show another time
		for range 2 {
			again := p.post(c.path, c.body, "Idempotency-Key", key)
			if again.status != first.status || !bytes.Equal(again.body, first.body) {
				t.Errorf("%s: the first was %d %s, the next %d %s", c.name, first.status, first.body, again.status, again.body)
			}
			if again.header.Get("Idempotent-Replayed") != "true" || first.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("%s: a replay has no header Idempotent-Replayed", c.name)
			}
			for _, h := range []string{"Content-Type", "Cache-Control"} {
				if again.header.Get(h) != first.header.Get(h) {
					t.Errorf("%s: %s is %q, then %q", c.name, h, first.header.Get(h), again.header.Get(h))
				}
			}
		}
		if n := c.count(p) - before; n != c.each() {
			t.Errorf("%s: %d were made", c.name, n)
		}
	}
}

func mismatched(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	second := p.newAgent("Second")
	p.post(p.at("/memories"), `{"text":"one"}`, "Idempotency-Key", "k").ok(t)
	for name, request := range map[string][2]string{
		"another body":         {p.at("/memories"), `{"text":"two"}`},
		"other white space":    {p.at("/memories"), `{"text": "one"}`},
		"another agent's path": {"/api/agents/" + second + "/memories", `{"text":"one"}`},
		"another list's path":  {p.at("/threads"), `{"text":"one"}`},
	} {
		a := p.post(request[0], request[1], "Idempotency-Key", "k")
		if a.status != 422 || a.str("code") != "idempotency_mismatch" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
			continue
		}
		a.checkProblem(t)
	}
	// Access and validation are checked before the key.
	unknown := "/api/agents/agt_" + strings.Repeat("0", 26) + "/memories"
	p.post(unknown, `{"text":"one"}`, "Idempotency-Key", "k").refused(t, 404, "not_found")
	p.post(p.at("/memories"), `{"text":5}`, "Idempotency-Key", "k").refused(t, 400, "invalid_request")
	if n := len(p.get(p.at("/memories")).ok(t).list("memories", "id")); n != 1 {
		t.Errorf("there are %d memories", n)
	}
}

func inProgress(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	w.claims.hook(&w.claims.beforeFinish, "slow "+p.id, func() error {
		close(arrived)
		<-goOn
		return nil
	})
	first := make(chan answer)
	go func() {
		a, err := p.try("POST", p.at("/threads"), strings.NewReader(`{}`), "Idempotency-Key", "slow "+p.id)
		if err != nil {
			t.Error(err)
		}
		first <- a
	}()
	<-arrived
	a := p.post(p.at("/threads"), `{}`, "Idempotency-Key", "slow "+p.id).refused(t, 409, "idempotency_in_progress")
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
	p.post(p.at("/threads"), `{"title":"x"}`, "Idempotency-Key", "slow "+p.id).refused(t, 422, "idempotency_mismatch")
	close(goOn)
	made := (<-first).ok(t)
	again := p.post(p.at("/threads"), `{}`, "Idempotency-Key", "slow "+p.id).ok(t)
	if !bytes.Equal(again.body, made.body) {
		t.Errorf("the first was answered %s, the next %s", made.body, again.body)
	}
}

func released(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	for name, request := range map[string]struct {
		path, wrong string
		status      int
		right       string
	}{
		"a wrong field":       {p.at("/memories"), `{"text":5}`, 400, `{"text":"right"}`},
		"a text too long":     {p.at("/threads"), `{"title":"` + strings.Repeat("a", 201) + `"}`, 400, `{"title":"right"}`},
		"an empty message":    {p.at("/threads/" + thread + "/messages"), `{"text":" "}`, 400, `{"text":"right"}`},
		"a thread of no one":  {p.at("/favourites"), `{"card":{"id":"c"},"threadId":"thr_x"}`, 400, `{"card":{"id":"c"}}`},
		"a name left out":     {"/api/agents", `{}`, 400, `{"name":"right"}`},
		"JSON that is broken": {p.at("/threads"), `{`, 400, `{}`},
	} {
		if a := p.post(request.path, request.wrong, "Idempotency-Key", name); a.status != request.status {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if a := p.post(request.path, request.right, "Idempotency-Key", name); a.status != http.StatusOK {
			t.Errorf("%s, mended: %d %s", name, a.status, a.body)
		}
	}
	// The account gets a plan after the refusal.
	poor := w.user(t, core.PlanNone)
	path := poor.at("/threads/" + poor.newThread("T") + "/messages")
	poor.post(path, `{"text":"hi"}`, "Idempotency-Key", "k").refused(t, 402, "no_subscription")
	if err := w.db.SetPlan(t.Context(), poor.id, core.PlanOpen); err != nil {
		t.Fatal(err)
	}
	poor.post(path, `{"text":"hi"}`, "Idempotency-Key", "k").ok(t)
}

func perUser(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	mine := p.post("/api/agents", `{"name":"A"}`, "Idempotency-Key", "k").ok(t).str("agent", "id")
	theirs := other.post("/api/agents", `{"name":"B"}`, "Idempotency-Key", "k").ok(t).str("agent", "id")
	if mine == theirs {
		t.Error("one user got the reply of another")
	}
	other.get("/api/agents/"+mine).refused(t, 404, "not_found")
}

func atOnce(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for _, c := range p.creations(p.newThread("T")) {
		before := c.count(p)
		answers := make([]answer, 32)
		testkit.Concurrently(len(answers), func(i int) {
			a, err := p.try("POST", c.path, strings.NewReader(c.body), "Idempotency-Key", "at once "+c.name)
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
		})
		last := p.post(c.path, c.body, "Idempotency-Key", "at once "+c.name).ok(t)
		for _, a := range answers {
			switch a.status {
			case http.StatusOK:
				if !bytes.Equal(a.body, last.body) {
					t.Errorf("%s: %s and %s", c.name, a.body, last.body)
				}
			case http.StatusConflict:
				a.refused(t, 409, "idempotency_in_progress")
			default:
				t.Errorf("%s: %d %s", c.name, a.status, a.body)
			}
		}
		if n := c.count(p) - before; n != c.each() {
			t.Errorf("%s: 32 requests with one key made %d", c.name, n)
		}
	}
}

func ignoredKeys(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	p.post(p.at("/search"), `{"query":"a"}`, "Idempotency-Key", "k").ok(t)
	p.post(p.at("/search"), `{"query":"b"}`, "Idempotency-Key", "k").ok(t)
	p.get("/api/agents", "Idempotency-Key", strings.Repeat("x", 999)).ok(t)
	p.send("PATCH", p.at(""), `{"name":"x"}`, "Idempotency-Key", "k").ok(t)
	p.send("PATCH", p.at(""), `{"name":"y"}`, "Idempotency-Key", "k").ok(t)
	p.get("/api/agents", "Idempotency-Key", "").ok(t)
	// An empty or repeated header is refused, because it would protect from nothing.
	for _, headers := range [][]string{{"Idempotency-Key", ""}, {"Idempotency-Key", "k", "+Idempotency-Key", "k"}} {
		for path, body := range map[string]string{
			"/memories": `{"text":"a"}`, "/threads": `{}`, "/threads/" + p.newThread("T") + "/messages": `{"text":"a"}`,
			"/favourites": `{"card":{}}`,
		} {
			a := p.post(p.at(path), body, headers...).refused(t, 400, "invalid_request")
			if got := a.pointers(); !slices.Equal(got, []string{"Idempotency-Key"}) {
				t.Errorf("%s: the problem is in %q", path, got)
			}
		}
	}
	p.post(p.at("/memories"), `{"text":"c"}`, "Idempotency-Key", strings.Repeat("~", 255)).ok(t)
}

// errCrash is the error of a request that a test interrupts.
var errCrash = errors.New("the machine went away")

func TestIdempotencyKeyExpiry(t *testing.T) {
	t.Parallel()
	inTurn(t, []test{
		{"RetryAfterACrashCreatesNothingTwice", func(t *testing.T, w *testServer) {
			crashed(t, w, &w.claims.beforeFinish)
		}},
		{"KeyExpiresAfterADay", forgotten},
		{"KeyOfACrashedRequestIsTakenOver", taken},
	})
}

// crashed interrupts every creation, and retries it after the lock of the first attempt expired.
func crashed(t *testing.T, w *testServer, at *map[string]func() error) {
	p := w.user(t, core.PlanOpen)
	for _, c := range p.creations(p.newThread("T")) {
		if c.name == "a message" {
			continue // its turn is the record; see MessagesWithAnIdempotencyKey
		}
		before := c.count(p)
		w.claims.hook(at, c.name, func() error { return errCrash })
		p.post(c.path, c.body, "Idempotency-Key", c.name).refused(t, 500, "internal")
		if n := c.count(p) - before; n != c.each() {
			t.Fatalf("%s: %d were made before the crash", c.name, n)
		}
		stored := p.stored(c)
		p.post(c.path, c.body, "Idempotency-Key", c.name).refused(t, 409, "idempotency_in_progress")
		w.clock.Advance(time.Minute - time.Millisecond)
		p.post(c.path, c.body, "Idempotency-Key", c.name).refused(t, 409, "idempotency_in_progress")
		w.clock.Advance(time.Millisecond)
		other := " " + cmp.Or(c.body, "{}")
		p.post(c.path, other, "Idempotency-Key", c.name).refused(t, 422, "idempotency_mismatch")
		again := p.post(c.path, c.body, "Idempotency-Key", c.name).ok(t)
		if n := c.count(p) - before; n != c.each() {
			t.Errorf("%s: %d were made in the end", c.name, n)
		}
		if now := p.stored(c); c.name != "a favourite" && !bytes.Equal(now.body, stored.body) {
			t.Errorf("%s: was %s, is %s", c.name, stored.body, now.body)
		}
		if once := p.post(c.path, c.body, "Idempotency-Key", c.name).ok(t); !bytes.Equal(once.body, again.body) {
			t.Errorf("%s: %s, then %s", c.name, again.body, once.body)
		}
		// The reply equals the stored object, including its time of creation.
		for _, field := range []string{"id", "createdAt"} {
			name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(c.name, "an "), "a "), " ")
			if told := again.str(name, field); told != "" && !bytes.Contains(stored.body, []byte(told)) {
				t.Errorf("%s: the reply has %s = %s, which is not in %s", c.name, field, told, stored.body)
			}
		}
	}
}

// stored returns the list that a creation adds to.
func (p *testUser) stored(c creation) answer {
	p.t.Helper()
	return p.get(c.path).ok(p.t)
}

func taken(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for _, c := range p.creations(p.newThread("T")) {
		if c.name == "a message" {
			continue // it need not wait for the lock; see MessagesWithAnIdempotencyKey
		}
		before := c.count(p)
		w.claims.hook(&w.claims.afterClaim, c.name, func() error { return errCrash })
		p.post(c.path, c.body, "Idempotency-Key", c.name).refused(t, 500, "internal")
		if n := c.count(p) - before; n != 0 {
			t.Fatalf("%s: %d were made before the crash", c.name, n)
		}
		p.post(c.path, c.body, "Idempotency-Key", c.name).refused(t, 409, "idempotency_in_progress")
		w.clock.Advance(time.Minute)
		p.post(c.path, c.body, "Idempotency-Key", c.name).ok(t)
		if n := c.count(p) - before; n != c.each() {
			t.Errorf("%s: %d were made", c.name, n)
		}
	}
}

func forgotten(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	first := p.post(p.at("/threads"), `{}`, "Idempotency-Key", "day").ok(t).str("thread", "id")
	w.clock.Advance(24*time.Hour - time.Millisecond)
	if again := p.post(p.at("/threads"), `{}`, "Idempotency-Key", "day").ok(t).str("thread", "id"); again != first {
		t.Errorf("within a day another thread %s was made", again)
	}
	w.clock.Advance(time.Millisecond)
	later := p.post(p.at("/threads"), `{"title":"new"}`, "Idempotency-Key", "day").ok(t).str("thread", "id")
	if later == first {
		t.Error("after a day the key is still taken")
	}
}
