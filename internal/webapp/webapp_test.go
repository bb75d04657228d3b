package webapp_test

import (
	"testing"

	"carrel/internal/webapp"
)

// Without the audit log security events would be dropped without a trace.
func TestNewPanicsWithoutARequiredService(t *testing.T) {
	t.Parallel()
	site := newEmptySite(t)
	for name, remove := range map[string]func(*webapp.Services){
		"Audit":    func(s *webapp.Services) { s.Audit = nil },
		"Auth":     func(s *webapp.Services) { s.Auth = nil },
		"Sessions": func(s *webapp.Services) { s.Sessions = nil },
	} {
		services := site.services(site.opts.BaseURL, site.logger)
		remove(&services)
		func() {
			defer func() {
				if got, want := recover(), "webapp: Services."+name+" is nil"; got != want {
					t.Errorf("without %s: panic %v, want %q", name, got, want)
				}
			}()
			_, _ = webapp.New(services, site.opts)
		}()
	}
}
