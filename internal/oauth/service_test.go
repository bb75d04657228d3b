package oauth_test

import (
	"testing"

	"carrel/internal/oauth"
	"carrel/internal/testkit"
)

// A server without an audit log must not start: it would drop security events without a trace.
func TestNewServicePanicsWithoutARequiredDependency(t *testing.T) {
	t.Parallel()
	testkit.RequiresDeps(t, newServer(t).deps, func(d oauth.Deps) { _, _ = oauth.NewService(d) })
}
