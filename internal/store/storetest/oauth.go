package storetest

import (
	"slices"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
)

// still is a clock that tells one time.
type still struct{ at time.Time }

func (c still) Now() time.Time { return c.at }

// client adds a public client.
func (w *world) client(name string) oauth.Client {
	w.t.Helper()
	c := oauth.Client{
		ID: core.NewID(core.PrefixClient), Kind: oauth.ClientRegistered, Name: name, RedirectURIs: []string{"https://app.example/cb"},
		AuthMethod: oauth.AuthNone, CreatedAt: w.now,
	}
	w.must(w.db.PutClient(w.ctx, c, 100))
	return c
}

var allScopes = []string{"openid", "agents", "manage", "offline_access"}

// authCode adds a code for the user that is good for a minute, and returns it with the claim that fits it.
func (w *world) authCode(userID, clientID string) (oauth.Code, oauth.Redemption) {
	w.t.Helper()
	c := oauth.Code{
		GrantID: core.NewID(core.PrefixGrant), UserID: userID, ClientID: clientID, RedirectURI: "https://app.example/cb", Challenge: "challenge",
		Nonce: "nonce", Scopes: allScopes, Resources: []string{"https://r.example"}, AuthTime: w.now, ExpiresAt: w.now.Add(time.Minute),
	}
	h := hash()
	w.must(w.db.InsertAuthCode(w.ctx, c, h))
	return c, oauth.Redemption{
		CodeHash: h, ClientID: clientID, RedirectURI: c.RedirectURI, Challenge: c.Challenge, Narrow: whole, AccessHash: hash(), RefreshHash: hash(),
	}
}

// whole asks for all that a grant has.
func whole(g oauth.Grant) ([]string, []string, error) { return g.Scopes, g.Resources, nil }

// grant begins a grant and returns the claim that it began with.
func (w *world) grant(userID string, c oauth.Client) (oauth.Grant, oauth.Redemption) {
	w.t.Helper()
	_, r := w.authCode(userID, c.ID)
	issued, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r)
	w.must(err)
	return issued.Token.Grant, r
}

func rotation(clientID string, old []byte) oauth.Rotation {
	return oauth.Rotation{RefreshHash: old, ClientID: clientID, Narrow: whole, NewAccess: hash(), NewRefresh: hash()}
}

var oauthClientTests = []test{
	{"AClientIsFoundByItsID", func(w *world) {
		c := w.client("App")
		got, err := w.db.Client(w.ctx, c.ID)
		w.must(err)
		w.same("client", got, c)
		_, err = w.db.Client(w.ctx, "cli_none")
		w.wantMissing(err, "client")
		c.ID, c.AuthMethod, c.SecretHash = core.NewID(core.PrefixClient), oauth.AuthBasic, hash()
		w.must(w.db.PutClient(w.ctx, c, 100))
		got, err = w.db.Client(w.ctx, c.ID)
		w.must(err)
		w.same("client with a secret", got, c)
	}},
	{"OnlyADocumentIsReadAgain", func(w *world) {
		c := w.client("App")
		other := c
		other.Name = "Thief"
		w.must(w.db.PutClient(w.ctx, other, 100))
		got, err := w.db.Client(w.ctx, c.ID)
		w.must(err)
		w.same("registered name", got.Name, "App")
		c.ID, c.Kind, c.FetchedAt = "https://app.example/"+c.ID, oauth.ClientDocument, &w.now
		w.must(w.db.PutClient(w.ctx, c, 100))
		later := w.after(5)
		c.Name, c.FetchedAt, c.RedirectURIs = "New name", &later, []string{"https://app.example/2"}
		w.must(w.db.PutClient(w.ctx, c, 100))
		got, err = w.db.Client(w.ctx, c.ID)
		w.must(err)
		w.same("document", got, c)
	}},
	{"AnUnusedClientGoesAndAUsedOneStays", func(w *world) {
		unused, used := w.client("Unused"), w.client("Used")
		w.grant(w.ada.id, used)
		w.must(w.db.PruneOAuth(w.ctx, w.now, w.now, w.now))
		_, err := w.db.Client(w.ctx, unused.ID)
		w.must(err) // made at that time, not before
		w.must(w.db.PruneOAuth(w.ctx, w.now, w.after(1), w.now))
		_, err = w.db.Client(w.ctx, unused.ID)
		w.wantMissing(err, "client")
		got, err := w.db.Client(w.ctx, used.ID)
		w.must(err)
		w.same("first use", got.UsedAt, &w.now)
	}},
	{"OfClientsThatWereNeverUsedTheLatestStay", func(w *world) {
		used := w.client("Used")
		w.grant(w.ada.id, used)
		var clients []oauth.Client
		for i := range 4 {
			c := oauth.Client{
				ID: core.NewID(core.PrefixClient), Kind: oauth.ClientRegistered, Name: "App", RedirectURIs: []string{"https://app.example/cb"},
				AuthMethod: oauth.AuthNone, CreatedAt: w.after(i + 1),
			}
			w.must(w.db.PutClient(w.ctx, c, 2))
			clients = append(clients, c)
		}
		for _, c := range clients[:2] {
			_, err := w.db.Client(w.ctx, c.ID)
			w.wantMissing(err, "client")
		}
		for _, c := range append(clients[2:], used) {
			_, err := w.db.Client(w.ctx, c.ID)
			w.must(err)
		}
	}},
	{"OfTwoKeysWithOneNumberOneStays", func(w *world) {
		k := oauth.SigningKey{Number: 1, ID: "key_a", Sealed: []byte{1}, CreatedAt: w.now, ActiveAt: w.after(1)}
		w.must(w.db.InsertSigningKey(w.ctx, k))
		twin := k
		twin.ID = "key_b"
		w.wantKind(w.db.InsertSigningKey(w.ctx, twin), core.KindConflict, "")
		for n, id := range []string{"key_c", "key_d", "key_e"} {
			next := k
			next.Number, next.ID, next.Sealed = int64(n)+2, id, []byte{byte(n)}
			w.must(w.db.InsertSigningKey(w.ctx, next))
		}
		got, err := w.db.SigningKeys(w.ctx)
		w.must(err)
		w.same("first of the keys", got[0], k)
		w.must(w.db.PruneOAuth(w.ctx, w.now, w.now, w.after(2)))
		got, err = w.db.SigningKeys(w.ctx)
		w.must(err)
		w.same("keys left", []string{got[0].ID, got[1].ID}, []string{"key_d", "key_e"})
	}},
}

var oauthCodeTests = []test{
	{"ACodeBeginsAGrant", func(w *world) {
		c := w.client("App")
		code, r := w.authCode(w.ada.id, c.ID)
		issued, err := w.db.RedeemAuthCode(w.ctx, still{w.after(3)}, r)
		w.must(err)
		now := w.after(3)
		want := oauth.Grant{
			ID: code.GrantID, UserID: w.ada.id, ClientID: c.ID, ClientName: "App", Scopes: code.Scopes, Resources: code.Resources,
			AuthTime: w.now, CreatedAt: now, ExpiresAt: now.Add(oauth.RefreshIdle), LastUsedAt: &now,
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
		refresh, err := w.db.RefreshToken(w.ctx, r.RefreshHash)
		w.must(err)
		w.same("refresh token's grant", refresh.Grant, want)
	}},
	{"ACodeIsForNobodyElseAndThenStillGood", func(w *world) {
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
	{"ACodeOfADisabledUserIsUseless", func(w *world) {
		c := w.client("App")
		_, r := w.authCode(w.bert.id, c.ID)
		w.must(w.db.DisableUser(w.ctx, w.bert.id, w.now))
		_, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r)
		w.wantMissing(err, "authorization code")
	}},
	{"ACodeShownTwiceEndsItsGrant", func(w *world) {
		c := w.client("App")
		g, r := w.grant(w.ada.id, c)
		again := r
		again.ClientID, again.AccessHash, again.RefreshHash = "cli_thief", hash(), hash()
		if _, err := w.db.RedeemAuthCode(w.ctx, still{w.after(9)}, again); err != oauth.ErrReused { //nolint:errorlint // the very one
			w.t.Errorf("got %v, want ErrReused", err)
		}
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		ended := w.after(9)
		w.same("revoked", grants[0].RevokedAt, &ended)
		w.same("grant", grants[0].ID, g.ID)
	}},
	{"AGrantWithoutOfflineAccessHasNoRefreshToken", func(w *world) {
		c := w.client("App")
		code, r := w.authCode(w.ada.id, c.ID)
		code.GrantID, code.Scopes, r.CodeHash = core.NewID(core.PrefixGrant), []string{"agents"}, hash()
		w.must(w.db.InsertAuthCode(w.ctx, code, r.CodeHash))
		issued, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r)
		w.must(err)
		w.same("end", issued.Token.Grant.ExpiresAt, w.now.Add(oauth.AccessLife))
		_, err = w.db.RefreshToken(w.ctx, r.RefreshHash)
		w.wantMissing(err, "token")
	}},
	{"OfManyWhoRedeemAnAuthorizationCodeOneSucceeds", func(w *world) {
		const rounds, callers = 60, 24
		c := w.client("App")
		for range rounds {
			_, r := w.authCode(w.ada.id, c.ID)
			var winners atomic.Int32
			together(callers, func(int) {
				mine := r
				mine.AccessHash, mine.RefreshHash = hash(), hash()
				_, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, mine)
				if err == nil {
					winners.Add(1)
				} else if err != oauth.ErrReused { //nolint:errorlint // the very one
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

var oauthRefreshTests = []test{
	{"ARefreshMovesTheEndOfTheGrantUpToItsLimit", func(w *world) {
		c := w.client("App")
		g, r := w.grant(w.ada.id, c)
		next, now := r.RefreshHash, w.now
		for range 8 {
			now = now.Add(25 * 24 * time.Hour)
			rot := rotation(c.ID, next)
			issued, err := w.db.RotateRefresh(w.ctx, still{now}, rot)
			if now.After(g.CreatedAt.Add(oauth.RefreshLimit)) {
				w.wantMissing(err, "refresh token")
				return
			}
			w.must(err)
			want := now.Add(oauth.RefreshIdle)
			if limit := g.CreatedAt.Add(oauth.RefreshLimit); want.After(limit) {
				want = limit
			}
			w.same("end", issued.Token.Grant.ExpiresAt, want)
			w.same("token's end", issued.Token.ExpiresAt, now.Add(oauth.AccessLife))
			stored, err := w.db.AccessToken(w.ctx, rot.NewAccess)
			w.must(err)
			w.same("token", stored, issued.Token)
			next = rot.NewRefresh
		}
		w.t.Error("the grant has no limit")
	}},
	{"AnIdleRefreshTokenEnds", func(w *world) {
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		_, err := w.db.RotateRefresh(w.ctx, still{w.now.Add(oauth.RefreshIdle)}, rotation(c.ID, r.RefreshHash))
		w.wantMissing(err, "refresh token")
	}},
	{"ARefreshTokenIsForItsClientAndALivingGrant", func(w *world) {
		c, other := w.client("App"), w.client("Other")
		g, r := w.grant(w.ada.id, c)
		_, err := w.db.RotateRefresh(w.ctx, still{w.now}, rotation(other.ID, r.RefreshHash))
		w.wantMissing(err, "refresh token")
		_, err = w.db.RotateRefresh(w.ctx, still{w.now}, rotation(c.ID, hash()))
		w.wantMissing(err, "refresh token")
		_, err = w.db.RevokeGrant(w.ctx, w.bert.id, g.ID, w.now)
		w.wantMissing(err, "connection")
		w.ends(true)(w.db.RevokeGrant(w.ctx, w.ada.id, g.ID, w.now))
		_, err = w.db.RotateRefresh(w.ctx, still{w.now}, rotation(c.ID, r.RefreshHash))
		w.wantMissing(err, "refresh token")
	}},
	{"ALateRefreshGetsTheSameAndALaterOneEndsTheGrant", func(w *world) {
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		rot := rotation(c.ID, r.RefreshHash)
		first, err := w.db.RotateRefresh(w.ctx, still{w.after(1000)}, rot)
		w.must(err)
		for _, at := range []time.Time{w.now, w.after(1000), w.after(1000).Add(oauth.RefreshGrace)} {
			again, err := w.db.RotateRefresh(w.ctx, still{at}, rot)
			w.must(err)
			w.same("late", again, first)
		}
		late := w.after(1001).Add(oauth.RefreshGrace)
		if _, err := w.db.RotateRefresh(w.ctx, still{late}, rot); err != oauth.ErrReused { //nolint:errorlint // the very one
			w.t.Errorf("got %v, want ErrReused", err)
		}
		_, err = w.db.RotateRefresh(w.ctx, still{late}, rotation(c.ID, rot.NewRefresh))
		w.wantMissing(err, "refresh token")
		token, err := w.db.AccessToken(w.ctx, rot.NewAccess)
		w.must(err)
		w.same("revoked", token.Grant.RevokedAt, &late)
	}},
	{"OfManyRefreshesAllGetOnePair", func(w *world) {
		const rounds, callers = 60, 24
		c := w.client("App")
		g, r := w.grant(w.ada.id, c)
		next, now := r.RefreshHash, w.now
		for range rounds {
			rot := rotation(c.ID, next)
			var same atomic.Int32
			together(callers, func(int) {
				issued, err := w.db.RotateRefresh(w.ctx, still{now}, rot)
				if err == nil && issued.Token.Grant.ID == g.ID && issued.Token.ExpiresAt.Equal(now.Add(oauth.AccessLife)) {
					same.Add(1)
				} else {
					w.t.Errorf("got %+v, %v", issued, err)
				}
			})
			if n := same.Load(); n != callers {
				w.t.Fatalf("%d of %d got the pair", n, callers)
			}
			next, now = rot.NewRefresh, now.Add(time.Minute)
		}
		// A chain, not a tree: the first tokens have gone and the last one works.
		_, err := w.db.RefreshToken(w.ctx, next)
		w.must(err)
		_, err = w.db.RefreshToken(w.ctx, r.RefreshHash)
		w.wantMissing(err, "token")
	}},
	{"ARevocationHoldsAgainstAllWhoRefresh", func(w *world) {
		const rounds, callers = 60, 24
		c := w.client("App")
		for range rounds {
			g, r := w.grant(w.ada.id, c)
			rot := rotation(c.ID, r.RefreshHash)
			together(callers, func(i int) {
				if i != callers/2 {
					if _, err := w.db.RotateRefresh(w.ctx, still{w.now}, rot); err != nil && !core.IsKind(err, core.KindNotFound) {
						w.t.Errorf("refresh: %v", err)
					}
					return
				}
				if ended, err := w.db.RevokeGrant(w.ctx, w.ada.id, g.ID, w.now); !ended || err != nil {
					w.t.Errorf("revoke: %v, %v", ended, err)
				}
				if _, err := w.db.RotateRefresh(w.ctx, still{w.now}, rot); !core.IsKind(err, core.KindNotFound) {
					w.t.Errorf("right after the revocation: %v", err)
				}
			})
			_, err := w.db.RotateRefresh(w.ctx, still{w.now}, rotation(c.ID, rot.NewRefresh))
			w.wantMissing(err, "refresh token")
			if found, err := w.db.TokenByHash(w.ctx, rot.NewAccess, period); err == nil {
				w.same("revoked", found.Key.RevokedAt, &w.now)
			}
		}
	}},
	{"TheClockIsReadUnderTheLock", func(w *world) {
		// A time from before a wait for the lock, stored after it, would make the next use look like a thief's.
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		rot := rotation(c.ID, r.RefreshHash)
		w.readsTheClockUnderTheLock(func(clock core.Clock) error {
			_, err := w.db.RotateRefresh(w.ctx, clock, rot)
			return err
		})
		_, claim := w.authCode(w.ada.id, c.ID)
		w.readsTheClockUnderTheLock(func(clock core.Clock) error {
			_, err := w.db.RedeemAuthCode(w.ctx, clock, claim)
			return err
		})
	}},
}

// readsTheClockUnderTheLock fails the test if a second act can be carried out while the first one looks at the clock.
func (w *world) readsTheClockUnderTheLock(act func(core.Clock) error) {
	w.t.Helper()
	second := make(chan error, 1)
	first := act(clockFunc(func() time.Time {
		done := make(chan struct{})
		go func() {
			second <- act(still{w.now})
			close(done)
		}()
		select {
		case <-done:
			w.t.Error("somebody else could act between the look at the clock and the change")
		case <-time.After(50 * time.Millisecond):
		}
		return w.now
	}))
	w.must(first)
	if err := <-second; err != nil && err != oauth.ErrReused { //nolint:errorlint // the very one
		w.t.Error(err)
	}
}

type clockFunc func() time.Time

func (f clockFunc) Now() time.Time { return f() }

var oauthTokenTests = []test{
	{"ATokenIsFoundAsACredential", func(w *world) {
		c := w.client("App")
		g, r := w.grant(w.ada.id, c)
		got, err := w.db.TokenByHash(w.ctx, r.AccessHash, period)
		w.must(err)
		end := w.now.Add(oauth.AccessLife)
		w.same("found", got, credential.Found{
			Key: credential.Key{
				ID: g.ID, UserID: w.ada.id, Kind: core.CredentialOAuth, Name: "App", Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage},
				CreatedAt: w.now, ExpiresAt: &end,
			},
			Entitlement: w.has(w.ada), User: w.ada.user, Audience: []string{"https://r.example"},
		})
		w.must(w.db.SetCredentialCap(w.ctx, w.ada.id, g.ID, new(int64(50))))
		w.must(w.reserve(w.with(g.ID), 30))
		got, err = w.db.TokenByHash(w.ctx, r.AccessHash, core.Month(w.now))
		w.must(err)
		w.same("cap and what is used of it", []int64{*got.Cap, got.CapUsed}, []int64{50, 30})
		w.ends(true)(w.db.RevokeGrant(w.ctx, w.ada.id, g.ID, w.after(2)))
		w.ends(false)(w.db.RevokeGrant(w.ctx, w.ada.id, g.ID, w.after(3)))
		got, err = w.db.TokenByHash(w.ctx, r.AccessHash, period)
		w.must(err)
		ended := w.after(2)
		w.same("revoked", got.Key.RevokedAt, &ended)
		_, err = w.db.TokenByHash(w.ctx, hash(), period)
		w.wantMissing(err, "token")
	}},
	{"TheLastUseOfAGrantOnlyMovesForward", func(w *world) {
		c := w.client("App")
		g, _ := w.grant(w.ada.id, c)
		later := w.after(9)
		w.must(w.db.TouchGrants(w.ctx, map[string]credential.Use{g.ID: {At: later, Address: "203.0.113.7", Program: "node"}, "grt_none": {At: later}}))
		w.must(w.db.TouchGrants(w.ctx, map[string]credential.Use{g.ID: {At: w.after(3)}}))
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		w.same("last use", grants[0].LastUsedAt, &later)
	}},
	{"AClientRevokesItsOwnTokensAlone", func(w *world) {
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
		refresh, err := w.db.RefreshToken(w.ctx, r.RefreshHash)
		w.must(err)
		w.same("grant of the access token", refresh.Grant.RevokedAt, (*time.Time)(nil))
		w.ends(true)(w.db.RevokeToken(w.ctx, c.ID, r.RefreshHash, w.now))
		grants, err := w.db.Grants(w.ctx, w.ada.id)
		w.must(err)
		w.same("revoked", grants[0].RevokedAt, &w.now)
	}},
	{"WhatEndedLongAgoGoes", func(w *world) {
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
