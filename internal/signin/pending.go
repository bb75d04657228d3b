package signin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// PendingPrefix is the prefix of pending-step tokens. Logs redact tokens by prefix.
const PendingPrefix = "crlp"

// PendingLife is the lifetime of a pending step.
const PendingLife = 10 * time.Minute

// PendingKind is the kind of a step. A token is valid for one kind only.
type PendingKind string

// The kinds of steps.
const (
	// PendingFactor is a sign-in that still requires the second factor.
	PendingFactor PendingKind = "factor"
	// PendingAssertion is the challenge for using a passkey.
	PendingAssertion PendingKind = "passkey"
	// PendingEnrolment is the challenge for registering a passkey.
	PendingEnrolment PendingKind = "new passkey"
	// PendingUpstream is an authorization request to an OpenID provider.
	PendingUpstream PendingKind = "upstream"
	// PendingLink is an OpenID sign-in that requires the password of an existing account before the two are linked.
	PendingLink PendingKind = "link"
)

// Pending is a step that was begun and not finished, without its token.
type Pending struct {
	Kind PendingKind
	// UserID and SessionID are set if the step belongs to a signed-in user. Only the same session may finish it.
	UserID, SessionID string
	// Data is the state needed to finish the step.
	Data      json.RawMessage
	ExpiresAt time.Time
}

// PendingStore persists pending steps. A missing or expired step, or one of another kind, is a not_found error.
type PendingStore interface {
	InsertPending(ctx context.Context, p Pending, hash []byte) error
	PendingByHash(ctx context.Context, kind PendingKind, hash []byte, now time.Time) (Pending, error)
	// TakePending returns and deletes a step. Of concurrent calls exactly one succeeds.
	TakePending(ctx context.Context, kind PendingKind, hash []byte, now time.Time) (Pending, error)
	PrunePending(ctx context.Context, before time.Time) error
}

// PendingSteps stores the state of multi-step sign-ins in the database, so any node can finish them. The browser holds
// only a token.
type PendingSteps struct {
	store PendingStore
	clock core.Clock
	key   []byte
}

// ErrPending is the only error for an unknown, expired or used token.
var ErrPending = core.Conflict("expired", "This step has expired or was already completed. Start again.")

// Begin stores data and returns the token of the step. userID and sessionID may be empty.
func (p *PendingSteps) Begin(
	ctx context.Context, kind PendingKind, userID, sessionID string, data any,
) (string, error) {
	encoded, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("encode pending step: %w", err)
	}
	token := credential.NewSecret(PendingPrefix)
	pending := Pending{
		Kind:      kind,
		UserID:    userID,
		SessionID: sessionID,
		Data:      encoded,
		ExpiresAt: p.clock.Now().Add(PendingLife),
	}
	if err := p.store.InsertPending(ctx, pending, credential.Hash(p.key, token)); err != nil {
		return "", err
	}
	return token, nil
}

// Get returns a step and leaves it pending. A failure is ErrPending.
func (p *PendingSteps) Get(ctx context.Context, kind PendingKind, token string, data any) (Pending, error) {
	return p.find(ctx, kind, token, data, p.store.PendingByHash)
}

// Take returns a step and completes it: a second call with the token fails. A failure is ErrPending.
func (p *PendingSteps) Take(ctx context.Context, kind PendingKind, token string, data any) (Pending, error) {
	return p.find(ctx, kind, token, data, p.store.TakePending)
}

func (p *PendingSteps) find(ctx context.Context, kind PendingKind, token string, data any,
	read func(context.Context, PendingKind, []byte, time.Time) (Pending, error),
) (Pending, error) {
	if !credential.IsSecret(PendingPrefix, token) {
		return Pending{}, ErrPending
	}
	found, err := read(ctx, kind, credential.Hash(p.key, token), p.clock.Now())
	if core.IsKind(err, core.KindNotFound) {
		return Pending{}, ErrPending
	}
	if err != nil {
		return Pending{}, err
	}
	if data == nil {
		return found, nil
	}
	if err := json.Unmarshal(found.Data, data); err != nil {
		return Pending{}, fmt.Errorf("decode pending step: %w", err)
	}
	return found, nil
}

func (p *PendingSteps) prune(ctx context.Context) error {
	return p.store.PrunePending(ctx, p.clock.Now())
}
