package store_test

import (
	"crypto/sha256"
	"time"

	"carrel/internal/core"
	"carrel/internal/oauth"
)

// still is a clock that always returns one time.
type still struct{ at time.Time }

func (c still) Now() time.Time { return c.at }

// client adds a public client.
func (w *fixture) client(name string) oauth.Client {
	w.t.Helper()
	c := oauth.Client{
		ID: core.NewID(core.PrefixClient), Kind: oauth.ClientRegistered, Name: name,
		RedirectURIs: []string{"https://app.example/cb"},
		AuthMethod:   oauth.AuthNone, CreatedAt: w.now,
	}
	w.must(w.db.PutClient(w.ctx, c, 100))
	return c
}

var allScopes = []string{"openid", "agents", "manage", "offline_access"}

// authCode adds a code for the user that is valid for a minute, and returns it with a matching redemption.
func (w *fixture) authCode(userID, clientID string) (oauth.Code, oauth.Redemption) {
	w.t.Helper()
	c := oauth.Code{
		GrantID: core.NewID(core.PrefixGrant), UserID: userID, ClientID: clientID,
		RedirectURI: "https://app.example/cb", Challenge: "challenge",
		Nonce: "nonce", Scopes: allScopes, Resources: []string{"https://r.example"}, AuthTime: w.now,
		ExpiresAt: w.now.Add(time.Minute),
	}
	h := hash()
	w.must(w.db.InsertAuthCode(w.ctx, c, h))
	return c, oauth.Redemption{
		CodeHash: h, ClientID: clientID, RedirectURI: c.RedirectURI, Challenge: c.Challenge, Narrow: whole,
		AccessHash: hash(), RefreshHash: hash(),
	}
}

// whole requests all scopes and resources of a grant.
func whole(g oauth.Grant) ([]string, []string, error) { return g.Scopes, g.Resources, nil }

// grant starts a grant and returns the redemption that started it.
func (w *fixture) grant(userID string, c oauth.Client) (oauth.Grant, oauth.Redemption) {
	w.t.Helper()
	_, r := w.authCode(userID, c.ID)
	issued, err := w.db.RedeemAuthCode(w.ctx, still{w.now}, r)
	w.must(err)
	return issued.Token.Grant, r
}

// rotation replaces a refresh token by the successor that follows from it, as the service does.
func rotation(clientID string, old []byte) oauth.Rotation {
	return oauth.Rotation{
		RefreshHash: old, ClientID: clientID, Narrow: whole, NewAccess: follows("access", old),
		NewRefresh: follows("refresh", old),
	}
}

func follows(kind string, old []byte) []byte {
	sum := sha256.Sum256(append([]byte(kind), old...))
	return sum[:]
}

// refreshToken returns a refresh token that was not replaced.
func (w *fixture) refreshToken(hash []byte) (oauth.Token, error) {
	return w.db.RefreshToken(w.ctx, hash, follows("refresh", hash))
}
