package signin

import (
	"context"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// BrowserPrefix is the prefix of known-browser tokens. Logs redact tokens by prefix.
const BrowserPrefix = "crlb"

// BrowserLife is how long a browser stays known after its last sign-in.
const BrowserLife = 180 * 24 * time.Hour

// BrowserStore persists the known browsers of accounts.
type BrowserStore interface {
	// RememberBrowser adds a browser to a user under a new hash. Other users of the browser move from the old hash to the
	// new one.
	RememberBrowser(ctx context.Context, userID string, old, hash []byte, expiresAt time.Time) error
	// KnowsBrowser reports whether the browser is known to the user with this address.
	KnowsBrowser(ctx context.Context, hash []byte, email string, now time.Time) (bool, error)
	PruneBrowsers(ctx context.Context, before time.Time) error
}

// Browsers remembers the browsers in which users have signed in. The token grants no access: it only selects a separate
// attempt limit, so that guessing by others does not lock the owner out.
type Browsers struct {
	store BrowserStore
	clock core.Clock
	key   []byte
}

// Remember makes a browser known to a user who has just signed in, and returns its new token. old is the browser's
// current token. The token always changes, so a planted one becomes worthless.
func (b *Browsers) Remember(ctx context.Context, userID, old string) (string, error) {
	token := credential.NewSecret(BrowserPrefix)
	var before []byte
	if credential.IsSecret(BrowserPrefix, old) {
		before = credential.Hash(b.key, old)
	}
	expires := b.clock.Now().Add(BrowserLife)
	if err := b.store.RememberBrowser(ctx, userID, before, credential.Hash(b.key, token), expires); err != nil {
		return "", err
	}
	return token, nil
}

// Knows reports whether the browser with this token is known to the account with this address.
func (b *Browsers) Knows(ctx context.Context, token, email string) (bool, error) {
	if !credential.IsSecret(BrowserPrefix, token) || (core.TextRule{Min: 1, Max: account.MaxEmail}).Check(email) != "" {
		return false, nil
	}
	return b.store.KnowsBrowser(ctx, credential.Hash(b.key, token), email, b.clock.Now())
}

func (b *Browsers) prune(ctx context.Context) error { return b.store.PruneBrowsers(ctx, b.clock.Now()) }
