package oauth_test

import (
	"net/http"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"carrel/api"
)

func TestContractListsExactlyTheServedOperations(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := yaml.Unmarshal(api.Document, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/.well-known/jwks.json",
		"/api/auth/mcp/authorize", "/api/auth/mcp/token", "/api/auth/mcp/register", "/api/auth/mcp/jwks",
		"/api/auth/mcp/userinfo",
		"/api/auth/mcp/revoke", "/api/auth/mcp/introspect",
	} {
		for _, method := range []string{
			http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete,
		} {
			_, documented := doc.Paths[path][strings.ToLower(method)]
			if served := srv.send(method, path, "").status != http.StatusMethodNotAllowed; served != documented {
				t.Errorf("%s %s: served %t, documented %t", method, path, served, documented)
			}
		}
		delete(doc.Paths, path)
	}
	for path := range doc.Paths {
		if strings.HasPrefix(path, "/api/auth/") {
			t.Errorf("%s is documented but not served", path)
		}
	}
}
