package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"carrel/internal/core"
)

const (
	maxIdempotencyKey = 255
	// idempotencyLock is the time after which a retry may take over the claim of an unfinished request. It is much longer
	// than any creation takes, so that only the claim of a crashed request expires.
	idempotencyLock = time.Minute
)

// once carries out a request with an Idempotency-Key at most once. The claim is stored before the work, and the reply
// after it. After a crash in between, a retry uses the seed of the claim, so it creates the object with the same id, or
// finds it.
//
// A reply that contains a secret is repeated only to the credential that received it first: another credential of the
// same user may be allowed less.
func (a *API) once(rep *reply, r *http.Request, secret bool, key string, body []byte, out *outcome) error {
	ctx, userID := r.Context(), actor(r.Context()).UserID
	hash := requestHash(r, body)
	if secret {
		hash = append(hash, actor(ctx).CredentialID...)
	}
	rec, mine, err := a.claim(r, userID, key, core.NewSeed(), hash)
	if err != nil {
		return err
	}
	if !mine {
		return replay(rep, rec)
	}
	a.oas.ServeHTTP(rep, r.WithContext(core.WithSeed(ctx, rec.Seed)))
	// Store the reply even if the client has disconnected: it will retry.
	ctx = context.WithoutCancel(ctx)
	if out.err != nil || rep.status >= http.StatusMultipleChoices {
		a.release(ctx, userID, key)
		return out.err
	}
	return a.Idempotency.FinishIdempotency(ctx, userID, key, rep.status, rep.body.Bytes(), a.Clock.Now())
}

// onceTurn sends a message with an Idempotency-Key at most once. The id of the turn comes from the seed of the claim,
// so a retry finds the same turn and gets its current state; no reply is stored. If the message joined the turn of
// another request, the seed of that turn is stored.
func (a *API) onceTurn(rep *reply, r *http.Request, key string, body []byte, out *outcome) error {
	ctx, userID := r.Context(), actor(r.Context()).UserID
	seed := core.NewSeed()
	rec, _, err := a.claim(r, userID, key, seed, requestHash(r, body))
	if err != nil {
		return err
	}
	// A different seed belongs to an earlier request with this key. Its turn may exist, so its claim must not be released.
	first := rec.Seed == seed
	if !first {
		rep.header.Set("Idempotent-Replayed", "true")
	}
	if rec.Status != 0 {
		rec.Seed = string(rec.Body)
	}
	a.oas.ServeHTTP(rep, r.WithContext(core.WithSeed(ctx, rec.Seed)))
	ctx = context.WithoutCancel(ctx)
	switch _, joined, _ := strings.Cut(out.turn, "_"); {
	case out.turn == "" && first && core.IsRefusal(out.err):
		a.release(ctx, userID, key)
	case out.turn != "" && joined != rec.Seed:
		err := a.Idempotency.FinishIdempotency(ctx, userID, key, http.StatusAccepted, []byte(joined), a.Clock.Now())
		if out.err == nil {
			out.err = err
		}
	}
	return out.err
}

// claim claims an Idempotency-Key for a request, or returns the existing record. A key that was used for another
// request is a mismatch, unless this request is invalid: validation errors come first, as for a request without a key.
func (a *API) claim(
	r *http.Request, userID, key, seed string, hash []byte,
) (rec core.IdempotencyRecord, mine bool, err error) {
	rec, mine, err = a.claimValid(r.Context(), userID, key, seed, hash)
	if core.IsKind(err, core.KindMismatch) {
		if invalid := a.validate(r); invalid != nil {
			err = invalid
		}
	}
	return rec, mine, err
}

// claimValid is claim for a request that has been validated.
func (a *API) claimValid(
	ctx context.Context, userID, key, seed string, hash []byte,
) (rec core.IdempotencyRecord, mine bool, err error) {
	if !validIdempotencyKey(key) {
		return rec, false, core.InvalidField("Idempotency-Key", "Must be 1 to 255 printable ASCII characters.")
	}
	now := a.Clock.Now()
	rec, mine, err = a.Idempotency.ClaimIdempotency(ctx, userID, key, hash, seed, now, now.Add(idempotencyLock))
	if err == nil && !bytes.Equal(rec.Hash, hash) {
		err = &core.Error{
			Kind: core.KindMismatch, Code: "idempotency_mismatch",
			Detail: "This Idempotency-Key was used for another request. Use a new key for each request.",
		}
	}
	return rec, mine, err
}

// release removes the claim of a request that created nothing.
func (a *API) release(ctx context.Context, userID, key string) {
	if err := a.Idempotency.ReleaseIdempotency(ctx, userID, key); err != nil {
		a.log.WarnContext(ctx, "idempotency key not released", slog.Any("error", err))
	}
}

func replay(rep *reply, rec core.IdempotencyRecord) error {
	if rec.Status == 0 {
		e := core.Conflict("idempotency_in_progress",
			"The first request with this Idempotency-Key is still in progress. Send it again in a moment.")
		e.RetryAfter = time.Second
		return e
	}
	rep.header.Set("Content-Type", "application/json; charset=utf-8")
	rep.header.Set("Idempotent-Replayed", "true")
	rep.status = rec.Status
	rep.body.Write(rec.Body)
	return nil
}

func requestHash(r *http.Request, body []byte) []byte {
	h := sha256.New()
	h.Write([]byte(r.Method + " " + r.URL.EscapedPath() + "\n"))
	h.Write(body)
	return h.Sum(nil)
}

// idempotencyKey returns the Idempotency-Key of a request and whether the header was sent. An empty or repeated header
// gives an invalid key, which is refused: ignoring it would leave the client without the protection it asked for.
func idempotencyKey(r *http.Request) (key string, sent bool) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 1 {
		key = values[0]
	}
	return key, len(values) > 0
}

func validIdempotencyKey(key string) bool {
	if key == "" || len(key) > maxIdempotencyKey {
		return false
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return true
}

// Sealer encrypts stored replies.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// sealedReplies encrypts stored replies, because some contain a secret that is not stored in plain text anywhere else.
type sealedReplies struct {
	Idempotency
	sealer Sealer
}

// ClaimIdempotency claims a key and decrypts the stored reply.
func (s sealedReplies) ClaimIdempotency(
	ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time,
) (core.IdempotencyRecord, bool, error) {
	rec, mine, err := s.Idempotency.ClaimIdempotency(ctx, userID, key, hash, seed, now, lockUntil)
	if err == nil && rec.Status != 0 {
		rec.Body, err = s.sealer.Open(rec.Body, replyPlace(userID, key))
	}
	return rec, mine, err
}

// FinishIdempotency encrypts the reply and stores it.
func (s sealedReplies) FinishIdempotency(
	ctx context.Context, userID, key string, status int, body []byte, now time.Time,
) error {
	return s.Idempotency.FinishIdempotency(ctx, userID, key, status, s.sealer.Seal(body, replyPlace(userID, key)), now)
}

// replyPlace binds an encrypted reply to its user and key. It is unambiguous because ids contain no space.
func replyPlace(userID, key string) string { return userID + " " + key }
