package httpapi

import (
	"context"
	"time"

	"carrel/internal/core"
)

// Sealer encrypts what is kept.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// sealedReplies keeps replies encrypted: some show a secret that is stored nowhere else in the clear.
type sealedReplies struct {
	Idempotency
	sealer Sealer
}

// ClaimIdempotency claims, and opens the reply that is there.
func (s sealedReplies) ClaimIdempotency(ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time) (core.IdempotencyRecord, bool, error) {
	rec, mine, err := s.Idempotency.ClaimIdempotency(ctx, userID, key, hash, seed, now, lockUntil)
	if err == nil && rec.Status != 0 {
		rec.Body, err = s.sealer.Open(rec.Body, replyPlace(userID, key))
	}
	return rec, mine, err
}

// FinishIdempotency seals the reply and keeps it.
func (s sealedReplies) FinishIdempotency(ctx context.Context, userID, key string, status int, body []byte, now time.Time) error {
	return s.Idempotency.FinishIdempotency(ctx, userID, key, status, s.sealer.Seal(body, replyPlace(userID, key)), now)
}

// replyPlace names what a reply is kept under. An id has no space in it, so no two are alike.
func replyPlace(userID, key string) string { return userID + " " + key }
