package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
)

func TestAccount(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"KeyIsCreatedListedAndRevoked", keyLife},
		{"KeyCannotExceedItsCreator", keyBounds},
		{"InvalidKeysAreRefused", badKeys},
		{"SecretIsRepeatedToTheSameCredentialOnly", repeatedSecret},
		{"CodeShowsItsClient", codeLife},
		{"ConnectionsAreListedRenamedAndRevoked", connectionLife},
		{"OAuthGrantIsAConnection", grantLife},
		{"SessionsAreListedAndEnded", sessionLife},
		{"AuditLogIsPaged", auditPages},
		{"FailedConnectionsAreListed", attemptsListed},
		{"ObjectsOfOtherUsersAreNotFound", foreignAccount},
	})
}

// accountKey returns the user with a key that also has the account scope.
func (p *testUser) accountKey() *testUser {
	p.t.Helper()
	return p.with(p.key(credential.NewKey{Name: "account", Scopes: core.RoleMember.Scopes()}))
}

func keyLife(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	end := w.clock.Now().Add(time.Hour)
	a := b.post("/api/account/keys", object{
		"name": "laptop", "scopes": []string{"agents", "agents"}, "agents": []string{p.agent, p.agent},
		"expiresAt": end.Format(time.RFC3339Nano),
	}).ok(t)
	token, id := a.str("token"), a.str("key", "id")
	if a.header.Get("Cache-Control") != "no-store" || !strings.HasSuffix(token, a.str("key", "hint")) {
		t.Errorf("it was made as %v %s", a.header, a.body)
	}
	made := p.with(token)
	made.post("/api/agents", object{"name": "x"}).refused(t, 403, "insufficient_scope")
	made.get("/api/agents", "User-Agent", "curl/8.5.0\xff").ok(t)
	if err := w.credentials.FlushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := b.get("/api/account/keys").ok(t)
	if got := list.list("keys", "name"); !slices.Equal(got, []string{"laptop", "test"}) {
		t.Errorf("listed are %v", got)
	}
	for field, want := range map[string]string{
		"scopes": "[agents]", "agents": "[" + p.agent + "]", "lastAddress": "127.0.0.1", "lastProgram": "curl/8.5.0",
		"id":        id,
		"expiresAt": end.Format("2006-01-02T15:04:05.000Z"),
	} {
		if got := list.list("keys", field)[0]; got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	if strings.Contains(string(list.body), token[:20]) {
		t.Error("the list shows the token")
	}
	b.send("DELETE", "/api/account/keys/"+id, "").ok(t)
	made.get("/api/agents").refused(t, 401, "invalid_credential")
	b.send("DELETE", "/api/account/keys/"+id, "").refused(t, 404, "not_found")
	if got := b.get("/api/account/keys").ok(t).list("keys", "name"); !slices.Equal(got, []string{"test"}) {
		t.Errorf("afterwards listed are %v", got)
	}
	for _, name := range []string{"b", "c", "d"} {
		p.key(credential.NewKey{Name: name})
	}
	got := slices.Concat(p.accountKey().walk("/api/account/keys", "keys", "name", 2, func(int) {})...)
	if !slices.Equal(got, []string{"account", "d", "c", "b", "test"}) {
		t.Errorf("page by page there are %v", got)
	}
}

func keyBounds(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	second := p.newAgent("Second")
	full := p.accountKey()
	full.post("/api/account/keys", object{"name": "x", "scopes": []string{"agents", "manage", "account"}}).ok(t)
	full.post("/api/account/keys", object{"name": "x", "scopes": []string{"admin"}}).refused(t, 400, "invalid_request")
	p.signedIn().post("/api/account/keys", object{
		"name": "x", "scopes": []string{"agents", "admin"},
	}).refused(t, 400, "invalid_request")
	// A key with the account scope only cannot create keys with other scopes.
	alone := p.with(p.key(credential.NewKey{Name: "alone", Scopes: []core.Scope{core.ScopeAccount}}))
	alone.post("/api/account/keys", object{"name": "x"}).refused(t, 400, "invalid_request")
	alone.post("/api/account/keys", object{"name": "x", "scopes": []string{"account"}}).ok(t)
	// A key limited to an agent cannot create keys or connect codes, whatever its scopes.
	limited := p.with(p.key(credential.NewKey{
		Name: "limited", Scopes: core.RoleMember.Scopes(), Agents: []string{p.agent},
	}))
	limited.post("/api/account/keys", object{"name": "x"}).refused(t, 403, "limited_to_agents")
	limited.post("/api/account/keys", object{
		"name": "x", "agents": []string{p.agent},
	}).refused(t, 403, "limited_to_agents")
	limited.post("/api/account/keys", object{
		"name": "x", "agents": []string{p.agent, second},
	}).refused(t, 403, "limited_to_agents")
	limited.post("/api/account/connect-codes", "").refused(t, 403, "limited_to_agents")
	// An administrator may create keys with the admin scope.
	admin := w.user(t, core.PlanOpen)
	w.makeAdmin(t, admin)
	admin.signedIn().post("/api/account/keys", object{"name": "x", "scopes": []string{"admin"}}).ok(t)
}

func badKeys(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	b := p.signedIn()
	many := make([]string, 101)
	for i := range many {
		many[i] = p.agent
	}
	for name, c := range map[string]struct {
		body     object
		pointers []string
	}{
		"nothing":                {object{}, []string{"/name"}},
		"no name":                {object{"name": " "}, []string{"/name"}},
		"a long name":            {object{"name": strings.Repeat("x", 101)}, []string{"/name"}},
		"an unknown scope":       {object{"name": "x", "scopes": []string{"agents", "root"}}, []string{"/scopes/1"}},
		"a time that is none":    {object{"name": "x", "expiresAt": "tomorrow"}, []string{"/expiresAt"}},
		"a time that is over":    {object{"name": "x", "expiresAt": "2001-01-01T00:00:00Z"}, []string{"/expiresAt"}},
		"somebody else's agent":  {object{"name": "x", "agents": []string{other.agent}}, []string{"/agents/0"}},
		"an agent that is none":  {object{"name": "x", "agents": []string{"junk"}}, []string{"/agents/0"}},
		"too many agents":        {object{"name": "x", "agents": many}, []string{"/agents"}},
		"two wrong things":       {object{"name": "", "agents": []string{"junk"}}, []string{"/name", "/agents/0"}},
		"agents of another type": {object{"name": "x", "agents": []int{1}}, []string{"/agents"}},
	} {
		got := b.post("/api/account/keys", c.body).refused(t, 400, "invalid_request").pointers()
		if !slices.Equal(got, c.pointers) {
			t.Errorf("%s: the problem is in %v", name, got)
		}
	}
}

func repeatedSecret(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b, other := p.signedIn(), p.signedIn()
	without := p.with(p.key(credential.NewKey{Name: "manager", Scopes: []core.Scope{core.ScopeManage}}))
	for path, body := range map[string]string{
		"/api/account/keys": `{"name":"x"}`, "/api/account/connect-codes": "",
		"/api/account/webhooks": `{"url":"https://hooks.example"}`,
	} {
		first := b.send("POST", path, body, "Idempotency-Key", path).ok(t)
		again := b.send("POST", path, body, "Idempotency-Key", path).ok(t)
		if string(first.body) != string(again.body) || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: the second reply is %s after %s", path, again.body, first.body)
		}
		// A key without the scope must not get the stored secret with the same Idempotency-Key.
		without.send("POST", path, body, "Idempotency-Key", path).refused(t, 403, "insufficient_scope")
		other.send("POST", path, body, "Idempotency-Key", path).refused(t, 422, "idempotency_mismatch")
	}
}

func codeLife(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	made := b.post("/api/account/connect-codes", "").ok(t)
	one := "/api/account/connect-codes/" + made.str("connectCode", "id")
	if a := b.get(one).ok(t); a.str("connectCode", "state") != "waiting" ||
		a.value("connectCode", "connectionId") != nil || strings.Contains(string(a.body), made.str("code")) {
		t.Errorf("while it waits it is %s", a.body)
	}
	p.with("").post("/api/connect/exchange", object{"code": made.str("code"), "client": "editor"}).ok(t)
	a := b.get(one).ok(t)
	if a.str("connectCode", "state") != "claimed" || a.str("connectCode", "clientName") != "editor" ||
		a.str("connectCode", "claimedAt") == "" {
		t.Errorf("claimed it is %s", a.body)
	}
	got := b.get("/api/account/connections").ok(t).list("connections", "id")
	if !slices.Equal(got, []string{a.str("connectCode", "connectionId")}) {
		t.Errorf("the connections are %v", got)
	}
	b.send("DELETE", one, "").refused(t, 409, "conflict")
	second := b.post("/api/account/connect-codes", "").ok(t)
	b.send("DELETE", "/api/account/connect-codes/"+second.str("connectCode", "id"), "").ok(t)
	b.send("DELETE", "/api/account/connect-codes/"+second.str("connectCode", "id"), "").refused(t, 404, "not_found")
	p.with("").post("/api/connect/exchange", object{
		"code": second.str("code"), "client": "editor",
	}).refused(t, 400, "invalid_code")
	states := b.get("/api/account/connect-codes").ok(t).list("connectCodes", "state")
	if !slices.Equal(states, []string{"claimed"}) {
		t.Errorf("listed are %v", states)
	}
}

// connect connects a program with a code and returns the user with its key.
func (p *testUser) connect(client string) *testUser {
	p.t.Helper()
	_, code, err := p.w.credentials.CreateCode(p.t.Context(), core.Operator(p.id))
	if err != nil {
		p.t.Fatal(err)
	}
	return p.with(p.with("").post("/api/connect/exchange", object{"code": code, "client": client}).ok(p.t).str("token"))
}

func connectionLife(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	editor, shell := p.connect("editor"), p.connect("shell")
	editor.get("/api/agents", "User-Agent", "editor/2.1").ok(t)
	if err := w.credentials.FlushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := b.get("/api/account/connections").ok(t)
	if got := list.list("connections", "name"); !slices.Equal(got, []string{"shell", "editor"}) {
		t.Fatalf("listed are %v", got)
	}
	if list.list("connections", "lastProgram")[1] != "editor/2.1" || list.list("connections", "kind")[1] != "minted" {
		t.Errorf("listed is %s", list.body)
	}
	one := "/api/account/connections/" + list.list("connections", "id")[1]
	a := b.send("PATCH", one, `{"name":"at work"}`).ok(t)
	if a.str("connection", "name") != "at work" || a.str("connection", "clientName") != "editor" {
		t.Errorf("renamed it is %s", a.body)
	}
	b.send("PATCH", one, `{"name":""}`).refused(t, 400, "invalid_request")
	if got := b.walkConnections(1); !slices.Equal(got, []string{"shell", "at work"}) {
		t.Errorf("page by page there are %v", got)
	}
	b.get("/api/account/connections?cursor=x").refused(t, 400, "invalid_request")
	b.send("DELETE", one, "").ok(t)
	editor.get("/api/agents").refused(t, 401, "invalid_credential")
	shell.get("/api/agents").ok(t)
	b.send("DELETE", one, "").refused(t, 404, "not_found")
	b.send("PATCH", one, `{"name":"x"}`).refused(t, 404, "not_found")
	// An API key is not a connection.
	keys := b.get("/api/account/keys").ok(t).list("keys", "id")
	b.send("DELETE", "/api/account/connections/"+keys[0], "").refused(t, 404, "not_found")
	connection := b.get("/api/account/connections").ok(t).list("connections", "id")[0]
	b.send("DELETE", "/api/account/keys/"+connection, "").refused(t, 404, "not_found")
}

func (b *browser) walkConnections(limit int) []string {
	b.t.Helper()
	return slices.Concat(b.accountKey().walk("/api/account/connections", "connections", "name", limit, func(int) {})...)
}

// granted issues an OAuth grant, as the consent page does, and returns the user with its token.
func (p *testUser) granted() (program *testUser, grantID string) {
	p.t.Helper()
	client := p.with("").post("/api/auth/mcp/register", object{
		"client_name": "App", "redirect_uris": []string{"https://app.example/cb"}, "token_endpoint_auth_method": "none",
	})
	if client.status != http.StatusCreated {
		p.t.Fatalf("register: %d %s", client.status, client.body)
	}
	code := oauth.Code{
		GrantID: core.NewID(core.PrefixGrant), UserID: p.id, ClientID: client.str("client_id"),
		RedirectURI: "https://app.example/cb", Challenge: "c",
		Scopes: []string{"openid", "agents", "manage", "offline_access"}, Resources: []string{baseURL},
		AuthTime: p.w.clock.Now(), ExpiresAt: p.w.clock.Now().Add(time.Hour),
	}
	access, hash := credential.NewSecret(p.w.tokens.Access), []byte(core.NewSeed())
	if err := p.w.db.InsertAuthCode(p.t.Context(), code, hash); err != nil {
		p.t.Fatal(err)
	}
	_, err := p.w.db.RedeemAuthCode(p.t.Context(), p.w.clock, oauth.Redemption{
		CodeHash: hash, ClientID: code.ClientID, RedirectURI: code.RedirectURI, Challenge: code.Challenge,
		Narrow:     func(g oauth.Grant) ([]string, []string, error) { return g.Scopes, g.Resources, nil },
		AccessHash: credential.Hash(secret, access), RefreshHash: []byte(core.NewSeed()),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.with(access), code.GrantID
}

func grantLife(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	app, id := p.granted()
	app.get("/api/agents").ok(t)
	list := b.get("/api/account/connections").ok(t)
	for field, want := range map[string]string{
		"id": id, "kind": "oauth", "name": "App", "clientName": "App", "scopes": "[agents manage]", "agents": "[]",
	} {
		if got := list.list("connections", field)[0]; got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	one := "/api/account/connections/" + id
	b.send("PATCH", one, `{"name":"Desktop"}`).ok(t)
	got := b.get("/api/account/connections").ok(t).list("connections", "name")
	if !slices.Equal(got, []string{"Desktop"}) {
		t.Errorf("renamed it is %v", got)
	}
	b.send("DELETE", one, "").ok(t)
	app.get("/api/agents").refused(t, 401, "invalid_credential")
	if got := b.get("/api/account/audit").ok(t).list("events", "event"); got[0] != "grant_revoked" {
		t.Errorf("the log says %v", got)
	}
	b.send("DELETE", one, "").refused(t, 404, "not_found")
}

func sessionLife(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	old, other, b := p.signedIn(), p.signedIn(), p.signedIn()
	list := b.get("/api/account/sessions").ok(t)
	if got := list.list("sessions", "id"); !slices.Equal(got, []string{b.session.ID, other.session.ID, old.session.ID}) {
		t.Errorf("listed are %v", got)
	}
	if got := list.list("sessions", "current"); !slices.Equal(got, []string{"true", "false", "false"}) {
		t.Errorf("current are %v", got)
	}
	b.send("DELETE", "/api/account/sessions/"+old.session.ID, "").ok(t)
	old.get("/api/account").refused(t, 401, "invalid_credential")
	b.send("DELETE", "/api/account/sessions/"+old.session.ID, "").refused(t, 404, "not_found")
	b.send("DELETE", "/api/account/sessions", "").ok(t)
	other.get("/api/account").refused(t, 401, "invalid_credential")
	b.get("/api/account").ok(t)
	got := b.get("/api/account/audit").ok(t).list("events", "event")
	if !slices.Equal(got[:2], []string{"session_ended", "session_ended"}) {
		t.Errorf("the log says %v", got)
	}
	// A key has no session of its own, so it ends all sessions. A session may end itself.
	second := p.signedIn()
	second.send("DELETE", "/api/account/sessions/"+second.session.ID, "").ok(t)
	second.get("/api/account").refused(t, 401, "invalid_credential")
	p.accountKey().send("DELETE", "/api/account/sessions", "").ok(t)
	b.get("/api/account").refused(t, 401, "invalid_credential")
}

func auditPages(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	for range 4 {
		p.key(credential.NewKey{Name: "k"})
		other.key(credential.NewKey{Name: "theirs"})
	}
	account := p.accountKey()
	all := account.get("/api/account/audit").ok(t)
	if got := all.list("events", "event"); len(got) != 6 || strings.Contains(string(all.body), "theirs") {
		t.Errorf("the log is %s", all.body)
	}
	if got := all.list("events", "actor")[0]; got != "operator" {
		t.Errorf("made by %s", got)
	}
	paged := slices.Concat(account.walk("/api/account/audit", "events", "detail", 2, func(int) {})...)
	if !slices.Equal(paged, all.list("events", "detail")) {
		t.Errorf("page by page it is %v", paged)
	}
	for _, cursor := range []string{
		"x", core.EncodeCursor("audit", "0"), core.EncodeCursor("audit", "-1"), core.EncodeCursor("audit", "x"),
		core.EncodeCursor("keys", "1"),
	} {
		account.get("/api/account/audit?cursor="+cursor).refused(t, 400, "invalid_request")
	}
}

func attemptsListed(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	err := w.db.RecordAttempt(t.Context(), oauth.Attempt{
		ID: core.NewID("try"), UserID: p.id, Stage: oauth.StageAuthorize, Problem: "access_denied", Count: 1,
		FirstAt: w.clock.Now(), LastAt: w.clock.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	a := p.signedIn().get("/api/account/connections/attempts").ok(t)
	if got := a.list("attempts", "wrong"); !slices.Equal(got, []string{"You denied access."}) {
		t.Errorf("the attempts are %s", a.body)
	}
}

func foreignAccount(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen).accountKey(), w.user(t, core.PlanOpen)
	theirs := other.signedIn()
	other.connect("editor")
	key := theirs.get("/api/account/keys").ok(t).list("keys", "id")[0]
	connection := theirs.get("/api/account/connections").ok(t).list("connections", "id")[0]
	_, grant := other.granted()
	code := theirs.post("/api/account/connect-codes", "").ok(t).str("connectCode", "id")
	none := "crd_" + strings.Repeat("0", 26)
	for path, ids := range map[string][]string{
		"DELETE /api/account/sessions/ID":      {none, theirs.session.ID, "junk", key},
		"DELETE /api/account/keys/ID":          {none, key, "junk", connection},
		"GET /api/account/connect-codes/ID":    {none, code, "junk", key},
		"DELETE /api/account/connect-codes/ID": {none, code, "junk", key},
		"PATCH /api/account/connections/ID":    {none, connection, "junk", grant, key},
		"DELETE /api/account/connections/ID":   {none, connection, "junk", grant, key},
	} {
		method, target, _ := strings.Cut(path, " ")
		body := ""
		if method == "PATCH" {
			body = `{"name":"x"}`
		}
		sameRefusal(t, p, [3]string{method, target, body}, "ID", ids)
	}
	theirs.get("/api/account/keys").ok(t)
	if got := len(theirs.get("/api/account/connections").ok(t).list("connections", "id")); got != 2 {
		t.Errorf("the other has %d connections", got)
	}
}
