// Package credential issues, finds and revokes what callers prove themselves with: API keys, connect codes and the
// keys minted from them. Secrets are shown once and kept only as keyed hashes.
package credential

import (
	"context"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
)

// Key is a long-lived bearer token of a user, without its secret.
type Key struct {
	ID     string
	UserID string
	Kind   core.CredentialKind
	Name   string
	// ClientName is what the program of a minted key called itself; its user may have named it otherwise.
	ClientName string
	// MadeWith is the key that it was made with, or empty. It ends with that key.
	MadeWith string
	// Hint is the end of the secret, for telling keys apart in a list.
	Hint   string
	Scopes []core.Scope
	// Agents are the only agents it may touch; empty means all.
	Agents     []string
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
	// LastAddress and LastProgram are where it was last used from, and what the program there said of itself.
	LastAddress, LastProgram string
}

// Found is a key together with what is needed to act for its user.
type Found struct {
	Key  Key
	User account.User
	// Used is what the user has spent and reserved in the month asked for, in micro-dollars.
	Used int64
	// Cap is what the credential may spend in a month, or nil, and CapUsed what it has spent and reserved.
	Cap     *int64
	CapUsed int64
	// Entitlement is what the account has.
	Entitlement account.Entitlement
	// Audience are the resources that an OAuth token is for.
	Audience []string
}

// Store keeps credentials. Each method is one statement or one transaction; what is not there is not_found.
type Store interface {
	KeyStore
	CodeStore
	ConnectionStore
	// Version names the present state of all that is stored. As long as it stays the same, nothing was written by
	// anybody. Where that can't be told it is not known.
	Version() (version uint64, known bool)
}

// KeyStore keeps keys.
type KeyStore interface {
	// InsertKey stores a key. One that the user has with the same id is the same request's from before a crash, whose
	// secret nobody has seen: it gets the new one.
	InsertKey(ctx context.Context, k Key, hash []byte) error
	// KeyByHash finds a key with its user and the user's spend in the period ("2026-11"), in one query.
	KeyByHash(ctx context.Context, hash []byte, period string) (Found, error)
	Keys(ctx context.Context, userID string) ([]Key, error)
	// APIKeys returns up to limit keys of the user's own making that are not revoked, before an id, newest first.
	APIKeys(ctx context.Context, userID, before string, limit int) ([]Key, error)
	// APIKey returns one of those.
	APIKey(ctx context.Context, userID, keyID string) (Key, error)
	// RevokeKey marks a key of the user as revoked; one that is revoked already stays as it is.
	RevokeKey(ctx context.Context, userID, keyID string, at time.Time) error
	// TouchKeys records when keys were last used.
	TouchKeys(ctx context.Context, used map[string]Use) error
}

// Prefixes are the words that tokens start with; an operator may choose others.
type Prefixes struct {
	Key  string
	Code string
}

// Service issues and checks credentials.
type Service struct {
	store    Store
	clock    core.Clock
	secret   []byte
	prefixes Prefixes
	uses     uses
	recent   recent
	recorder Recorder
	oauth    oauthTokens
	caller   func(context.Context) (address, program string)
	agents   Agents
	grants   Grants
}

// NewService returns a service whose hashes are keyed with secret.
func NewService(store Store, clock core.Clock, secret []byte, prefixes Prefixes) *Service {
	return &Service{store: store, clock: clock, secret: secret, prefixes: prefixes}
}
