package e2e

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"carrel/internal/testkit/stripefake"
)

const (
	adminPath = "/api/admin"
	// noUser and noTask have the form of ids and do not exist.
	noUser = "usr_00000000000000000000000000"
	noTask = "trn_00000000000000000000000000"
)

// seenOfPlans are states that need time, money or a payment provider; on PostgreSQL the test writes them to the
// database.
var seenOfPlans = []string{
	"field SpendDifference.*", "value SpendDifference.of=*", "field UsageRow.*",
	"value TaskState=*", // an import may be seen in any state
}

// planCalls returns a valid request for every operation on plans, usage and the installation.
func (w *installation) planCalls() []call {
	users := adminPath + "/users/"
	return append(w.peopleCalls(), []call{
		{operation: "getUsage", method: "GET", path: accountPath + "/usage", key: w.fullKey},
		{operation: "exportUsage", method: "GET", path: accountPath + "/usage/export", key: w.fullKey},
		{operation: "getSubscription", method: "GET", path: accountPath + "/subscription", key: w.fullKey},
		{operation: "listCredentialCaps", method: "GET", path: accountPath + "/spend-caps", key: w.fullKey},
		{operation: "startCheckout", method: "POST", path: checkoutPath, body: `{"plan": "reader"}`, key: w.fullKey},
		{operation: "openPortal", method: "POST", path: portalPath, key: w.fullKey},
		w.stripeCall(stripefake.Subscription{ID: "sub_none"}),
		{
			operation: "setCredentialCap",
			method:    "PUT",
			path:      accountPath + "/spend-caps/" + w.apiKey,
			body:      `{"capMicros": 5}`,
			key:       w.fullKey,
		},
		{operation: "listUsers", method: "GET", path: adminPath + "/users", key: w.adminKey},
		{operation: "getUser", method: "GET", path: users + w.member, key: w.adminKey},
		{operation: "changeUser", method: "PATCH", path: users + w.member, body: `{"disabled": false}`, key: w.adminKey},
		{
			operation: "putSubscription",
			method:    "PUT",
			path:      users + w.member + "/subscription",
			body:      `{"plan": "reader"}`,
			key:       w.adminKey,
		},
		{operation: "cancelSubscription", method: "DELETE", path: users + w.member + "/subscription", key: w.adminKey},
		{operation: "listPlans", method: "GET", path: adminPath + "/plans", key: w.adminKey},
		{
			operation: "putPlan",
			method:    "PUT",
			path:      adminPath + "/plans/reader",
			body:      `{"capabilities": ["search"]}`,
			key:       w.adminKey,
		},
		{operation: "deletePlan", method: "DELETE", path: adminPath + "/plans/reader", key: w.adminKey},
		{operation: "getAllUsage", method: "GET", path: adminPath + "/usage?userId=" + w.member, key: w.adminKey},
		{operation: "checkSpend", method: "GET", path: adminPath + "/spend-check", key: w.adminKey},
		{operation: "getSystem", method: "GET", path: adminPath + "/system", key: w.adminKey},
		{operation: "listTasks", method: "GET", path: adminPath + "/tasks", key: w.adminKey},
		{operation: "cancelTask", method: "POST", path: adminPath + "/tasks/" + w.task + "/cancel", key: w.adminKey},
		{operation: "listAllAudit", method: "GET", path: adminPath + "/audit", key: w.adminKey},
		{operation: "listGrants", method: "GET", path: w.below("/grants"), key: w.adminKey},
		{
			operation: "putGrant",
			method:    "PUT",
			path:      w.below("/grants/" + w.member),
			body:      `{"grant": "viewer"}`,
			key:       w.adminKey,
		},
		{operation: "deleteGrant", method: "DELETE", path: w.below("/grants/" + w.member), key: w.adminKey},
		{operation: "listInvitations", method: "GET", path: invitationsPath, key: w.fullKey},
	}...)
}

// run makes a call with the key of the owner and expects 200.
func (w *installation) run(t *testing.T, method, path, body string) reply {
	t.Helper()
	return w.send(t, call{method: method, path: adminPath + path, body: body, key: w.adminKey}, http.StatusOK)
}

func (w *installation) plans(t *testing.T) {
	w.admin(t, "user", "create", "--email", "max@example.org", "--name", "Max", "--password", "correct horse battery")
	w.adminKey = w.admin(t, "key", "create", "--user", "ada@example.org", "--name", "admin",
		"--scope", "agents,manage,account,admin").text("key")
	first := w.run(t, "GET", "/users?limit=1", "")
	w.member = first.text("users", 0, "id")
	w.run(t, "GET", "/users?limit=1&cursor="+first.text("nextCursor"), "")
	w.run(t, "GET", "/users", "")
	w.run(t, "GET", "/users?q=MAX@", "")
	one := "/users/" + w.member
	w.run(t, "PUT", "/plans/reader",
		`{"capabilities": ["search", "chat", "research", "memories", "favourites", "manage", "mcp", "share"],
		"models": ["small"], "spendCapMicros": 5000000, "turnCapMicros": 500000, "rateLimit": 10, "rateBurst": 40,
		"storageLimitBytes": 1000000, "priceMicros": 9000000, "stripePrice": "price_1"}`)
	w.run(t, "GET", "/plans", "")
	for _, body := range []string{`{}`, `{"capabilities": ["fly"]}`, `{"capabilities": [], "spendCapMicros": -1}`} {
		w.problem(t, call{method: "PUT", path: adminPath + "/plans/bad", body: body, key: w.adminKey}, 400, "invalid_request")
	}
	office := w.browser(t, "ada@example.org").with("Origin", w.server.URL)
	office.method, office.path = "PATCH", adminPath+one
	for _, body := range []string{
		`{"plan": "reader", "spendCapMicros": 3000000, "role": "admin"}`,
		`{"disabled": true, "role": "member", "spendCapMicros": null}`,
		`{"email": "moritz@example.org"}`, `{"email": "max@example.org"}`,
	} {
		office.body = body
		w.send(t, office, http.StatusOK)
	}
	for _, body := range []string{`{"role": "admin"}`, `{"email": "moritz@example.org"}`} {
		w.problem(t, call{method: "PATCH", path: adminPath + one, body: body, key: w.adminKey}, 403, "session_required")
	}
	w.run(t, "PATCH", one, `{"disabled": false, "spendCapMicros": 1000000}`)
	w.owner = w.send(t, call{method: "GET", path: accountPath, key: w.fullKey}, http.StatusOK).text("account", "id")
	w.problem(t, call{method: "PATCH", path: adminPath + "/users/" + w.owner, body: `{"disabled": true}`, key: w.adminKey},
		409, "conflict")
	w.subscriptions(t, one)
	w.billing(t)
	w.usage(t)
	w.administered(t)
	w.grants(t)
	w.people(t)
	for _, c := range w.planCalls() {
		if c.method == "GET" {
			tag := w.send(t, c, http.StatusOK).header.Get("ETag")
			w.send(t, c.with("If-None-Match", tag), http.StatusNotModified)
		}
	}
}

// confined uses a plan without chat and without storage.
func (w *installation) confined(t *testing.T, user string) {
	key := w.admin(t, "key", "create", "--user", "max@example.org", "--name", "agents", "--scope", "agents,manage").
		text("key")
	w.run(t, "PUT", "/plans/tight", `{"capabilities": ["search", "manage"], "storageLimitBytes": 0}`)
	w.run(t, "PATCH", user, `{"plan": "tight"}`)
	agent := w.send(t, call{method: "POST", path: "/api/agents", body: `{"name": "Tight"}`, key: key}, http.StatusOK)
	one := "/api/agents/" + agent.text("agent", "id")
	w.problem(t, call{method: "POST", path: one + "/threads", body: `{}`, key: key}, 403, "capability_disabled")
	upload := call{method: "POST", path: one + "/sources/" + agent.text("agent", "defaultSourceId") + "/uploads", key: key}
	w.problem(t, upload.with("Upload-Length", "7").with("Upload-Metadata", "filename YS50eHQ="), 403, "quota_exceeded")
	w.run(t, "PUT", user+"/subscription", `{"plan": "reader"}`)
}

func (w *installation) subscriptions(t *testing.T, user string) {
	w.problem(t, call{method: "DELETE", path: adminPath + user + "/subscription", key: w.adminKey}, 404, "not_found")
	for _, body := range []string{
		`{"plan": "reader", "trial": true, "endsAt": "2099-01-01T00:00:00Z", "graceDays": 3}`,
		`{"plan": "reader", "startsAt": "2020-01-01T00:00:00Z", "endsAt": "2020-02-01T00:00:00Z"}`,
		`{"plan": "reader", "endsAt": "2099-01-01T00:00:00Z", "cancelAtEnd": true}`,
		`{"plan": "reader", "endsAt": "2099-01-01T00:00:00Z"}`,
	} {
		w.run(t, "PUT", user+"/subscription", body)
	}
	w.run(t, "DELETE", user+"/subscription", "")
	w.run(t, "DELETE", user+"/subscription?now=true", "")
	w.run(t, "PUT", user+"/subscription", `{"plan": "reader"}`)
	w.problem(t, call{method: "DELETE", path: adminPath + "/plans/reader", key: w.adminKey}, 409, "conflict")
	w.run(t, "PUT", "/plans/gone", `{"capabilities": []}`)
	w.run(t, "DELETE", "/plans/gone", "")
	key := w.admin(t, "key", "create", "--user", "max@example.org", "--name", "account", "--scope", "account").text("key")
	w.send(t, call{method: "GET", path: accountPath + "/subscription", key: key}, http.StatusOK)
	w.confined(t, user)
}

func (w *installation) usage(t *testing.T) {
	for _, by := range []string{"day", "agent", "credential", "model"} {
		w.full(t, "GET", accountPath+"/usage?from=2026-01-01&to=2026-02-01&by="+by, "")
		w.run(t, "GET", "/usage?by="+by, "")
	}
	w.run(t, "GET", "/usage?by=user", "")
	w.problem(t, call{method: "GET", path: accountPath + "/usage?from=soon", key: w.fullKey}, 400, "invalid_request")
	w.full(t, "PUT", accountPath+"/spend-caps/"+w.apiKey, `{"capMicros": 5000000}`)
	w.full(t, "GET", accountPath+"/spend-caps", "")
	w.full(t, "PUT", accountPath+"/spend-caps/"+w.apiKey, `{"capMicros": null}`)
}

func (w *installation) administered(t *testing.T) {
	for _, state := range []string{"complete", "cancelled", "failed", "queued", "running"} {
		got := w.run(t, "GET", "/tasks?state="+state, "")
		if state == "complete" {
			w.task = got.text("tasks", 0, "id")
		}
	}
	w.run(t, "GET", "/tasks", "")
	ended := w.run(t, "GET", "/tasks?state=complete&limit=1", "")
	w.run(t, "GET", "/tasks?state=complete&limit=1&cursor="+ended.text("nextCursor"), "")
	w.problem(t, call{method: "GET", path: adminPath + "/tasks?cursor=x", key: w.adminKey}, 400, "invalid_request")
	w.run(t, "POST", "/tasks/"+w.task+"/cancel", "")
	first := w.run(t, "GET", "/audit?limit=1", "")
	w.run(t, "GET", "/audit?limit=1&cursor="+first.text("nextCursor"), "")
	w.run(t, "GET", "/audit?limit=200", "")
	w.run(t, "GET", "/spend-check", "")
	w.run(t, "GET", "/system", "")
}

const invitationsPath = accountPath + "/invitations"

func (w *installation) grants(t *testing.T) {
	path := w.below("/grants")
	theirs := w.admin(t, "key", "create", "--user", "max@example.org", "--name", "shared", "--scope", "agents").text("key")
	browser := w.browser(t, "max@example.org")
	answer := func(method, path string) call {
		c := browser.with("Sec-Fetch-Site", "same-origin")
		c.method, c.path = method, invitationsPath+path
		return c
	}
	invited := "/" + w.agent
	for _, grant := range []string{"viewer", "user", "manager"} {
		w.full(t, "PUT", path+"/max@example.org", `{"grant": "`+grant+`"}`)
		w.send(t, answer("GET", ""), http.StatusOK)
		w.send(t, answer("POST", invited+"/accept"), http.StatusOK)
		w.send(t, call{method: "GET", path: "/api/agents", key: theirs}, http.StatusOK)
		w.full(t, "GET", path, "")
		w.full(t, "DELETE", path+"/max@example.org", "")
	}
	w.problem(t, answer("POST", invited+"/accept"), 404, "not_found")
	w.problem(t, answer("DELETE", invited), 404, "not_found")
	w.problem(t, answer("POST", "/%00/accept"), 400, "invalid_request")
	w.problem(t, answer("DELETE", "/%00"), 400, "invalid_request")
	w.full(t, "PUT", path+"/max@example.org", `{"grant": "viewer"}`)
	w.send(t, answer("DELETE", invited), http.StatusOK)
	w.problem(t, call{method: "PUT", path: path + "/everybody", body: `{"grant": "viewer"}`, key: w.fullKey}, 403,
		"insufficient_scope")
	everybody := call{method: "PUT", path: path + "/everybody", body: `{"grant": "viewer"}`, key: w.adminKey}
	w.send(t, everybody, http.StatusOK)
	w.full(t, "GET", path, "")
	w.full(t, "DELETE", path+"/everybody", "")
	w.problem(t, call{method: "PUT", path: path + "/" + w.member, body: `{"grant": "owner"}`, key: w.fullKey}, 400,
		"invalid_request")
	for i := range 49 { // the limit is 50, and Max has one
		w.full(t, "PUT", path+"/guest-"+strconv.Itoa(i)+"@example.org", `{"grant": "viewer"}`)
	}
	w.problem(t, call{method: "PUT", path: path + "/one-more@example.org", body: `{"grant": "viewer"}`, key: w.fullKey},
		409, "conflict")
	w.full(t, "DELETE", path+"/guest-0@example.org", "")
}

// planStates writes the remaining states to the database and reads them.
func (w *installation) planStates(t *testing.T, at string) {
	database(t, at, func(_ context.Context, conn *pgx.Conn) {
		execute(t, conn, `UPDATE subscription SET status = 'past_due', source = 'stripe', grace_until = 4000000000000`)
		execute(t, conn,
			`INSERT INTO spend_row (id, user_id, day, turn_id, credential_id, agent_id, kind, model, price_version,
				state, reserved, micros, estimated, created_at, settled_at)
			SELECT 'spd_x', id, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD'), '', 'crd_x', 'agt_x', 'model', 'small', '1',
				'settled', 0, 120, 1, 1, 2
			FROM app_user WHERE email = 'ada@example.org'`)
		execute(t, conn,
			`INSERT INTO credential_budget (credential_id, period, user_id, reserved, spent)
			SELECT 'crd_y', '2026-01', id, 1, 2 FROM app_user WHERE email = 'ada@example.org'`)
		for state, times := range map[string]string{
			"queued": "NULL, NULL, NULL", "running": "'elsewhere', 1, NULL", "failed": "NULL, 1, 2", "cancelled": "NULL, 1, 2",
		} {
			// They are due in a hundred years, so that the server does not run them.
			execute(t, conn,
				`INSERT INTO task (id, kind, key, number, state, owner, started_at, finished_at, attempt, crashes,
					run_at, deadline_at, error_code, error_detail, created_at)
				VALUES ('tsk_`+state+`', 'test', '`+state+`', 1, '`+state+`', `+times+`, 1, 0,
					4900000000000, 4900000000000, 'timeout', '', 1)`)
			w.run(t, "GET", "/tasks?state="+state, "")
			execute(t, conn, `DELETE FROM task WHERE id = 'tsk_`+state+`'`)
		}
	})
	w.run(t, "GET", "/users/"+w.member, "")
	w.problem(t, call{method: "DELETE", path: adminPath + "/users/" + w.member + "/subscription", key: w.adminKey}, 409,
		"conflict")
	w.run(t, "GET", "/spend-check", "")
	for _, by := range []string{"day", "agent", "credential", "model"} {
		w.full(t, "GET", accountPath+"/usage?by="+by, "")
	}
	w.run(t, "GET", "/usage?by=user", "")
}
