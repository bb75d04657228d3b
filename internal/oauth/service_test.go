package oauth_test

import (
	"testing"

	"carrel/internal/oauth"
)

// A server without an audit log must not start: it would drop security events without a trace.
func TestNewServicePanicsWithoutARequiredDependency(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	for name, remove := range map[string]func(*oauth.Deps){
		"Store": func(d *oauth.Deps) { d.Store = nil },
		"Clock": func(d *oauth.Deps) { d.Clock = nil },
		"Audit": func(d *oauth.Deps) { d.Audit = nil },
		"Log":   func(d *oauth.Deps) { d.Log = nil },
	} {
		deps := srv.deps
		remove(&deps)
		func() {
			defer func() {
				if got, want := recover(), "oauth: Deps."+name+" is nil"; got != want {
					t.Errorf("without %s: panic %v, want %q", name, got, want)
				}
			}()
			_, _ = oauth.NewService(deps)
		}()
	}
}
