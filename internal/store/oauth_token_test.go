package store_test

import (
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
)

var oauthTokenTests = []test{
	{"TokenIsFoundAsCredential", func(w *fixture) {
		c := w.client("App")
		g, r := w.grant(w.ada.id, c)
		got, err := w.db.TokenByHash(w.ctx, r.AccessHash, period)
		w.must(err)
		end := w.now.Add(oauth.AccessLife)
		w.same("found", got, credential.Found{
			Key: credential.Key{
				ID: g.ID, UserID: w.ada.id, Kind: core.CredentialOAuth, Name: "App",
				Scopes:    []core.Scope{core.ScopeAgents, core.ScopeManage},
				CreatedAt: w.now, ExpiresAt: &end,
			},
			Entitlement: w.has(w.ada), User: w.ada.user, Audience: []string{"https://r.example"},
		})
		w.must(w.db.SetCredentialCap(w.ctx, w.ada.id, g.ID, new(int64(50))))
		w.must(w.reserve(w.with(g.ID), 30))
		got, err = w.db.TokenByHash(w.ctx, r.AccessHash, core.Month(w.now))
		w.must(err)
		w.same("cap and usage", []int64{*got.Cap, got.CapUsed}, []int64{50, 30})
		w.ends(true)(w.db.RevokeGrant(w.ctx, w.ada.id, g.ID, w.after(2)))
		w.ends(false)(w.db.RevokeGrant(w.ctx, w.ada.id, g.ID, w.after(3)))
		got, err = w.db.TokenByHash(w.ctx, r.AccessHash, period)
		w.must(err)
		ended := w.after(2)
		w.same("revoked", got.Key.RevokedAt, &ended)
		_, err = w.db.TokenByHash(w.ctx, hash(), period)
		w.wantMissing(err, "token")
	}},
	{"LastUseOfAGrantNeverMovesBack", func(w *fixture) {
		c := w.client("App")
		g, _ := w.grant(w.ada.id, c)
		later := w.after(9)
		w.must(w.db.TouchGrants(w.ctx, map[string]credential.Use{g.ID: {
			At: later, Address: "203.0.113.7",
			Program: "node",
		}, "grt_none": {At: later}}))
		w.must(w.db.TouchGrants(w.ctx, map[string]credential.Use{g.ID: {At: w.after(3)}}))
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		w.same("last use", grants[0].LastUsedAt, &later)
	}},
	{"ClientRevokesOnlyItsOwnTokens", func(w *fixture) {
		c, other := w.client("App"), w.client("Other")
		_, r := w.grant(w.ada.id, c)
		for _, h := range [][]byte{r.AccessHash, r.RefreshHash, hash()} {
			w.ends(false)(w.db.RevokeToken(w.ctx, other.ID, h, w.now))
		}
		got, err := w.db.AccessToken(w.ctx, r.AccessHash)
		w.must(err)
		w.same("revoked by another", got.Grant.RevokedAt, (*time.Time)(nil))
		w.ends(false)(w.db.RevokeToken(w.ctx, c.ID, r.AccessHash, w.now))
		_, err = w.db.AccessToken(w.ctx, r.AccessHash)
		w.wantMissing(err, "token")
		refresh, err := w.refreshToken(r.RefreshHash)
		w.must(err)
		w.same("grant of the access token", refresh.Grant.RevokedAt, (*time.Time)(nil))
		w.ends(true)(w.db.RevokeToken(w.ctx, c.ID, r.RefreshHash, w.now))
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		w.same("revoked", grants[0].RevokedAt, &w.now)
	}},
	{"ExpiredRowsArePruned", func(w *fixture) {
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		g2, live := w.grant(w.ada.id, c)
		w.must(w.db.PruneOAuth(w.ctx, w.now.Add(oauth.AccessLife), w.now, w.now))
		_, err := w.db.AccessToken(w.ctx, live.AccessHash)
		w.must(err)
		_, err = w.db.RotateRefresh(w.ctx, still{w.now.Add(time.Hour)}, rotation(c.ID, live.RefreshHash))
		w.must(err)
		w.must(w.db.PruneOAuth(w.ctx, w.now.Add(oauth.AccessLife+1e6), w.now, w.now.Add(oauth.RefreshIdle+1e6)))
		_, err = w.db.AccessToken(w.ctx, r.AccessHash)
		w.wantMissing(err, "token")
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		w.same("grants", slices.Collect(ids(grants)), []string{g2.ID})
		w.must(w.db.PruneOAuth(w.ctx, w.now, w.now, w.now.Add(time.Hour+oauth.RefreshIdle+1e6)))
		grants, err = w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		w.same("grants that expired later", grants, []oauth.Grant{})
	}},
}

func ids(grants []oauth.Grant) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, g := range grants {
			if !yield(g.ID) {
				return
			}
		}
	}
}
