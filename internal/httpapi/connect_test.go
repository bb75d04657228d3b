package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

// code creates a connect code.
func (p *testUser) code() string {
	p.t.Helper()
	_, code, err := p.w.credentials.CreateCode(p.t.Context(), core.Operator(p.id))
	if err != nil {
		p.t.Fatal(err)
	}
	return code
}

const exchange = "/api/connect/exchange"

func TestConnecting(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"CodeIsExchangedOnce", exchanged},
		{"InvalidCodesGetTheSameReply", invalidCodes},
		{"InvalidNameLeavesTheCodeUsable", badNames},
		{"OfAThousandExchangesOneSucceeds", thousand},
	})
}

func exchanged(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	nobody := p.with("")
	code := p.code()
	a := nobody.post(exchange, object{"code": code, "client": "my editor ✎"}).ok(t)
	var reply map[string]string
	if err := json.Unmarshal(a.body, &reply); err != nil || len(reply) != 2 || reply["mcpUrl"] != baseURL+"/mcp" {
		t.Fatalf("the reply is %s", a.body)
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	nobody.post(exchange, object{"code": code, "client": "again"}).refused(t, 400, "invalid_code")

	minted := p.with(reply["token"])
	if got := minted.capabilities(); got != "search chat research memories favourites manage" {
		t.Errorf("it may %s", got)
	}
	minted.post(minted.at("/memories"), object{"text": "minted"}).ok(t)
	minted.post("/api/agents", object{"name": "minted"}).ok(t)
	actor, err := w.credentials.Authenticate(t.Context(), reply["token"])
	if err != nil || actor.UserID != p.id || actor.Credential != core.CredentialMinted {
		t.Fatalf("it acts as %+v, %v", actor, err)
	}
	for _, op := range []core.Operation{core.OpAccount, core.OpAdmin} {
		if e := core.AsError(actor.Allow(op)); e.Code != "insufficient_scope" {
			t.Errorf("%s: %v", op, e)
		}
	}
	// The same name twice creates two clients, which are revoked separately.
	second := p.with(nobody.post(exchange, object{"code": p.code(), "client": "my editor ✎"}).ok(t).str("token"))
	keys, err := w.credentials.Keys(t.Context(), core.Operator(p.id))
	if err != nil || len(keys) != 3 || keys[0].Name != "my editor ✎" || keys[1].Name != "my editor ✎" ||
		keys[0].Kind != core.CredentialMinted {
		t.Fatalf("the keys are %+v, %v", keys, err)
	}
	if err := w.credentials.RevokeKey(t.Context(), core.Operator(p.id), keys[1].ID); err != nil {
		t.Fatal(err)
	}
	minted.get("/api/agents").refused(t, 401, "invalid_credential")
	second.get("/api/agents").ok(t)
	if log := w.log.String(); strings.Contains(log, code) || strings.Contains(log, reply["token"]) {
		t.Error("a secret is in the log")
	}
}

func invalidCodes(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	nobody := p.with("")
	used := p.code()
	nobody.post(exchange, object{"code": used, "client": "c"}).ok(t)
	gone := w.user(t, core.PlanOpen)
	disabled := gone.code()
	if err := w.db.DisableUser(t.Context(), gone.id, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	good := p.code()
	var first string
	for _, code := range []string{
		used, disabled, p.token, "junk", "", " ", good + " ", " " + good, strings.ToUpper(good), good[:len(good)-1] + "!",
		"crlc_" + strings.Repeat("0", 38),
		strings.Repeat("a", 100_000), "crlc_", "💥",
	} {
		a := nobody.send("POST", exchange, encode(t, object{"code": code, "client": "c"}), "X-Request-Id", "same")
		a.refused(t, 400, "invalid_code")
		if first == "" {
			first = string(a.body)
		}
		if string(a.body) != first {
			t.Errorf("%q gets another answer: %s", code, a.body)
		}
	}
	nobody.post(exchange, object{"code": good, "client": "c"}).ok(t)
	// A credential in the header is ignored, even an invalid one: only the code authorizes.
	p.with("junk").post(exchange, object{"code": p.code(), "client": "c"}).ok(t)
}

func badNames(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	nobody := p.with("")
	code := p.code()
	for _, name := range []string{
		"", " ", "\t", "a\nb", "\u200b", strings.Repeat("a", 65), strings.Repeat("😀", 65), "\u202ebackwards",
	} {
		nobody.post(exchange, object{"code": code, "client": name}).refused(t, 400, "invalid_request")
	}
	nobody.post(exchange, object{"code": code}).refused(t, 400, "invalid_request")
	nobody.post(exchange, object{"code": code, "client": strings.Repeat("😀", 64)}).ok(t)
}

// thousand exchanges one code 1,000 times concurrently, with a limited number of connections.
func thousand(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	nobody := p.with("")
	body := encode(t, object{"code": p.code(), "client": "one of many"})
	var mu sync.Mutex
	statuses := map[int]int{}
	tokens := map[string]bool{}
	const atOnce, each = 50, 20
	testkit.Concurrently(atOnce, func(int) {
		for range each {
			a, err := nobody.try("POST", exchange, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			statuses[a.status]++
			if a.status == http.StatusOK {
				tokens[a.str("token")] = true
			} else if a.str("code") != "invalid_code" {
				t.Errorf("got %d %s", a.status, a.body)
			}
			mu.Unlock()
		}
	})
	if statuses[200] != 1 || statuses[400] != atOnce*each-1 || len(tokens) != 1 {
		t.Errorf("the statuses are %v", statuses)
	}
	keys, err := w.credentials.Keys(t.Context(), core.Operator(p.id))
	if err != nil || len(keys) != 2 {
		t.Errorf("there are %d keys, %v", len(keys), err)
	}
}

func TestConnectCodeExpiresAfter15Minutes(t *testing.T) {
	t.Parallel()
	inTurn(t, []test{{"Expiry", func(t *testing.T, w *testServer) {
		p := w.user(t, core.PlanOpen)
		nobody := p.with("")
		inTime, late := p.code(), p.code()
		w.clock.Advance(15*time.Minute - time.Millisecond)
		nobody.post(exchange, object{"code": inTime, "client": "c"}).ok(t)
		w.clock.Advance(time.Millisecond)
		nobody.post(exchange, object{"code": late, "client": "c"}).refused(t, 400, "invalid_code")
	}}})
}
