package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/credential"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"MissingCapabilityIsRefusedAndHidden", capabilityDisabled},
		{"SubscriptionHasAnEnd", subscriptionForATime},
		{"UsageShowsTheRemainingSpend", remainingSpendShown},
		{"KeyAtItsCapCannotStartATurn", credentialCapped},
		{"OnlyAdminsManageAccounts", adminManages},
	})
}

// admin returns an administrator with a key that has all scopes.
func (w *testServer) admin(t *testing.T) *testUser {
	t.Helper()
	p := &testUser{t: t, w: w}
	w.makeAdmin(t, p)
	p.token = p.key(credential.NewKey{Name: "admin", Scopes: core.RoleAdmin.Scopes()})
	return p
}

func capabilityDisabled(t *testing.T, w *testServer) {
	admin, p := w.admin(t), w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	name := "p" + strings.ToLower(p.id[4:20])
	admin.send("PUT", "/api/admin/plans/"+name,
		`{"capabilities": ["search", "favourites"], "spendCapMicros": 5000000}`).ok(t)
	admin.send("PATCH", "/api/admin/users/"+p.id, `{"plan": "`+name+`"}`).ok(t)
	if got := p.capabilities(); got != "search favourites" {
		t.Errorf("capabilities: %s", got)
	}
	p.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).refused(t, 403, "capability_disabled")
	p.post(p.at("/memories"), object{"text": "x"}).refused(t, 403, "capability_disabled")
	p.send("PATCH", p.at(""), `{"name": "x"}`).refused(t, 403, "capability_disabled")
	p.get(p.at("/threads")).ok(t)
	p.get(p.at("/memories")).ok(t)
	p.post(p.at("/search"), object{"query": "x"}).ok(t)
	admin.send("DELETE", "/api/admin/plans/"+name, "").refused(t, 409, "conflict")
	reply := p.accountKey().get("/api/account/subscription").ok(t)
	if reply.str("plan", "name") != name || reply.value("spend", "leftMicros") != float64(5000000) {
		t.Errorf("the subscription is %s", reply.body)
	}
}

func subscriptionForATime(t *testing.T, w *testServer) {
	admin, p := w.admin(t), w.user(t, core.PlanNone)
	p.post(p.at("/search"), object{"query": "x"}).refused(t, 402, "no_subscription")
	path := "/api/admin/users/" + p.id + "/subscription"
	end := w.clock.Now().Add(time.Hour).Format(time.RFC3339)
	got := admin.send("PUT", path, `{"plan": "open", "endsAt": "`+end+`", "trial": true}`).ok(t)
	if got.str("subscription", "status") != "trial" || got.str("plan", "name") != core.PlanOpen {
		t.Errorf("the account is %s", got.body)
	}
	p.post(p.at("/search"), object{"query": "x"}).ok(t)
	admin.send("DELETE", path+"?now=true", "").ok(t)
	p.post(p.at("/search"), object{"query": "x"}).refused(t, 402, "no_subscription")
	admin.send("PUT", path, `{"plan": "nothing"}`).refused(t, 400, "invalid_request")
	admin.send("PUT", path, `{"plan": "open", "endsAt": "tomorrow"}`).refused(t, 400, "invalid_request")
}

func remainingSpendShown(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	mine := p.accountKey()
	limit := int64(1_000_000)
	if err := w.db.SetSpendCap(t.Context(), p.id, &limit); err != nil {
		t.Fatal(err)
	}
	err := w.db.ReserveSpend(t.Context(), billing.Reservation{
		ID: core.NewID(core.PrefixSpend), UserID: p.id, CredentialID: "crd_x", AgentID: p.agent, Kind: billing.MeteredSearch,
		Model: "=paid", Micros: 250_000, At: w.clock.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for by, name := range map[string]string{
		"day": core.Day(w.clock.Now()), "agent": p.agent, "credential": "crd_x", "model": "=paid",
	} {
		got := mine.get("/api/account/usage?by=" + by).ok(t)
		if names := got.list("usage", "name"); len(names) != 1 || names[0] != name {
			t.Errorf("by %s: %s", by, got.body)
		}
		if got.value("spend", "leftMicros") != float64(750_000) ||
			got.str("spend", "resetsAt") != core.MonthEnd(w.clock.Now()).Format("2006-01-02T15:04:05.000Z") {
			t.Errorf("left is %s", got.body)
		}
	}
	csv := mine.get("/api/account/usage/export")
	if csv.status != 200 || !strings.Contains(string(csv.body), ",search,'=paid,1,0.000000,0.000000,0.250000\n") {
		t.Errorf("the table is %d %s", csv.status, csv.body)
	}
	mine.get("/api/account/usage?by=user").refused(t, 400, "invalid_request")
	mine.get("/api/account/usage?from=2020-01-01&to=2026-01-01").refused(t, 400, "invalid_request")
	p.get("/api/account/usage").refused(t, 403, "insufficient_scope")
	key := "/api/account/spend-caps/" + mine.get("/api/account/keys").ok(t).list("keys", "id")[0]
	mine.send("PUT", key, `{"capMicros": 300000}`).ok(t)
	caps := mine.get("/api/account/spend-caps").ok(t)
	if !strings.Contains(string(caps.body), `"capMicros":300000,"usedMicros":0,"leftMicros":300000`) {
		t.Errorf("the caps are %s", caps.body)
	}
	mine.send("PUT", key, `{"capMicros": null}`).refused(t, 403, "forbidden") // a key cannot remove its own cap
	p.signedIn().send("PUT", key, `{"capMicros": null}`).ok(t)
	mine.send("PUT", key, `{"capMicros": -1}`).refused(t, 400, "invalid_request")
}

func credentialCapped(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	mine, messages := p.accountKey(), p.at("/threads/"+p.newThread("T")+"/messages")
	keys := mine.get("/api/account/keys").ok(t).list("keys", "id") // newest first
	mine.send("PUT", "/api/account/spend-caps/"+keys[len(keys)-1], `{"capMicros": 0}`).ok(t)
	got := p.post(messages, object{"text": "hi"})
	got.refused(t, 402, "spend_cap_reached")
	if !strings.Contains(string(got.body), "of this credential") {
		t.Errorf("the refusal does not say whose cap it is: %s", got.body)
	}
	p.post(p.at("/search"), object{"query": "x"}).refused(t, 402, "spend_cap_reached")
	if n := len(p.get(messages).ok(t).list("messages", "id")); n != 0 {
		t.Errorf("%d messages were stored by refused requests", n)
	}
	mine.post(messages, object{"text": "hi"}).ok(t) // another key of the same user
}

func adminManages(t *testing.T, w *testServer) {
	admin, p := w.admin(t), w.user(t, core.PlanOpen)
	got := admin.send("PATCH", "/api/admin/users/"+p.id, `{"spendCapMicros": 7, "disabled": true}`).ok(t)
	if got.value("user", "disabled") != true || got.value("user", "spendCapMicros") != float64(7) {
		t.Errorf("changed: %s", got.body)
	}
	p.get("/api/agents").refused(t, 401, "invalid_credential")
	admin.send("PATCH", "/api/admin/users/"+p.id, `{"spendCapMicros": null, "disabled": false}`).ok(t)
	p.get("/api/agents").ok(t)
	// Only the owner appoints administrators.
	admin.signedIn().send("PATCH", "/api/admin/users/"+p.id, `{"role": "admin"}`).refused(t, 403, "forbidden")
	admin.send("PATCH", "/api/admin/users/"+admin.id, `{"disabled": true}`).refused(t, 409, "conflict")
	found := admin.get("/api/admin/users?q="+strings.ToUpper(p.id)).ok(t).list("users", "id")
	if len(found) != 1 || found[0] != p.id {
		t.Errorf("found by address: %v", found)
	}
	admin.get("/api/admin/users/usr_none").refused(t, 404, "not_found")
	events := admin.get("/api/admin/audit?userId="+p.id).ok(t).list("events", "event")
	if !strings.Contains(strings.Join(events, " "), "user_enabled") {
		t.Errorf("the log has %v", events)
	}
	for _, path := range []string{
		"/api/admin/users", "/api/admin/plans", "/api/admin/usage?by=user", "/api/admin/spend-check", "/api/admin/tasks",
		"/api/admin/audit",
	} {
		admin.get(path).ok(t)
		p.accountKey().get(path).refused(t, 403, "insufficient_scope")
	}
}
