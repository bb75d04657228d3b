// Package credential issues, looks up and revokes credentials: API keys, connect codes, the keys minted from them, and
// browser sessions. It also looks up OAuth access tokens. Secrets are shown once and stored as keyed hashes.
package credential

import (
	"context"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
)

// Key is an API key or a key minted from a connect code, without its secret.
type Key struct {
	ID     string
	UserID string
	Kind   core.CredentialKind
	Name   string
	// ClientName is the name that the client of a minted key gave itself. The user may have changed Name.
	ClientName string
	// MadeWith is the id of the key that created this key, or empty. Revoking that key revokes this one.
	MadeWith string
	// Hint is the last four characters of the secret, to tell keys apart in a list.
	Hint   string
	Scopes []core.Scope
	// Agents restricts the key to these agents; empty allows all.
	Agents     []string
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
	// LastAddress and LastProgram are the IP address and the User-Agent of the last use.
	LastAddress, LastProgram string
}

// Found is the result of a key or token lookup: the key and everything needed to build the actor.
type Found struct {
	Key  Key
	User account.User
	// Used is the amount the user has spent and reserved in the month, in micro-dollars.
	Used int64
	// Cap is the monthly spend cap of the credential, or nil; CapUsed is the amount it has spent and reserved.
	Cap     *int64
	CapUsed int64
	// Entitlement is the plan of the account.
	Entitlement billing.Entitlement
	// Audience holds the resources that an OAuth token was issued for.
	Audience []string
}

// Store persists credentials. Every method is one statement or transaction. A missing row is a not_found error.
type Store interface {
	KeyStore
	CodeStore
	ConnectionStore
	// AccessVersion returns a number that changes, at the latest before a write returns, with every write by any process
	// that changes what KeyByHash or OAuthTokens.TokenByHash return. known is false if the number is not known.
	AccessVersion() (version uint64, known bool)
}

// KeyStore persists keys.
type KeyStore interface {
	// InsertKey stores a key. If the user already has a key with this id, it was created by the same idempotent request
	// before a crash and its secret was never shown; the hash is replaced.
	InsertKey(ctx context.Context, k Key, hash []byte) error
	// KeyByHash returns a key with its user and the user's spend in the period ("2026-11"), in one query.
	KeyByHash(ctx context.Context, hash []byte, period string) (Found, error)
	Keys(ctx context.Context, userID string) ([]Key, error)
	// APIKeys returns up to limit keys created by the user (not minted) and not revoked, newest first, starting after the
	// key with the id before.
	APIKeys(ctx context.Context, userID, before string, limit int) ([]Key, error)
	// APIKey returns one of the keys that APIKeys lists.
	APIKey(ctx context.Context, userID, keyID string) (Key, error)
	// RevokeKey revokes a key of the user and all keys and codes created with it. Revoking it again changes nothing.
	RevokeKey(ctx context.Context, userID, keyID string, at time.Time) error
	// TouchKeys stores the last use of keys, by key id.
	TouchKeys(ctx context.Context, used map[string]Use) error
}

// Prefixes are the configurable prefixes of keys and connect codes.
type Prefixes struct {
	Key  string
	Code string
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store Store
	Clock core.Clock
	Audit audit.Recorder
	// HashKey is the HMAC key of stored secrets.
	HashKey  []byte
	Prefixes Prefixes
	// Agents decides which agents a key may be restricted to.
	Agents Agents
	// Grants revokes OAuth grants.
	Grants Grants
	// OAuth configures the OAuth access tokens that Authenticate accepts.
	OAuth TokenDeps
	// Caller returns the IP address and User-Agent for the context of a request. Uses are recorded without them if it is
	// nil.
	Caller func(context.Context) (address, program string) `dep:"optional"`
}

// Service issues and authenticates API keys, connect codes and OAuth access tokens.
type Service struct {
	store    Store
	clock    core.Clock
	audit    audit.Recorder
	hashKey  []byte
	prefixes Prefixes
	agents   Agents
	grants   Grants
	tokens   TokenDeps
	caller   func(context.Context) (address, program string)

	keyUses, grantUses useBuffer
	cache              lookupCache
}

// NewService returns a Service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	core.RequireDeps(d.OAuth)
	if d.Caller == nil {
		d.Caller = func(context.Context) (string, string) { return "", "" }
	}
	return &Service{
		store: d.Store, clock: d.Clock, audit: d.Audit, hashKey: d.HashKey, prefixes: d.Prefixes,
		agents: d.Agents, grants: d.Grants, tokens: d.OAuth, caller: d.Caller,
	}
}
