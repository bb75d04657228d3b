package e2e

import (
	"net/http"
	"testing"

	"carrel/internal/testkit"
)

// TestA401NamesAnErrorOnlyIfATokenWasSent checks that REST, MCP and event streams send the same challenge (RFC 6750,
// 3.1; RFC 9728, 5.1).
func TestA401NamesAnErrorOnlyIfATokenWasSent(t *testing.T) {
	t.Parallel()
	server := testkit.StartServer(t, testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}})
	f := newFlow(t, server)
	missing := `scope="agents manage offline_access"`
	invalid := `error="invalid_token", ` + missing
	for _, target := range []struct{ method, path, resource string }{
		{http.MethodGet, "/api/agents", ""},
		{http.MethodPost, "/api/agents/a/search", ""},
		{http.MethodGet, "/api/account", ""},
		{http.MethodGet, "/api/agents/a/threads/t/events", ""},
		{http.MethodGet, "/api/agents/a/favourites/export", ""},
		{http.MethodGet, "/api/agents/a/sources/s/events", ""},
		{http.MethodGet, "/api/nowhere", ""},
		{http.MethodGet, "/mcp", "/mcp"},
		{http.MethodPost, "/mcp", "/mcp"},
		{http.MethodDelete, "/mcp", "/mcp"},
	} {
		for _, try := range []struct {
			headers []string
			want    string
		}{
			{nil, missing},
			{[]string{"Authorization", ""}, missing},
			{[]string{"Authorization", "Basic eDp5"}, missing},
			{[]string{"Authorization", "Bearer"}, invalid},
			{[]string{"Authorization", "Bearer junk"}, invalid},
			{[]string{"Authorization", "bearer crl_0000000000000000000000000000000000000000"}, invalid},
		} {
			r := f.do(target.method, server.URL+target.path, "{}",
				append([]string{"Content-Type", "application/json"}, try.headers...)...)
			want := "Bearer " + try.want + `, resource_metadata="` + server.URL +
				`/.well-known/oauth-protected-resource` + target.resource + `"`
			if got := r.header.Get("WWW-Authenticate"); r.status != http.StatusUnauthorized || got != want {
				t.Errorf("%s %s with %q: %d\n got %s\nwant %s", target.method, target.path, try.headers, r.status, got, want)
			}
		}
	}
}
