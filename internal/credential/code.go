package credential

import (
	"context"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// codeLife is the lifetime of a connect code. Codes are kept for codeRetention after that, so that the page that
// created one can show whether it was used.
const (
	codeLife      = 15 * time.Minute
	codeRetention = 30 * 24 * time.Hour
)

// Code is a one-time connect code, without its secret. A client exchanges it for a key.
type Code struct {
	ID        string
	UserID    string
	CreatedAt time.Time
	ExpiresAt time.Time
	// UsedAt is when a client named ClientName exchanged the code for the key KeyID.
	UsedAt     *time.Time
	KeyID      string
	ClientName string
	// MadeWith is the id of the key that created the code, or empty; KeyExpiresAt is the expiry of that key, which the
	// minted key inherits.
	MadeWith     string
	KeyExpiresAt *time.Time
}

// CodeState is the state of a connect code.
type CodeState string

// The states of a connect code.
const (
	CodeWaiting CodeState = "waiting"
	CodeClaimed CodeState = "claimed"
	CodeExpired CodeState = "expired"
)

// State returns the state of the code.
func (c Code) State(now time.Time) CodeState {
	switch {
	case c.UsedAt != nil:
		return CodeClaimed
	case !now.Before(c.ExpiresAt):
		return CodeExpired
	}
	return CodeWaiting
}

// CodeStore persists connect codes.
type CodeStore interface {
	// InsertCode stores a code. As with InsertKey, the hash of an existing code with this id is replaced.
	InsertCode(ctx context.Context, c Code, hash []byte) error
	// RedeemCode marks the code with this hash as used and stores the key minted from it, with the user, creator and
	// expiry of the code, in one transaction. Of concurrent calls exactly one succeeds. An unknown, expired or used code
	// is not_found.
	RedeemCode(ctx context.Context, codeHash []byte, now time.Time, minted Key, keyHash []byte) error
	// Codes returns up to limit codes of the user, newest first, starting after the code with the id before.
	Codes(ctx context.Context, userID, before string, limit int) ([]Code, error)
	Code(ctx context.Context, userID, codeID string) (Code, error)
	// CancelCode deletes an unused code.
	CancelCode(ctx context.Context, userID, codeID string) error
	// PruneCodes deletes codes that expired before the time.
	PruneCodes(ctx context.Context, before time.Time) error
}

// CreateCode creates a connect code and returns its secret, which is shown only once. It requires a recent proof.
func (s *Service) CreateCode(ctx context.Context, actor core.Actor) (Code, string, error) {
	now := s.clock.Now()
	if err := actor.AllowProved(core.OpKeys, now); err != nil {
		return Code{}, "", err
	}
	// A minted key must not have more access than its creator, and it can use all agents.
	for _, op := range []core.Operation{core.OpListAgents, core.OpCreateAgent} {
		if err := actor.Allow(op); err != nil {
			return Code{}, "", err
		}
	}
	if len(actor.Agents) > 0 {
		return Code{}, "", core.Forbidden("forbidden",
			"This credential is restricted to some agents, but a key from a connect code can use all of them.")
	}
	maker, err := s.maker(ctx, actor)
	if err != nil {
		return Code{}, "", err
	}
	token := newToken(s.prefixes.Code)
	c := Code{
		ID: core.NewIDIn(ctx, core.PrefixCredential), UserID: actor.UserID, CreatedAt: now, ExpiresAt: now.Add(codeLife),
		MadeWith: maker.ID, KeyExpiresAt: maker.ExpiresAt,
	}
	if err := s.store.InsertCode(ctx, c, hashToken(s.hashKey, token)); err != nil {
		return Code{}, "", err
	}
	s.record(ctx, actor, audit.CodeCreated, c.ID, "")
	return c, token, nil
}

// Codes returns one page of a user's connect codes, newest first, and the next cursor.
func (s *Service) Codes(ctx context.Context, actor core.Actor, p core.Page) ([]Code, string, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return nil, "", err
	}
	return pageByID("connectCodes", p, func(before string, limit int) ([]Code, error) {
		return s.store.Codes(ctx, actor.UserID, before, limit)
	}, func(c Code) string { return c.ID })
}

// Code returns one connect code of a user.
func (s *Service) Code(ctx context.Context, actor core.Actor, codeID string) (Code, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return Code{}, err
	}
	return s.store.Code(ctx, actor.UserID, codeID)
}

// CancelCode deletes an unused code. For a used one it is a conflict: its connection can be revoked instead.
func (s *Service) CancelCode(ctx context.Context, actor core.Actor, codeID string) error {
	if err := actor.Allow(core.OpKeys); err != nil {
		return err
	}
	err := s.store.CancelCode(ctx, actor.UserID, codeID)
	if core.IsKind(err, core.KindNotFound) {
		if c, missing := s.store.Code(ctx, actor.UserID, codeID); missing == nil && c.UsedAt != nil {
			return core.Conflict("conflict", "This code was already exchanged. Revoke the connection instead.")
		}
	}
	if err != nil {
		return err
	}
	s.record(ctx, actor, audit.CodeCancelled, codeID, "")
	return nil
}

// PruneCodes deletes codes after their retention time.
func (s *Service) PruneCodes(ctx context.Context) error {
	return s.store.PruneCodes(ctx, s.clock.Now().Add(-codeRetention))
}

// Exchange redeems a connect code and returns the secret of a new key for the client. Unknown, expired and used codes
// are indistinguishable.
func (s *Service) Exchange(ctx context.Context, code, client string) (string, error) {
	if client = strings.TrimSpace(client); !validClientName(client) {
		return "", core.InvalidField("/client", "Must be a short name for the client of 1 to 64 printable characters.")
	}
	invalid := &core.Error{
		Kind:   core.KindInvalid,
		Code:   "invalid_code",
		Detail: "This connect code is unknown, expired or already used. Create a new one; it can be used once, within 15 minutes.",
	}
	if !wellFormed(s.prefixes.Code, code) {
		return "", invalid
	}
	token := newToken(s.prefixes.Key)
	n := NewKey{Name: client, Scopes: defaultScopes}
	minted := s.newKey(core.NewID(core.PrefixCredential), core.CredentialMinted, n, token)
	minted.ClientName = client
	err := s.store.RedeemCode(ctx, hashToken(s.hashKey, code), s.clock.Now(), minted, hashToken(s.hashKey, token))
	if core.IsKind(err, core.KindNotFound) {
		return "", invalid
	}
	if err != nil {
		return "", err
	}
	s.recordExchange(ctx, minted, token)
	return token, nil
}
