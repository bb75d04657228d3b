package httpapi_test

import (
	"slices"
	"testing"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// Every kind of credential requests an operation of every area.
func TestAreasOfEachCredential(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{{"EveryOperationWithEveryCredential", everyCell}})
}

func everyCell(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	requests := map[core.Area][3]string{
		core.AreaAgents:     {"GET", "/api/agents", ""},
		core.AreaSearch:     {"POST", p.at("/search"), `{"query":"x"}`},
		core.AreaChat:       {"POST", p.at("/threads/" + thread + "/messages"), `{"text":"hi"}`},
		core.AreaMemories:   {"POST", p.at("/memories"), `{"text":"x"}`},
		core.AreaFavourites: {"GET", p.at("/favourites"), ""},
		core.AreaWebhooks:   {"GET", "/api/account/webhooks", ""},
		core.AreaManage:     {"PATCH", p.at(""), `{"name":"x"}`},
		core.AreaKeys:       {"GET", "/api/account/keys", ""},
		core.AreaAccount:    {"GET", "/api/account", ""},
	}
	// No operation of these areas is part of this fixture; core tests the decision.
	unserved := []core.Area{core.AreaBilling, core.AreaAdmin}
	for _, area := range core.Areas() {
		if _, served := requests[area]; served == slices.Contains(unserved, area) {
			t.Errorf("%s: served is %v", area, served)
		}
	}
	app, _ := p.granted()
	browser := p.signedIn()
	keyFor := func(scopes ...core.Scope) func(r [3]string) answer {
		key := p.with(p.key(credential.NewKey{Name: "k", Scopes: scopes}))
		return func(r [3]string) answer { return key.send(r[0], r[1], r[2]) }
	}
	minted := p.connect("editor")
	for name, c := range map[string]struct {
		send    func(r [3]string) answer
		reaches []core.Area
	}{
		"a key for agents":      {keyFor(core.ScopeAgents), core.Areas()[:6]},
		"a key for managing":    {keyFor(core.ScopeManage), []core.Area{core.AreaManage}},
		"a key for the account": {keyFor(core.ScopeAccount), []core.Area{core.AreaWebhooks, core.AreaKeys, core.AreaAccount}},
		"a key for everything":  {keyFor(core.RoleMember.Scopes()...), core.Areas()},
		"a minted key":          {func(r [3]string) answer { return minted.send(r[0], r[1], r[2]) }, core.Areas()[:7]},
		"an OAuth token":        {func(r [3]string) answer { return app.send(r[0], r[1], r[2]) }, core.Areas()[:7]},
		"a session":             {func(r [3]string) answer { return browser.send(r[0], r[1], r[2]) }, core.Areas()},
	} {
		for area, r := range requests {
			a := c.send(r)
			if slices.Contains(c.reaches, area) {
				if a.status != 200 {
					t.Errorf("%s does not reach %s: %d %s", name, area, a.status, a.body)
				}
				continue
			}
			if a.status != 403 || a.str("code") != "insufficient_scope" {
				t.Errorf("%s reaches %s: %d %s", name, area, a.status, a.body)
			}
		}
	}
}
