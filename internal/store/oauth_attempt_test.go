package store_test

import (
	"carrel/internal/core"
	"carrel/internal/oauth"
)

// ends returns a check of whether a revocation ended an active grant.
func (w *fixture) ends(want bool) func(bool, error) {
	w.t.Helper()
	return func(ended bool, err error) {
		w.t.Helper()
		w.must(err)
		w.same("ended", ended, want)
	}
}

// attempt returns an unsaved failed attempt.
func (w *fixture) attempt(userID, clientID, problem string, after int) oauth.Attempt {
	return oauth.Attempt{
		ID: core.NewID("try"), UserID: userID, ClientID: clientID, ClientName: "App", Stage: oauth.StageToken,
		Problem: problem,
		Wrong:   "This.", Count: 1, FirstAt: w.after(after), LastAt: w.after(after), Address: "192.0.2.1",
		Program: "app/1",
	}
}

var oauthAttemptTests = []test{
	{"EqualAttemptsAreCounted", func(w *fixture) {
		first := w.attempt(w.ada.id, "cli_a", "invalid_grant", 1)
		again := w.attempt(w.ada.id, "cli_a", "invalid_grant", 5)
		again.ClientName, again.Wrong, again.Address, again.Program = "New name", "That.", "192.0.2.2", "app/2"
		nobodys, nobodysAgain := w.attempt("", "cli_a", "invalid_grant", 2), w.attempt("", "cli_a", "invalid_grant", 3)
		other := w.attempt(w.ada.id, "cli_b", "invalid_grant", 4)
		berts := w.attempt(w.bert.id, "cli_a", "invalid_grant", 4)
		for _, a := range []oauth.Attempt{first, nobodys, nobodysAgain, other, berts, again} {
			w.must(w.db.RecordAttempt(w.ctx, a))
		}
		counted := again
		counted.ID, counted.Count, counted.FirstAt = first.ID, 2, first.FirstAt
		got, err := w.db.Attempts(w.ctx, w.ada.id, false, 9)
		w.must(err)
		w.same("ada's", got, []oauth.Attempt{counted, other})
		nobodys.Count, nobodys.LastAt = 2, nobodysAgain.LastAt
		got, err = w.db.Attempts(w.ctx, w.ada.id, true, 9)
		w.must(err)
		w.same("with anonymous attempts", got, []oauth.Attempt{counted, other, nobodys})
		got, err = w.db.Attempts(w.ctx, w.ada.id, true, 1)
		w.must(err)
		w.same("the latest", got, []oauth.Attempt{counted})
		w.must(w.db.PruneOAuth(w.ctx, w.now, w.now, w.after(5)))
		got, err = w.db.Attempts(w.ctx, w.ada.id, true, 9)
		w.must(err)
		w.same("after a while", got, []oauth.Attempt{counted})
	}},
	{"HolderOfACodeOrRefreshTokenIsFound", func(w *fixture) {
		c := w.client("App")
		code, claim := w.authCode(w.bert.id, c.ID)
		g, r := w.grant(w.ada.id, c)
		for name, want := range map[string]struct {
			hash   []byte
			holder oauth.TokenOwner
		}{
			"a code":          {claim.CodeHash, oauth.TokenOwner{UserID: w.bert.id, ClientID: c.ID, GrantID: code.GrantID}},
			"a refresh token": {r.RefreshHash, oauth.TokenOwner{UserID: w.ada.id, ClientID: c.ID, GrantID: g.ID}},
			"a used code":     {r.CodeHash, oauth.TokenOwner{UserID: w.ada.id, ClientID: c.ID, GrantID: g.ID}},
		} {
			got, err := w.db.TokenOwner(w.ctx, want.hash)
			w.must(err)
			w.same(name, got, want.holder)
		}
		_, err := w.db.TokenOwner(w.ctx, r.AccessHash)
		w.wantMissing(err, "token")
	}},
	{"OnlyTheFirstReuseRevokesTheGrant", func(w *fixture) {
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		for _, want := range []bool{true, false} {
			issued, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r)
			w.wantKind(err, core.KindConflict, oauth.ErrReused.Detail)
			w.same("ended", issued, oauth.Issued{Ended: want})
		}
	}},
}
