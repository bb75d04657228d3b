package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// badCredentials are requests with an invalid credential.
func badCredentials(t *testing.T, w *testServer, p *testUser) []bad {
	good := p.token
	other := "0"
	if strings.HasSuffix(good, other) {
		other = "1"
	}
	expires := w.clock.Now().Add(time.Hour)
	expired := p.key(credential.NewKey{Name: "short", ExpiresAt: &expires})
	w.clock.Set(expires)
	k, revoked, err := w.credentials.CreateKey(t.Context(), core.Operator(p.id), credential.NewKey{Name: "gone"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.credentials.RevokeKey(t.Context(), core.Operator(p.id), k.ID); err != nil {
		t.Fatal(err)
	}
	shutOut := w.user(t, core.PlanOpen)
	if err := w.db.DisableUser(t.Context(), shutOut.id, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	_, code, err := w.credentials.CreateCode(t.Context(), core.Operator(p.id))
	if err != nil {
		t.Fatal(err)
	}
	unknown := credential.NewService(credential.Deps{
		Store: w.db, Clock: w.clock, Audit: w.audit, HashKey: []byte("another secret"), Agents: w.agents, Grants: w.oauth,
		Prefixes: credential.Prefixes{Key: "crl", Code: "crlc"},
		OAuth:    credential.TokenDeps{Store: w.db, Audience: []string{baseURL}},
	})
	_, elsewhere, err := unknown.CreateKey(t.Context(), core.Operator(p.id), credential.NewKey{Name: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	var out []bad
	for name, headers := range map[string][]string{
		"none":                     {"Authorization", "-"},
		"an empty header":          {"Authorization", ""},
		"no token":                 {"Authorization", "Bearer"},
		"an empty token":           {"Authorization", "Bearer  "},
		"Basic":                    {"Authorization", "Basic eHl6enk6eHl6enk="},
		"another scheme":           {"Authorization", "Token " + good},
		"no scheme":                {"Authorization", good},
		"two headers":              {"Authorization", "Bearer " + good, "+Authorization", "Bearer " + good},
		"two tokens":               {"Authorization", "Bearer " + good + " " + good},
		"two tokens with a comma":  {"Authorization", "Bearer " + good + ", Bearer " + good},
		"a quoted token":           {"Authorization", `Bearer "` + good + `"`},
		"a tab as separator":       {"Authorization", "Bearer\t" + good},
		"a wrong checksum":         {"Authorization", "Bearer " + good[:len(good)-1] + other},
		"a token cut short":        {"Authorization", "Bearer " + good[:len(good)-1]},
		"a token with more":        {"Authorization", "Bearer " + good + "0"},
		"a token in capitals":      {"Authorization", "Bearer " + strings.ToUpper(good)},
		"a revoked key":            {"Authorization", "Bearer " + revoked},
		"an expired key":           {"Authorization", "Bearer " + expired},
		"a disabled user's key":    {"Authorization", "Bearer " + shutOut.token},
		"a connect code":           {"Authorization", "Bearer " + code},
		"a key of elsewhere":       {"Authorization", "Bearer " + elsewhere},
		"a licence key":            {"Authorization", "Bearer XYZZY-0000-1111-2222-3333"},
		"a JWT":                    {"Authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4eXp6eSJ9."},
		"high bytes":               {"Authorization", "Bearer xyzzy\xff\xfe"},
		"far too long a token":     {"Authorization", "Bearer crl_" + strings.Repeat("a", 20_000)},
		"the key in another place": {"Authorization", "-", "X-Api-Key", good, "Cookie", "token=" + good},
	} {
		want := "invalid_credential"
		if headers[1] == "-" {
			want = "missing_credential"
		}
		operations := append([]operation{
			{"GET", "/api/agents", ""},
			{"GET", "/api/xyzzy", ""},
			{"GET", "/api/agents/{agent}/favourites/export?format=csv", ""},
		}, withBody[:2]...)
		for _, op := range operations {
			body := ""
			if op.method != "GET" {
				body = `{"name":"xyzzy"}`
			}
			out = append(out, bad{
				name: "a credential: " + name, method: op.method, path: op.path, body: body, headers: headers, status: 401,
				code: want,
			})
		}
	}
	inQuery := func(method, path, name string) {
		for _, auth := range []string{"-", "Bearer " + good} {
			out = append(out, bad{
				name: "a credential in the query", method: method, path: path + "?limit=5&" + name + "=" + good,
				headers: []string{"Authorization", auth}, status: 400, code: "credential_in_query",
			})
		}
	}
	for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"} {
		for _, path := range []string{
			"/api/agents", "/api/connect/exchange", "/api/xyzzy", "/mcp", "/api/agents/{agent}/favourites/export",
		} {
			inQuery(method, path, "access_token")
		}
	}
	for _, name := range []string{"api_key", "token", "key", "Access_Token", "%61pi_key", "TOKEN"} {
		inQuery("GET", "/api/agents", name)
	}
	return out
}
