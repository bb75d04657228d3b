package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"carrel/internal/core"
)

func TestPlanWithoutMCPIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lacks core.CapabilitySet
		want  string
	}{
		"with MCP":    {0, ""},
		"without MCP": {core.SetOf(core.CapMCP), "capability_disabled"},
	} {
		var e endpoint
		e.deps.Admit = func(context.Context, core.Actor) error { return nil }
		e.deps.Authenticate = func(context.Context, string) (core.Actor, error) {
			return core.Actor{
				UserID: "u", Plan: "reader", Lacks: test.lacks, Credential: core.CredentialOAuth,
				Scopes: []core.Scope{core.ScopeAgents},
			}, nil
		}
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", "Bearer x")
		_, _, err := e.authenticate(r)
		got := ""
		if err != nil {
			got = core.AsError(err).Code
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
