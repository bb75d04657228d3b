// Package credential issues, finds and revokes what callers prove themselves with: API keys, connect codes and the
// keys minted from them. Secrets are shown once and kept only as keyed hashes.
package credential

import (
	"context"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// Key is a long-lived bearer token of a user, without its secret.
type Key struct {
	ID     string
	UserID string
	Kind   core.CredentialKind
	Name   string
	// Hint is the end of the secret, for telling keys apart in a list.
	Hint   string
	Scopes []core.Scope
	// Agents are the only agents it may touch; empty means all.
	Agents     []string
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
}

// Code is a one-time connect code, without its secret.
type Code struct {
	ID        string
	UserID    string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Found is a key together with what is needed to act for its user.
type Found struct {
	Key  Key
	User account.User
	// Used is what the user has spent and reserved in the month asked for, in micro-dollars.
	Used int64
	// Entitlement is what the account has.
	Entitlement account.Entitlement
	// Audience are the resources that an OAuth token is for.
	Audience []string
}

// Store keeps credentials. Each method is one statement or one transaction; what is not there is not_found.
type Store interface {
	InsertKey(ctx context.Context, k Key, hash []byte) error
	// KeyByHash finds a key with its user and the user's spend in the period ("2026-11"), in one query.
	KeyByHash(ctx context.Context, hash []byte, period string) (Found, error)
	Keys(ctx context.Context, userID string) ([]Key, error)
	// RevokeKey marks a key of the user as revoked; one that is revoked already stays as it is.
	RevokeKey(ctx context.Context, userID, keyID string, at time.Time) error
	// TouchKeys records when keys were last used.
	TouchKeys(ctx context.Context, used map[string]time.Time) error
	InsertCode(ctx context.Context, c Code, hash []byte) error
	// RedeemCode uses up the code with this hash and stores the key minted from it for the code's user, in one
	// transaction: of any number of parallel calls one succeeds. An unknown, expired or used code is not_found.
	RedeemCode(ctx context.Context, codeHash []byte, now time.Time, minted Key, keyHash []byte) error
	// Version names the present state of all that is stored. As long as it stays the same, nothing was written by
	// anybody. Where that can't be told it is not known.
	Version() (version uint64, known bool)
}

// Prefixes are the words that tokens start with; an operator may choose others.
type Prefixes struct {
	Key  string
	Code string
}

// codeLife is how long a connect code can be exchanged.
const codeLife = 15 * time.Minute

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
}

// NewService returns a service whose hashes are keyed with secret.
func NewService(store Store, clock core.Clock, secret []byte, prefixes Prefixes) *Service {
	return &Service{store: store, clock: clock, secret: secret, prefixes: prefixes}
}

// NewKey is what is asked of a key to make.
type NewKey struct {
	Name      string
	Scopes    []core.Scope
	Agents    []string
	ExpiresAt *time.Time
}

// defaultScopes are those of a key made for working with agents.
var defaultScopes = []core.Scope{core.ScopeAgents, core.ScopeManage}

// CreateKey makes an API key for a user and returns its secret, which can't be had again.
func (s *Service) CreateKey(ctx context.Context, actor core.Actor, n NewKey) (Key, string, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return Key{}, "", err
	}
	if detail := (core.TextRule{Min: 1, Max: 100}).Check(n.Name); detail != "" {
		return Key{}, "", core.InvalidField("/name", detail)
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(s.clock.Now()) {
		return Key{}, "", core.InvalidField("/expiresAt", "Must lie in the future.")
	}
	if len(n.Scopes) == 0 {
		n.Scopes = defaultScopes
	}
	token := newToken(s.prefixes.Key)
	k := s.newKey(core.CredentialKey, n, token)
	k.UserID = actor.UserID
	if err := s.store.InsertKey(ctx, k, hashToken(s.secret, token)); err != nil {
		return Key{}, "", err
	}
	s.note(ctx, actor, audit.KeyCreated, k.ID, k.Name)
	return k, token, nil
}

func (s *Service) newKey(kind core.CredentialKind, n NewKey, token string) Key {
	return Key{
		ID: core.NewID(core.PrefixCredential), Kind: kind, Name: n.Name, Hint: token[len(token)-4:],
		Scopes: n.Scopes, Agents: n.Agents, CreatedAt: s.clock.Now(), ExpiresAt: n.ExpiresAt,
	}
}

// Keys lists a user's keys, minted ones included, newest first.
func (s *Service) Keys(ctx context.Context, actor core.Actor) ([]Key, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, err
	}
	return s.store.Keys(ctx, actor.UserID)
}

// RevokeKey ends a key of the user: the very next request with it fails.
func (s *Service) RevokeKey(ctx context.Context, actor core.Actor, keyID string) error {
	if err := actor.Allow(core.OpAccount); err != nil {
		return err
	}
	if err := s.store.RevokeKey(ctx, actor.UserID, keyID, s.clock.Now()); err != nil {
		return err
	}
	s.note(ctx, actor, audit.KeyRevoked, keyID, "")
	return nil
}

// CreateCode makes a connect code for a user and returns it; it can't be had again.
func (s *Service) CreateCode(ctx context.Context, actor core.Actor) (Code, string, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return Code{}, "", err
	}
	token := newToken(s.prefixes.Code)
	now := s.clock.Now()
	c := Code{ID: core.NewID(core.PrefixCredential), UserID: actor.UserID, CreatedAt: now, ExpiresAt: now.Add(codeLife)}
	if err := s.store.InsertCode(ctx, c, hashToken(s.secret, token)); err != nil {
		return Code{}, "", err
	}
	s.note(ctx, actor, audit.CodeCreated, c.ID, "")
	return c, token, nil
}

// Exchange turns a connect code into a key of its own for the client. Unknown, expired and used codes get one and
// the same answer.
func (s *Service) Exchange(ctx context.Context, code, client string) (string, error) {
	if !printable(client) {
		return "", core.InvalidField("/client", "Must be 1 to 64 printable characters: a short name for the tool.")
	}
	invalid := &core.Error{
		Kind: core.KindInvalid, Code: "invalid_code",
		Detail: "This connect code is unknown, expired or already used. Make a new one; it is valid for 15 minutes, once.",
	}
	if !wellFormed(s.prefixes.Code, code) {
		return "", invalid
	}
	token := newToken(s.prefixes.Key)
	minted := s.newKey(core.CredentialMinted, NewKey{Name: client, Scopes: defaultScopes}, token)
	err := s.store.RedeemCode(ctx, hashToken(s.secret, code), s.clock.Now(), minted, hashToken(s.secret, token))
	if core.IsKind(err, core.KindNotFound) {
		return "", invalid
	}
	if err != nil {
		return "", err
	}
	s.noteExchange(ctx, minted, token)
	return token, nil
}
