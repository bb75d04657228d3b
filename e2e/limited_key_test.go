package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	contractdoc "carrel/api"
	"carrel/internal/testkit"
)

// openToLimitedKeys are the operations outside of single agents that a key for one agent may use, with the reason. A
// new operation of the contract must be refused to such a key, or be added here.
var openToLimitedKeys = map[string]string{
	"listAgents":                  "lists the agents of the key alone",
	"searchAgents":                "searches the agents of the key alone",
	"listAllFavourites":           "lists favourites with the agents of the key alone",
	"exportAllFavourites":         "as above",
	"exportSelectedFavourites":    "as above",
	"listFavouriteTags":           "as above",
	"listAllThreads":              "lists threads with the agents of the key alone",
	"listThreadTags":              "as above",
	"exchangeConnectCode":         "takes a connect code and no key",
	"takeStripeEvent":             "takes Stripe's signature and no key",
	"resourceMetadata":            "public",
	"mcpResourceMetadata":         "public",
	"authorizationServerMetadata": "public",
	"openidConfiguration":         "public",
	"wellKnownKeys":               "public",
	"signingKeys":                 "public",
	"registerClient":              "public (RFC 7591)",
	"authorizeClient":             "takes a session and no key",
	"decideAuthorization":         "takes a session and no key",
	"issueToken":                  "takes the credentials of an OAuth client and no key",
	"introspectToken":             "takes the credentials of an OAuth client and no key",
	"revokeToken":                 "takes the credentials of an OAuth client and no key",
	"getUserinfo":                 "takes an OAuth token with openid and no key",
	"postUserinfo":                "takes an OAuth token with openid and no key",
}

// operation is an operation of the contract, as far as the test needs it.
type operation struct {
	ID          string `yaml:"operationId"`
	RequestBody struct {
		Content map[string]struct{ Schema map[string]any }
	} `yaml:"requestBody"`
	method, path string
}

// operationsOfContract returns all operations, and the schemas of their bodies.
func operationsOfContract(t *testing.T) ([]operation, map[string]map[string]any) {
	t.Helper()
	var doc struct {
		Paths      map[string]map[string]yaml.Node
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := yaml.Unmarshal(contractdoc.Document, &doc); err != nil {
		t.Fatal(err)
	}
	var out []operation
	for path, item := range doc.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			op := operation{method: strings.ToUpper(method), path: path}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			out = append(out, op)
		}
	}
	return out, doc.Components.Schemas
}

// sample returns a value that a schema accepts: its example, its default, or its required members.
func sample(schemas map[string]map[string]any, s map[string]any) any {
	if ref, ok := s["$ref"].(string); ok {
		return sample(schemas, schemas[strings.TrimPrefix(ref, "#/components/schemas/")])
	}
	if v, ok := s["example"]; ok {
		return v
	}
	if list, ok := s["enum"].([]any); ok {
		return list[0]
	}
	switch s["type"] {
	case "object":
		out := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		for name, p := range properties {
			required, _ := s["required"].([]any)
			if of, ok := p.(map[string]any); ok && slices.Contains(required, any(name)) {
				out[name] = sample(schemas, of)
			}
		}
		return out
	case "array":
		return []any{}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	}
	return "text"
}

// TestKeyForOneAgentCannotUseAccountOperations calls every operation of the contract that is not below an agent,
// with a key that has all scopes and is limited to one agent.
func TestKeyForOneAgentCannotUseAccountOperations(t *testing.T) {
	t.Parallel()
	opts := testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}}
	sells(t, &opts) // otherwise the operations that sell plans are 404 for everybody
	w := &installation{server: testkit.StartServer(t, opts), client: http.DefaultClient}
	w.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")
	agent := w.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks").text("agent", "id")
	key := func(more ...string) string {
		return w.admin(t, append(
			[]string{"key", "create", "--user", "ada@example.org", "--name", "test", "--scope", "agents,manage,account,admin"},
			more...)...).text("key")
	}
	limited, whole := key("--agent", agent), key()
	account := func() string {
		got := w.send(t, call{method: "GET", path: accountPath + "/audit", key: whole}, http.StatusOK)
		b, err := json.Marshal(got.body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := account()

	operations, schemas := operationsOfContract(t)
	seen := map[string]bool{}
	for _, op := range operations {
		if strings.Contains(op.path, "{agentId}") {
			continue // checked against the agents of the key one by one
		}
		seen[op.ID] = true
		if openToLimitedKeys[op.ID] != "" {
			if strings.HasPrefix(op.path, accountPath) || strings.HasPrefix(op.path, adminPath) {
				t.Errorf("%s is account-wide and can't be open to such a key", op.ID)
			}
			continue
		}
		c := call{operation: op.ID, method: op.method, path: fillPath(op.path), key: limited}
		if content, ok := op.RequestBody.Content["application/json"]; ok {
			b, err := json.Marshal(sample(schemas, content.Schema))
			if err != nil {
				t.Fatal(err)
			}
			c.body = string(b)
		}
		if status, got := w.try(t, c); status != http.StatusForbidden || got.text("code") != "limited_to_agents" {
			t.Errorf("%s (%s %s): %d %v, want 403 limited_to_agents, or an entry in openToLimitedKeys", op.ID,
				op.method, op.path, status, got.body)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(openToLimitedKeys)) {
		if !seen[id] {
			t.Errorf("there is no operation %s", id)
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d operations were tried", len(seen))
	}
	if after := account(); after != before {
		t.Errorf("refused requests had an effect:\n%s\n%s", before, after)
	}
}

// fillPath inserts ids that do not exist into a path.
func fillPath(path string) string {
	for {
		i, j := strings.Index(path, "{"), strings.Index(path, "}")
		if i < 0 || j < i {
			return path
		}
		path = path[:i] + "x_00000000000000000000000000" + path[j+1:]
	}
}
