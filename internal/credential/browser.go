package credential

import (
	"context"
	"time"

	"carrel/internal/core"
)

// BrowserPrefix starts the token of a known browser, so that logs mask it.
const BrowserPrefix = "crlb"

// BrowserLife is how long a browser is known after the last sign-in with it.
const BrowserLife = 180 * 24 * time.Hour

// BrowserStore keeps in which browsers accounts were signed in to.
type BrowserStore interface {
	// RememberBrowser makes a browser known to a user under a new hash. The accounts that knew it under the old hash know it
	// under the new one.
	RememberBrowser(ctx context.Context, userID string, old, hash []byte, expiresAt time.Time) error
	// KnowsBrowser reports whether the user with this address knows the browser.
	KnowsBrowser(ctx context.Context, hash []byte, email string, now time.Time) (bool, error)
	PruneBrowsers(ctx context.Context, before time.Time) error
}

// Browsers remembers the browsers in which people have signed in. A token of such a browser opens nothing: it only keeps
// its owner from being locked out by a stranger who guesses at the account.
type Browsers struct {
	store  BrowserStore
	clock  core.Clock
	secret []byte
}

// NewBrowsers returns a service whose hashes are keyed with secret.
func NewBrowsers(store BrowserStore, clock core.Clock, secret []byte) *Browsers {
	return &Browsers{store: store, clock: clock, secret: secret}
}

// Remember makes a browser known to a user who has just signed in with it, and returns the token for it to keep. old is
// the token that it had. It always gets a new one, so that a token that somebody planted there means nothing.
func (b *Browsers) Remember(ctx context.Context, userID, old string) (string, error) {
	token := newToken(BrowserPrefix)
	var before []byte
	if wellFormed(BrowserPrefix, old) {
		before = hashToken(b.secret, old)
	}
	if err := b.store.RememberBrowser(ctx, userID, before, hashToken(b.secret, token), b.clock.Now().Add(BrowserLife)); err != nil {
		return "", err
	}
	return token, nil
}

// Knows reports whether the account with this address was signed in to in the browser that holds the token.
func (b *Browsers) Knows(ctx context.Context, token, email string) (bool, error) {
	if !wellFormed(BrowserPrefix, token) || (core.TextRule{Min: 1, Max: 254}).Check(email) != "" {
		return false, nil
	}
	return b.store.KnowsBrowser(ctx, hashToken(b.secret, token), email, b.clock.Now())
}

// Prune forgets browsers that were not used for too long.
func (b *Browsers) Prune(ctx context.Context) error { return b.store.PruneBrowsers(ctx, b.clock.Now()) }
