package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"carrel/api"
	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// sensitivity is the kind of credential that an operation on accounts requires, in addition to its scope.
type sensitivity string

const (
	// freshSession operations change the sign-in methods of an account. They need a session with a recent proof; keys
	// are refused.
	freshSession sensitivity = "fresh session"
	// anySession operations prove an identity or list sign-in methods. They need a session; keys are refused.
	anySession sensitivity = "session"
	// minting operations create a credential. They need a session with a recent proof, or a key, whose credentials
	// expire with it.
	minting sensitivity = "minting"
	// proved operations need a session with a recent proof, or a key.
	proved sensitivity = "proved"
	// ordinary operations accept any credential with the scope.
	ordinary sensitivity = "ordinary"
)

// sensitivities lists every operation that changes an account. An operation of the contract that is missing here
// fails the test, so that it cannot be forgotten. "changeAccount email" is changeAccount with that field.
var sensitivities = map[string]sensitivity{
	"changeAccount email": freshSession, "changePassword": freshSession, "deleteAccount": freshSession,
	"addPasskey": freshSession, "beginPasskey": freshSession, "removePasskey": freshSession,
	"beginTotp": freshSession, "confirmTotp": freshSession, "removeTotp": freshSession, "renewRecoveryCodes": freshSession,
	"changeUser email": freshSession, "changeUser role": freshSession,
	"createUser": freshSession, "resetPassword": freshSession, "createAccountInvitation": freshSession,
	"stepUp": anySession, "beginStepUp": anySession, "renamePasskey": anySession,
	"acceptInvitation": anySession, "declineInvitation": anySession,
	"createKey": minting, "createConnectCode": minting,
	"changeUser": proved, "deleteUser": proved,
	"changeAccount": ordinary, "createExport": ordinary, "deleteExport": ordinary, "endOtherSessions": ordinary,
	"endSession": ordinary,
	"deleteKey":  ordinary, "cancelConnectCode": ordinary, "renameConnection": ordinary, "revokeConnection": ordinary,
	"startCheckout": ordinary, "openPortal": ordinary, "setCredentialCap": ordinary,
	"createThreadLink": ordinary, "deleteLink": ordinary,
	"createWebhook": ordinary, "changeWebhook": ordinary, "deleteWebhook": ordinary, "testWebhook": ordinary,
	"redeliverWebhook": ordinary,
	"putSubscription":  ordinary, "cancelSubscription": ordinary, "putPlan": ordinary, "deletePlan": ordinary,
	"cancelTask": ordinary, "testModels": ordinary, "revokeAccountInvitation": ordinary,
}

func TestEveryAccountOperationHasACredentialRule(t *testing.T) {
	t.Parallel()
	var document struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(api.Document, &document); err != nil {
		t.Fatal(err)
	}
	known := 0
	for path, item := range document.Paths {
		for method, node := range item {
			if method == "parameters" || method == "get" ||
				!strings.HasPrefix(path, "/api/account") && !strings.HasPrefix(path, "/api/admin") {
				continue
			}
			var operation struct {
				ID string `yaml:"operationId"`
			}
			if err := node.Decode(&operation); err != nil {
				t.Fatal(err)
			}
			known++
			if sensitivities[operation.ID] == "" {
				t.Errorf("%s (%s %s) is not in the table of sensitivities", operation.ID, method, path)
			}
		}
	}
	if known < 30 {
		t.Errorf("only %d operations were found: the test reads the contract wrongly", known)
	}
}

// Every sensitive operation is sent with every kind of credential.
func TestSignInMethodsChangeOnlyWithAFreshSession(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"EveryOperationWithEveryCredential", everyOperationWithEveryCredential},
		{"KeysCreatedByKeysAreLimited", madeByKeys},
	})
}

// ownerAndMember returns the owner of the installation, and a member.
func (w *testServer) ownerAndMember(t *testing.T) (*testUser, *testUser) {
	t.Helper()
	u := account.User{
		ID: core.NewID(core.PrefixUser), Name: "O", Role: core.RoleOwner, Plan: core.PlanOpen, CreatedAt: w.clock.Now(),
	}
	u.Email = u.ID + "@example.org"
	if err := w.db.InsertUser(t.Context(), u, "none"); err != nil {
		t.Fatal(err)
	}
	return &testUser{t: t, w: w, id: u.ID}, w.user(t, core.PlanOpen)
}

// sensitiveCall is the request for an operation.
type sensitiveCall struct {
	method, path, body string
}

func sensitiveCalls(owner, member *testUser) map[string]sensitiveCall {
	user := "/api/admin/users/" + member.id
	calls := map[string]sensitiveCall{
		"changeAccount email":     {"PATCH", "/api/account", `{"email": "new-` + owner.id + `@example.org"}`},
		"deleteAccount":           {"DELETE", "/api/account", `{"email": "not the address"}`},
		"renewRecoveryCodes":      {"POST", "/api/account/totp/recovery-codes", ""},
		"changeUser email":        {"PATCH", user, `{"email": "new-` + member.id + `@example.org"}`},
		"changeUser role":         {"PATCH", user, `{"role": "admin"}`},
		"createKey":               {"POST", "/api/account/keys", `{"name": "x", "scopes": ["account"]}`},
		"createConnectCode":       {"POST", "/api/account/connect-codes", ""},
		"changeUser":              {"PATCH", user, `{"disabled": false}`},
		"createUser":              {"POST", "/api/admin/users", `{"email": "created-` + owner.id + `@example.org", "name": "G"}`},
		"resetPassword":           {"POST", user + "/reset", `{}`},
		"createAccountInvitation": {"POST", "/api/admin/invitations", `{}`},
		"deleteUser":              {"DELETE", "/api/admin/users/usr_none", ""},
		"acceptInvitation":        {"POST", "/api/account/invitations/agt_none/accept", ""},
		"declineInvitation":       {"DELETE", "/api/account/invitations/agt_none", ""},
	}
	for name, c := range signInCalls() {
		method, path, _ := strings.Cut(c[0], " ")
		if name != "renewCodes" && method != "GET" {
			calls[name] = sensitiveCall{method, path, c[1]}
		}
	}
	return calls
}

func everyOperationWithEveryCredential(t *testing.T, w *testServer) {
	owner, member := w.ownerAndMember(t)
	fresh, stale := owner.signedIn(), owner.signedIn()
	stale.expireProof()
	key := func(scopes ...core.Scope) func(sensitiveCall) answer {
		with := owner.with(owner.key(credential.NewKey{Name: "k", Scopes: scopes}))
		return func(c sensitiveCall) answer { return with.send(c.method, c.path, c.body) }
	}
	minted := owner.connect("editor")
	app, _ := owner.granted()
	by := func(p *testUser) func(sensitiveCall) answer {
		return func(c sensitiveCall) answer { return p.send(c.method, c.path, c.body) }
	}
	account := key(core.RoleMember.Scopes()...)
	admin := key(core.ScopeAgents, core.ScopeAdmin)
	everything := key(core.RoleOwner.Scopes()...)
	calls := sensitiveCalls(owner, member)
	before := w.state(t, owner, member)
	for name, level := range sensitivities {
		if level == ordinary {
			continue
		}
		c, known := calls[name]
		if !known {
			t.Errorf("there is no request for %s", name)
			continue
		}
		byKey, byStale := "session_required", "step_up_required"
		switch level {
		case minting, proved:
			byKey = ""
		case anySession:
			byStale = ""
		}
		byAccountKey, byAdminKey := byKey, "insufficient_scope"
		if strings.HasPrefix(c.path, "/api/admin") {
			byAccountKey, byAdminKey = "insufficient_scope", byKey
		}
		for who, cell := range map[string]struct {
			send func(sensitiveCall) answer
			code string
		}{
			"a stale session": {func(c sensitiveCall) answer {
				return stale.send(c.method, c.path, c.body)
			}, byStale},
			"a key for the account":      {account, byAccountKey},
			"a key with all scopes":      {everything, byKey},
			"a key from a connect code":  {by(minted), "insufficient_scope"},
			"an OAuth token":             {by(app), "insufficient_scope"},
			"a key for agents and admin": {admin, byAdminKey},
		} {
			a := cell.send(c)
			if cell.code == "" {
				if a.status == 403 && a.str("code") != "proof_failed" {
					t.Errorf("%s by %s is refused: %s", name, who, a.body)
				}
				continue
			}
			if a.status != 403 || a.str("code") != cell.code {
				t.Errorf("%s by %s: %d %s, want 403 %s", name, who, a.status, a.body, cell.code)
			}
		}
	}
	if after := w.state(t, owner, member); after != before {
		t.Errorf("a refused request changed something:\n%s\n%s", before, after)
	}
	for name, c := range calls {
		if a := fresh.send(c.method, c.path, c.body); a.status == 403 && a.str("code") != "proof_failed" {
			t.Errorf("%s in a fresh session is refused: %s", name, a.body)
		}
	}
	if after := w.state(t, owner, member); after == before {
		t.Error("a fresh session changes nothing either: the test sends nothing that would")
	}
}

// state describes the sign-in methods of users, for comparison.
func (w *testServer) state(t *testing.T, people ...*testUser) string {
	t.Helper()
	var out strings.Builder
	for _, p := range people {
		u, err := w.db.UserByID(t.Context(), p.id)
		if err != nil {
			t.Fatal(err)
		}
		_, hash, err := w.db.PasswordHash(t.Context(), u.Email)
		if err != nil {
			t.Fatal(err)
		}
		passkeys, err := w.db.Passkeys(t.Context(), p.id)
		if err != nil {
			t.Fatal(err)
		}
		app, err := w.db.TOTP(t.Context(), p.id)
		if err != nil && !core.IsKind(err, core.KindNotFound) {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%+v %s %v %v\n", u, hash, passkeys, app)
	}
	return out.String()
}

// madeByKeys checks that a key created by a key has at most its scopes, agents and lifetime, and is revoked with it.
func madeByKeys(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b := p.signedIn()
	end := w.clock.Now().Add(time.Hour)
	at := func(after time.Duration) string { return end.Add(after).Format(time.RFC3339Nano) }
	made := b.post("/api/account/keys", object{
		"name": "maker", "scopes": []string{"agents", "manage", "account"}, "expiresAt": at(0),
	}).ok(t)
	maker := p.with(made.str("token"))
	maker.post("/api/account/keys", object{"name": "x", "scopes": []string{"admin"}}).refused(t, 400, "invalid_request")
	later := maker.post("/api/account/keys", object{
		"name": "x", "expiresAt": at(time.Millisecond),
	}).refused(t, 400, "invalid_request")
	if got := later.pointers(); len(got) != 1 || got[0] != "/expiresAt" {
		t.Errorf("the problem of a later end is in %v", got)
	}
	for name, expires := range map[string]any{"no end": nil, "the same end": at(0)} {
		body := object{"name": name, "scopes": []string{"agents", "manage", "account"}}
		if expires != nil {
			body["expiresAt"] = expires
		}
		got := maker.post("/api/account/keys", body).ok(t).str("key", "expiresAt")
		if got != end.Format("2006-01-02T15:04:05.000Z") {
			t.Errorf("%s ends %s", name, got)
		}
	}
	child := p.with(maker.post("/api/account/keys", object{
		"name": "child", "scopes": []string{"agents", "manage", "account"},
	}).ok(t).str("token"))
	grandchild := p.with(child.post("/api/account/keys", object{
		"name": "grandchild", "scopes": []string{"agents"},
	}).ok(t).str("token"))
	code := child.post("/api/account/connect-codes", "").ok(t).str("code")
	waiting := child.post("/api/account/connect-codes", "").ok(t).str("code")
	minted := p.with(p.with("").post("/api/connect/exchange", object{"code": code, "client": "editor"}).ok(t).str("token"))
	for _, one := range b.get("/api/account/connections").ok(t).list("connections", "expiresAt") {
		if one != end.Format("2006-01-02T15:04:05.000Z") {
			t.Errorf("what connected with a code ends %s", one)
		}
	}
	own := p.with(b.post("/api/account/keys", object{"name": "own"}).ok(t).str("token"))
	for _, program := range []*testUser{maker, child, grandchild, minted, own} {
		program.get("/api/agents").ok(t)
	}
	b.send("DELETE", "/api/account/keys/"+made.str("key", "id"), "").ok(t)
	for _, program := range []*testUser{maker, child, grandchild, minted} {
		program.get("/api/agents").refused(t, 401, "invalid_credential")
	}
	p.with("").post("/api/connect/exchange", object{"code": waiting, "client": "editor"}).refused(t, 400, "invalid_code")
	own.get("/api/agents").ok(t)
	// A key with a spend cap can neither remove it nor create a key without one.
	capped := b.post("/api/account/keys", object{
		"name": "capped", "scopes": []string{"agents", "manage", "account"},
	}).ok(t)
	limit := "/api/account/spend-caps/" + capped.str("key", "id")
	b.send("PUT", limit, `{"capMicros": 5}`).ok(t)
	with := p.with(capped.str("token"))
	with.send("PUT", limit, `{"capMicros": 500}`).refused(t, 403, "forbidden")
	with.post("/api/account/keys", object{"name": "x"}).refused(t, 403, "forbidden")
	with.post("/api/account/connect-codes", "").refused(t, 403, "forbidden")
}
