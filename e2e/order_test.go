package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	contractdoc "carrel/api"
	"carrel/internal/core"
	"carrel/internal/testkit"
)

// TestErrorsHaveAFixedPrecedence sends requests with several errors at once to every operation of the contract, and
// expects the error that takes precedence: 401 (credential), 403 (scope, role, session), 404 (agent), 402 (plan, cap),
// 400.
func TestErrorsHaveAFixedPrecedence(t *testing.T) {
	t.Parallel()
	w := newOrderInstallation(t)
	for _, id := range slices.Sorted(maps.Keys(w.operations)) {
		op := w.operations[id]
		rule, known := core.Operation(id).Rule()
		if !known {
			t.Errorf("%s has no access rule", id)
			continue
		}
		if rule.Access == core.AccessPublic || rule.Access == core.AccessUser {
			continue // these protocols have their own errors
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w.refusals(t, op, rule)
		})
	}
}

// orderInstallation is a server with an agent, and credentials with too little access.
type orderInstallation struct {
	*installation
	operations map[string]wrongRequest
	// reader, manager, account and minted are keys for agents only, for managing agents only, for the account only, and of
	// a connected program.
	reader, manager, account, minted string
	// planless is a key of a user with an agent and no subscription; member is a key of a user who is no administrator,
	// and owner a key of the owner for everything.
	planless, planlessAgent, member, owner string
}

// wrongRequest is a request for an operation whose body, if it has one, is not JSON.
type wrongRequest struct {
	id, method, path string
	body             bool
}

func newOrderInstallation(t *testing.T) *orderInstallation {
	t.Helper()
	opts := testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}}
	w := &orderInstallation{
		installation: &installation{server: testkit.StartServer(t, opts), client: &http.Client{Timeout: testkit.Patience}},
	}
	w.admin(t, "user", "create", "--email", "ada@example.org", "--name", "ada", "--password", matrixPassword)
	for name, plan := range map[string]string{"olga": "open", "paul": "none"} {
		w.admin(t, "user", "create", "--email", name+"@example.org", "--name", name,
			"--password", matrixPassword, "--plan", plan)
	}
	w.admin(t, "user", "create", "--email", "mia@example.org", "--name", "mia", "--password", matrixPassword)
	key := func(user, scopes string) string {
		return w.admin(t, "key", "create", "--user", user+"@example.org", "--name", "test", "--scope", scopes).text("key")
	}
	w.agent = w.admin(t, "agent", "create", "--user", "olga@example.org", "--name", "Order").text("agent", "id")
	w.planlessAgent = w.admin(t, "agent", "create", "--user", "paul@example.org", "--name", "Order").text("agent", "id")
	w.key, w.reader, w.account = key("olga", "agents,manage,account"), key("olga", "agents"), key("olga", "account")
	w.manager = key("olga", "manage")
	w.owner = key("ada", "agents,manage,account,admin")
	w.planless, w.member = key("paul", "agents,manage,account"), key("mia", "agents,manage,account")
	code := w.admin(t, "connect-code", "create", "--user", "olga@example.org").text("code")
	w.minted = w.send(t, call{
		method: "POST", path: "/api/connect/exchange", body: `{"code": "` + code + `", "client": "test"}`,
	}, http.StatusOK).text("token")
	w.operations = wrongRequests(t)
	return w
}

// wrongRequests returns a request for every operation of the contract.
func wrongRequests(t *testing.T) map[string]wrongRequest {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(contractdoc.Document, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]wrongRequest{}
	for path, item := range doc.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			var op struct {
				ID   string    `yaml:"operationId"`
				Body yaml.Node `yaml:"requestBody"`
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			out[op.ID] = wrongRequest{op.ID, strings.ToUpper(method), path, !op.Body.IsZero()}
		}
	}
	if len(out) < 100 {
		t.Fatalf("the contract has only %d operations", len(out))
	}
	return out
}

// at returns the request for an agent; the other ids do not exist.
func (r wrongRequest) at(agentID, key string) call {
	var parts []string
	for _, part := range strings.Split(r.path, "/") {
		switch {
		case part == "{agentId}":
			part = agentID
		case strings.HasPrefix(part, "{"):
			part = "nowhere"
		}
		parts = append(parts, part)
	}
	c := call{operation: r.id, method: r.method, path: strings.Join(parts, "/"), key: key}
	if r.body {
		c.body = `{"`
	}
	return c
}

// refusals checks every error of an operation, each with a body that is invalid as well.
func (w *orderInstallation) refusals(t *testing.T, op wrongRequest, rule core.Rule) {
	want := func(c call, status int, code string) {
		t.Helper()
		got, body, _, err := w.exchange(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r := decoded(t, body); got != status || r.text("code") != code {
			t.Errorf("%s %s: %d %v, want %d %s", c.method, c.path, got, r.body, status, code)
		}
	}
	unknown := "agt_" + strings.Repeat("0", 26)
	want(op.at(unknown, ""), 401, "missing_credential")
	want(op.at(unknown, "no credential at all"), 401, "invalid_credential")
	narrow := map[core.Access][]string{
		core.AccessRead: {w.account}, core.AccessUse: {w.account}, core.AccessManage: {w.account, w.reader},
		core.AccessOwn:     {w.account, w.reader},
		core.AccessAccount: {w.minted, w.reader}, core.AccessAdmin: {w.minted, w.reader, w.account, w.member},
	}[rule.Access]
	if rule.Area == core.AreaWebhooks {
		narrow = []string{w.manager} // the keys for agents and for the account manage webhooks
	}
	if rule.Area == core.AreaAccount && rule.OnAgent {
		narrow = []string{w.reader, w.manager, w.minted}
	}
	if len(narrow) == 0 {
		t.Fatalf("no credential lacks the level %v", rule.Access)
	}
	for _, key := range narrow {
		want(op.at(unknown, key), 403, "insufficient_scope")
	}
	switch {
	case rule.Session && rule.Access == core.AccessAdmin:
		want(op.at(w.agent, w.owner), 403, "session_required")
	case rule.Session:
		want(op.at(w.agent, w.key), 403, "session_required")
	}
	if rule.OnAgent {
		want(op.at(unknown, w.planless), 404, "not_found")
		want(op.at(w.agent, w.planless), 404, "not_found") // the agent of another account
	}
	if rule.Metered {
		want(op.at(w.planlessAgent, w.planless), 402, "no_subscription")
	}
	if op.body && !rule.Session && !rule.Proof && rule.Access != core.AccessAdmin && !slices.Contains(notJSON, op.id) {
		want(op.at(w.agent, w.key), 400, "malformed_json")
	}
}

// notJSON are the operations whose bodies are not JSON.
var notJSON = []string{"uploadFiles", "createUpload", "appendUpload", "importFavouriteFile"}

// TestStoredReplyIsNotRepeatedToACredentialWithLessAccess repeats requests with their Idempotency-Key and a credential
// of the same user with less access, which must not get the stored reply.
func TestStoredReplyIsNotRepeatedToACredentialWithLessAccess(t *testing.T) {
	t.Parallel()
	w := newOrderInstallation(t)
	other := w.do(t, "POST", "/api/agents", `{"name": "Other"}`).text("agent", "id")
	limited := w.admin(t, "key", "create", "--user", "olga@example.org", "--name", "limited", "--agent", other).text("key")
	for _, c := range []struct {
		operation, path, body string
		key                   string
		status                int
		code                  string
	}{
		{"createAgent", "/api/agents", `{"name": "Mine"}`, w.reader, 403, "insufficient_scope"},
		{"addMemory", w.below("/memories"), `{"text": "One."}`, w.account, 403, "insufficient_scope"},
		{"addMemory", w.below("/memories"), `{"text": "Two."}`, limited, 404, "not_found"},
		{"saveFavourite", w.below("/favourites"), `{"card": {"id": "x"}}`, limited, 404, "not_found"},
		{"createThread", w.below("/threads"), `{"title": "x"}`, limited, 404, "not_found"},
		{"createSource", w.below("/sources"), `{"name": "x"}`, w.reader, 403, "insufficient_scope"},
		{"createSource", w.below("/sources"), `{"name": "y"}`, limited, 404, "not_found"},
	} {
		again := call{method: "POST", path: c.path, body: c.body, key: w.key}.with("Idempotency-Key", c.operation+c.body)
		first := w.send(t, again, http.StatusOK)
		if r := w.send(t, again, http.StatusOK); r.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s is not repeated to its own credential: %v after %v", c.operation, r.body, first.body)
		}
		again.key = c.key
		w.problem(t, again, c.status, c.code)
	}
}
