package credential

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"carrel/internal/core"
)

// PendingPrefix starts the secret of something that is pending, so that logs mask it.
const PendingPrefix = "crlp"

// PendingLife is how long something that was begun can be finished.
const PendingLife = 10 * time.Minute

// PendingKind is what was begun. A secret for one kind is nothing for another.
type PendingKind string

// The kinds of what people begin on their way in.
const (
	// PendingFactor is a sign-in that waits for the second factor.
	PendingFactor PendingKind = "factor"
	// PendingAssertion is the challenge of a passkey that is about to be used.
	PendingAssertion PendingKind = "passkey"
	// PendingEnrolment is the challenge of a passkey that is about to be made.
	PendingEnrolment PendingKind = "new passkey"
	// PendingUpstream is a journey to another provider.
	PendingUpstream PendingKind = "upstream"
	// PendingLink is somebody who comes from another provider and has to prove the password of the account there is.
	PendingLink PendingKind = "link"
)

// Pending is something that was begun, without its secret.
type Pending struct {
	Kind PendingKind
	// UserID and SessionID are whose it is, where that is known: whoever finishes it must be the same.
	UserID, SessionID string
	// Data is what the one who finishes it needs to know.
	Data      json.RawMessage
	ExpiresAt time.Time
}

// PendingStore keeps what is pending. What is not there, has expired or is of another kind is not_found.
type PendingStore interface {
	InsertPending(ctx context.Context, p Pending, hash []byte) error
	PendingByHash(ctx context.Context, kind PendingKind, hash []byte, now time.Time) (Pending, error)
	// TakePending finds and deletes, at once: of many callers one succeeds.
	TakePending(ctx context.Context, kind PendingKind, hash []byte, now time.Time) (Pending, error)
	PrunePending(ctx context.Context, before time.Time) error
}

// Pendings keeps what people have begun and not finished, on the server and for all nodes; the browser holds a secret
// that leads to it.
type Pendings struct {
	store  PendingStore
	clock  core.Clock
	secret []byte
}

// NewPendings returns a service whose hashes are keyed with secret.
func NewPendings(store PendingStore, clock core.Clock, secret []byte) *Pendings {
	return &Pendings{store: store, clock: clock, secret: secret}
}

// ErrPending is the one answer to a secret that leads to nothing.
var ErrPending = core.Conflict("expired", "This took too long, or was done already. Begin again.")

// Begin keeps data and returns the secret that leads to it. userID and sessionID may be empty.
func (p *Pendings) Begin(ctx context.Context, kind PendingKind, userID, sessionID string, data any) (string, error) {
	encoded, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("encode what is pending: %w", err)
	}
	token := newToken(PendingPrefix)
	pending := Pending{Kind: kind, UserID: userID, SessionID: sessionID, Data: encoded, ExpiresAt: p.clock.Now().Add(PendingLife)}
	if err := p.store.InsertPending(ctx, pending, hashToken(p.secret, token)); err != nil {
		return "", err
	}
	return token, nil
}

// Look returns what a secret leads to and leaves it there; a failure is ErrPending.
func (p *Pendings) Look(ctx context.Context, kind PendingKind, token string, data any) (Pending, error) {
	return p.find(ctx, kind, token, data, p.store.PendingByHash)
}

// Take returns what a secret leads to, once: of many at the same time one gets it. A failure is ErrPending.
func (p *Pendings) Take(ctx context.Context, kind PendingKind, token string, data any) (Pending, error) {
	return p.find(ctx, kind, token, data, p.store.TakePending)
}

func (p *Pendings) find(ctx context.Context, kind PendingKind, token string, data any,
	look func(context.Context, PendingKind, []byte, time.Time) (Pending, error),
) (Pending, error) {
	if !wellFormed(PendingPrefix, token) {
		return Pending{}, ErrPending
	}
	found, err := look(ctx, kind, hashToken(p.secret, token), p.clock.Now())
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
		return Pending{}, fmt.Errorf("read what is pending: %w", err)
	}
	return found, nil
}

// Prune forgets what can't be finished any more.
func (p *Pendings) Prune(ctx context.Context) error { return p.store.PrunePending(ctx, p.clock.Now()) }
