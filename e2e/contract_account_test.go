package e2e

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

const (
	accountPath = "/api/account"
	// noCredential has the form of a credential id and does not exist.
	noCredential = "crd_00000000000000000000000000"
)

// seenOfAccounts are states that take too long to reach; on PostgreSQL the test writes them to the database.
var seenOfAccounts = []string{
	"reply createKey 409", "reply createConnectCode 409",
	"maybe field Key.lastUsedAt", "maybe field Key.lastAddress", "maybe field Key.lastProgram",
	"maybe field Connection.lastAddress", "maybe field Connection.lastProgram",
	"value ConnectCode.state=expired", "value Problem.code=step_up_required",
}

// accountCalls returns a valid request for every operation on the account.
func (w *installation) accountCalls() []call {
	id := func(list, id string) string {
		if id == "" {
			id = noCredential
		}
		return accountPath + "/" + list + "/" + id
	}
	return []call{
		{operation: "getAccount", method: "GET", path: accountPath, key: w.fullKey},
		{operation: "changeAccount", method: "PATCH", path: accountPath, body: `{"name": "Ada"}`, key: w.fullKey},
		{operation: "listSessions", method: "GET", path: accountPath + "/sessions", key: w.fullKey},
		{operation: "endOtherSessions", method: "DELETE", path: accountPath + "/sessions", key: w.fullKey},
		{operation: "endSession", method: "DELETE", path: id("sessions", w.session), key: w.fullKey},
		{operation: "listKeys", method: "GET", path: accountPath + "/keys", key: w.fullKey},
		{operation: "createKey", method: "POST", path: accountPath + "/keys", body: `{"name": "another"}`, key: w.fullKey},
		{operation: "getKey", method: "GET", path: id("keys", w.apiKey), key: w.fullKey},
		{operation: "deleteKey", method: "DELETE", path: id("keys", w.apiKey), key: w.fullKey},
		{operation: "listConnectCodes", method: "GET", path: accountPath + "/connect-codes", key: w.fullKey},
		{operation: "createConnectCode", method: "POST", path: accountPath + "/connect-codes", key: w.fullKey},
		{operation: "getConnectCode", method: "GET", path: id("connect-codes", w.connectCode), key: w.fullKey},
		{operation: "cancelConnectCode", method: "DELETE", path: id("connect-codes", w.connectCode), key: w.fullKey},
		{operation: "listConnections", method: "GET", path: accountPath + "/connections", key: w.fullKey},
		{operation: "listConnectionAttempts", method: "GET", path: accountPath + "/connections/attempts", key: w.fullKey},
		{
			operation: "renameConnection",
			method:    "PATCH",
			path:      id("connections", w.connection),
			body:      `{"name": "x"}`,
			key:       w.fullKey,
		},
		{operation: "revokeConnection", method: "DELETE", path: id("connections", w.connection), key: w.fullKey},
		{operation: "listAudit", method: "GET", path: accountPath + "/audit", key: w.fullKey},
	}
}

// full makes a call with a key that has every scope of a member, and expects 200.
func (w *installation) full(t *testing.T, method, path, body string) reply {
	t.Helper()
	return w.send(t, call{method: method, path: path, body: body, key: w.fullKey}, http.StatusOK)
}

// browser signs a user in and returns a call with their cookie.
func (w *installation) browser(t *testing.T, email string) call {
	t.Helper()
	p := newPerson(t, w.server.URL)
	p.send("/sign-in", "email", email, "password", "correct horse battery")
	base, err := url.Parse(w.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.client.Jar.Cookies(base) {
		if c.Name == "carrel" {
			return call{method: "GET", path: accountPath}.with("Cookie", c.Name+"="+c.Value)
		}
	}
	t.Fatalf("after signing in there is no session: %v", p.client.Jar.Cookies(base))
	return call{}
}

func (w *installation) accounts(t *testing.T) {
	w.admin(t, "user", "create", "--email", "amy@example.org", "--name", "Amy",
		"--password", "correct horse battery", "--role", "admin")
	key := func(user, scopes string) string {
		return w.admin(t, "key", "create", "--user", user+"@example.org", "--name", "account", "--scope", scopes).text("key")
	}
	w.fullKey = key("ada", "agents,manage,account")
	for user, role := range map[string]string{"ada": "owner", "eve": "member", "amy": "admin"} {
		if got := w.send(t, call{method: "GET", path: accountPath, key: key(user, "account")},
			http.StatusOK); got.text("account", "role") != role {
			t.Errorf("%s is %v", user, got.body)
		}
	}
	w.full(t, "PATCH", accountPath, `{"name": "Ada"}`)
	w.problem(t, call{method: "PATCH", path: accountPath, body: `{"email": "bob@example.org"}`, key: w.fullKey}, 403,
		"session_required")
	owner := w.browser(t, "ada@example.org").with("Origin", w.server.URL)
	owner.method, owner.body = "PATCH", `{"email": "bob@example.org"}`
	w.problem(t, owner, 409, "conflict")
	member := w.browser(t, "eve@example.org").with("Origin", w.server.URL)
	member.method, member.body = "PATCH", `{"email": "bob@example.org"}`
	if got := w.send(t, member, http.StatusOK); got.text("account", "pendingEmail") != "bob@example.org" ||
		got.text("account", "email") != "eve@example.org" {
		t.Errorf("a member asks for an address and gets %v", got.body)
	}
	w.sessions(t)
	w.keys(t)
	w.connections(t)
	for _, c := range w.accountCalls() {
		if c.method == "GET" {
			tag := w.send(t, c, http.StatusOK).header.Get("ETag")
			w.send(t, c.with("If-None-Match", tag), http.StatusNotModified)
		}
	}
}

func (w *installation) sessions(t *testing.T) {
	admin := w.browser(t, "amy@example.org")
	if got := w.send(t, admin, http.StatusOK); got.text("credential", "kind") != "session" ||
		got.text("credential", "provedUntil") == "" {
		t.Errorf("in a browser it is %v", got.body)
	}
	admin.method, admin.body = "PATCH", `{"name": "Amy"}`
	w.problem(t, admin.with("Origin", "https://evil.example"), 403, "cross_origin")
	w.send(t, admin.with("Origin", w.server.URL), http.StatusOK)
	browser := w.browser(t, "ada@example.org")
	w.session = w.send(t, browser, http.StatusOK).text("credential", "id")
	w.full(t, "GET", accountPath+"/sessions", "")
	memory := browser
	memory.method, memory.path, memory.body = "POST", w.below("/memories"), `{"text": "I type this myself."}`
	if got := w.send(t, memory.with("Sec-Fetch-Site", "same-origin"),
		http.StatusOK); got.text("memory", "origin") != "user" {
		t.Errorf("what a person adds is %v", got.body)
	}
	w.full(t, "DELETE", accountPath+"/sessions/"+w.session, "")
	w.problem(t, browser, 401, "invalid_credential")
	w.full(t, "DELETE", accountPath+"/sessions", "")
	w.session = w.send(t, w.browser(t, "ada@example.org"), http.StatusOK).text("credential", "id")
	// The session cookie is valid for the pages and the API, and never for MCP.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+"/mcp",
		strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Cookie", w.browser(t, "ada@example.org").header["Cookie"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("/mcp answers a cookie with %d", resp.StatusCode)
	}
}

func (w *installation) keys(t *testing.T) {
	made := w.full(t, "POST", accountPath+"/keys",
		`{"name": "laptop", "scopes": ["agents", "manage", "account"], "agents": ["`+w.agent+
			`"], "expiresAt": "2099-01-01T00:00:00Z"}`)
	w.apiKey = made.text("key", "id")
	w.send(t, call{method: "GET", path: "/api/agents", key: made.text("token")}, http.StatusOK)
	admin := w.browser(t, "amy@example.org")
	admin.method, admin.path, admin.body = "POST", accountPath+"/keys", `{"name": "root", "scopes": ["admin"]}`
	w.send(t, admin.with("Sec-Fetch-Site", "same-origin"), http.StatusOK)
	admin.method, admin.body = "GET", ""
	w.send(t, admin, http.StatusOK)
	for _, body := range []string{
		`{}`, `{"name": "x", "scopes": ["root"]}`, `{"name": "x", "agents": ["junk"]}`, `{"name": "x", "expiresAt": "soon"}`,
	} {
		w.problem(t, call{method: "POST", path: accountPath + "/keys", body: body, key: w.fullKey}, 400, "invalid_request")
	}
	gone := w.full(t, "POST", accountPath+"/keys", `{"name": "short-lived"}`)
	w.full(t, "DELETE", accountPath+"/keys/"+gone.text("key", "id"), "")
	w.problem(t, call{method: "GET", path: "/api/agents", key: gone.text("token")}, 401, "invalid_credential")
	w.pagedAccount(t, "keys", "keys")
	w.pagedAccount(t, "audit", "events")
}

// pagedAccount reads the first and the second page of a list of the account, one row each.
func (w *installation) pagedAccount(t *testing.T, path, list string) {
	t.Helper()
	first := w.full(t, "GET", accountPath+"/"+path+"?limit=1", "")
	second := w.full(t, "GET", accountPath+"/"+path+"?limit=1&cursor="+first.text("nextCursor"), "")
	if first.text("nextCursor") == "" || second.at(list, 0) == nil {
		t.Errorf("%s: %v after %v", path, second.body, first.body)
	}
}

func (w *installation) connections(t *testing.T) {
	for range 2 {
		made := w.full(t, "POST", accountPath+"/connect-codes", "")
		w.connectCode = made.text("connectCode", "id")
		w.send(t, call{
			method: "POST",
			path:   "/api/connect/exchange",
			body:   `{"code": "` + made.text("code") + `", "client": "editor"}`,
		}, http.StatusOK)
	}
	claimed := w.full(t, "GET", accountPath+"/connect-codes/"+w.connectCode, "")
	w.connection = claimed.text("connectCode", "connectionId")
	w.problem(t, call{method: "DELETE", path: accountPath + "/connect-codes/" + w.connectCode, key: w.fullKey}, 409,
		"conflict")
	w.pagedAccount(t, "connect-codes", "connectCodes")
	w.pagedAccount(t, "connections", "connections")
	w.full(t, "PATCH", accountPath+"/connections/"+w.connection, `{"name": "at work"}`)
	w.full(t, "DELETE", accountPath+"/connections/"+w.connection, "")
	w.connection = w.full(t, "GET", accountPath+"/connections", "").text("connections", 0, "id")
	// One connect code is cancelled, the other stays open.
	cancelled := w.full(t, "POST", accountPath+"/connect-codes", "").text("connectCode", "id")
	w.full(t, "DELETE", accountPath+"/connect-codes/"+cancelled, "")
	w.connectCode = w.full(t, "POST", accountPath+"/connect-codes", "").text("connectCode", "id")
	w.full(t, "GET", accountPath+"/connect-codes/"+w.connectCode, "")
}

// accountStates writes the remaining states to the database and reads them.
func (w *installation) accountStates(t *testing.T, at string) {
	browser := w.browser(t, "ada@example.org")
	database(t, at, func(_ context.Context, conn *pgx.Conn) {
		execute(t, conn, "UPDATE credential_key SET last_used_at = 1, last_address = '203.0.113.7', last_program = 'curl'")
		execute(t, conn, "UPDATE connect_code SET expires_at = 1 WHERE id = '"+w.connectCode+"'")
		execute(t, conn, "UPDATE web_session SET authenticated_at = 1")
		execute(t, conn,
			`INSERT INTO oauth_attempt (id, user_id, client_id, client_name, stage, problem, wrong, address,
				program, count, first_at, last_at)
			SELECT 'try_x', id, 'cli_x', 'App', 'authorize', 'access_denied', '', '203.0.113.7', 'node', 2, 1, 2
			FROM app_user WHERE email = 'ada@example.org'`)
	})
	for _, list := range []string{"keys", "connections", "connections/attempts", "connect-codes"} {
		w.full(t, "GET", accountPath+"/"+list, "")
	}
	browser.method, browser.path, browser.body = "POST", accountPath+"/keys", `{"name": "x"}`
	w.problem(t, browser, 403, "step_up_required")
}
