package store

import (
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/oauth"
)

// stopped is a clock that stands still.
type stopped time.Time

func (c stopped) Now() time.Time { return time.Time(c) }

// TestTokensAreFoundByAnIndex checks the plans of refreshes and of the deletion of old tokens and grants.
func TestTokensAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	ctx, now, must := t.Context(), time.Now(), failOn(t)
	must(db.InsertUser(ctx, account.User{ID: "u", Email: "e", CreatedAt: now}, "h"))
	c := oauth.Client{ID: "c", Kind: oauth.ClientRegistered, AuthMethod: oauth.AuthNone, CreatedAt: now}
	must(db.PutClient(ctx, c, 10))
	code := oauth.Code{
		GrantID: core.NewID(core.PrefixGrant), UserID: "u", ClientID: "c", Scopes: []string{oauth.ScopeOffline},
		ExpiresAt: now.Add(time.Minute),
	}
	must(db.InsertAuthCode(ctx, code, []byte("code")))
	whole := func(g oauth.Grant) ([]string, []string, error) { return g.Scopes, g.Resources, nil }
	_, err := db.RedeemAuthCode(ctx, stopped(now), oauth.Redemption{
		CodeHash: []byte("code"), ClientID: "c", Narrow: whole, AccessHash: []byte("a1"), RefreshHash: []byte("r1"),
	})
	must(err)
	*seen = nil
	next := oauth.Rotation{
		RefreshHash: []byte("r1"), ClientID: "c", Narrow: whole, NewAccess: []byte("a2"), NewRefresh: []byte("r2"),
	}
	for range 2 { // the second is a repetition
		_, err = db.RotateRefresh(ctx, stopped(now), next)
		must(err)
	}
	_, err = db.RefreshToken(ctx, []byte("r2"), []byte("r3"))
	must(err)
	_, err = db.RevokeToken(ctx, "c", []byte("a2"), now)
	must(err)
	must(db.PruneOAuth(ctx, now, now, now))
	statements := *seen
	checkPlans(t, db, statements, func(_, _ string) bool { return false })
	if len(statements) < 18 {
		t.Errorf("only %d statements were checked", len(statements))
	}
}
