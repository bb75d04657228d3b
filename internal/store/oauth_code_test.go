package store_test

import (
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/oauth"
	"carrel/internal/testkit"
)

var oauthCodeTests = []test{
	{"CodeStartsAGrant", func(w *fixture) {
		c := w.client("App")
		code, r := w.authCode(w.ada.id, c.ID)
		issued, err := w.db.RedeemAuthCode(w.ctx, still{w.after(3)}, r)
		w.must(err)
		now := w.after(3)
		want := oauth.Grant{
			ID: code.GrantID, UserID: w.ada.id, ClientID: c.ID, ClientName: "App", Scopes: code.Scopes,
			Resources: code.Resources,
			AuthTime:  w.now, CreatedAt: now, ExpiresAt: now.Add(oauth.RefreshIdle), LastUsedAt: &now,
		}
		w.same("grant", issued.Token.Grant, want)
		w.same("user", issued.Token.User, w.ada.user)
		w.same("nonce", issued.Nonce, "nonce")
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		w.same("grants", grants, []oauth.Grant{want})
		token, err := w.db.AccessToken(w.ctx, r.AccessHash)
		w.must(err)
		w.same("token", token, issued.Token)
		refresh, err := w.refreshToken(r.RefreshHash)
		w.must(err)
		w.same("refresh token's grant", refresh.Grant, want)
	}},
	{"FailedRedemptionLeavesTheCodeUsable", func(w *fixture) {
		c, other := w.client("App"), w.client("Other")
		_, good := w.authCode(w.ada.id, c.ID)
		for name, change := range map[string]func(*oauth.Redemption){
			"client":    func(r *oauth.Redemption) { r.ClientID = other.ID },
			"redirect":  func(r *oauth.Redemption) { r.RedirectURI += "/" },
			"challenge": func(r *oauth.Redemption) { r.Challenge = "other" },
			"hash":      func(r *oauth.Redemption) { r.CodeHash = hash() },
		} {
			r := good
			change(&r)
			if _, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r); !core.IsKind(err, core.KindNotFound) {
				w.t.Errorf("another %s: %v", name, err)
			}
		}
		refused := core.Conflict("narrow", "no")
		r := good
		r.Narrow = func(oauth.Grant) ([]string, []string, error) { return nil, nil, refused }
		_, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r)
		w.wantKind(err, core.KindConflict, "no")
		_, err = w.db.RedeemAuthCode(w.ctx, still{w.now.Add(time.Minute)}, good)
		w.wantMissing(err, "authorization code")
		_, err = w.db.RedeemAuthCode(w.ctx, still{w.now}, good)
		w.must(err)
	}},
	{"CodeOfADisabledUserIsRejected", func(w *fixture) {
		c := w.client("App")
		_, r := w.authCode(w.bert.id, c.ID)
		w.must(w.db.DisableUser(w.ctx, w.bert.id, w.now))
		_, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r)
		w.wantMissing(err, "authorization code")
	}},
	{"ReusedCodeRevokesItsGrant", func(w *fixture) {
		c := w.client("App")
		g, r := w.grant(w.ada.id, c)
		again := r
		again.ClientID, again.AccessHash, again.RefreshHash = "cli_thief", hash(), hash()
		//nolint:errorlint // must not be wrapped
		if _, err := w.db.RedeemAuthCode(w.ctx, still{w.after(9)}, again); err != oauth.ErrReused {
			w.t.Errorf("got %v, want ErrReused", err)
		}
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		ended := w.after(9)
		w.same("revoked", grants[0].RevokedAt, &ended)
		w.same("grant", grants[0].ID, g.ID)
	}},
	{"AGrantWithoutOfflineAccessHasNoRefreshToken", func(w *fixture) {
		c := w.client("App")
		code, r := w.authCode(w.ada.id, c.ID)
		code.GrantID, code.Scopes, r.CodeHash = core.NewID(core.PrefixGrant), []string{"agents"}, hash()
		w.must(w.db.InsertAuthCode(w.ctx, code, r.CodeHash))
		issued, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r)
		w.must(err)
		w.same("end", issued.Token.Grant.ExpiresAt, w.now.Add(oauth.AccessLife))
		_, err = w.refreshToken(r.RefreshHash)
		w.wantMissing(err, "token")
	}},
	{"ConcurrentRedemptionsSucceedOnce", func(w *fixture) {
		const rounds, callers = 60, 24
		c := w.client("App")
		for range rounds {
			_, r := w.authCode(w.ada.id, c.ID)
			var winners atomic.Int32
			testkit.Concurrently(callers, func(int) {
				mine := r
				mine.AccessHash, mine.RefreshHash = hash(), hash()
				_, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, mine)
				if err == nil {
					winners.Add(1)
				} else if err != oauth.ErrReused { //nolint:errorlint // must not be wrapped
					w.t.Errorf("got %v", err)
				}
			})
			if n := winners.Load(); n != 1 {
				w.t.Fatalf("%d callers redeemed one code", n)
			}
		}
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		w.same("grants", len(grants), rounds)
		for _, g := range grants {
			w.same("revoked by the replays", g.RevokedAt, &w.now)
		}
	}},
}
