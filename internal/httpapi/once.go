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
	// idempotencyLock is how long a request may take before another with its key may take over. It is far beyond
	// what any creation takes; only a crash leaves a claim open.
	idempotencyLock = time.Minute
)

// once carries a request out at most once. The claim is stored before the work and the reply after it. A crash in
// between leaves the claim with its seed: the next try makes the thing with the same id, finds it, and answers.
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
	// The outcome must be kept even when the client is gone: that is when it comes again.
	ctx = context.WithoutCancel(ctx)
	if out.err != nil || rep.status >= http.StatusMultipleChoices {
		a.release(ctx, userID, key)
		return out.err
	}
	return a.Idempotency.FinishIdempotency(ctx, userID, key, rep.status, rep.body.Bytes(), a.Clock.Now())
}

// onceTurn sends a message at most once. The turn takes its id from the claim's seed, so that the same request again is
// the same turn, and is answered with its state now; nothing else needs to be kept, unless it joined a turn of another
// request, whose seed is kept then.
func (a *API) onceTurn(rep *reply, r *http.Request, key string, body []byte, out *outcome) error {
	ctx, userID := r.Context(), actor(r.Context()).UserID
	seed := core.NewSeed()
	rec, _, err := a.claim(r, userID, key, seed, requestHash(r, body))
	if err != nil {
		return err
	}
	// With another seed than ours the key stands for an earlier request, whose turn may be there: it is kept then.
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

// claim takes an Idempotency-Key for a request, or returns what is there. A key that was used for another request is a
// mismatch, unless this request is invalid: that is said first, as for a request without a key.
func (a *API) claim(r *http.Request, userID, key, seed string, hash []byte) (rec core.IdempotencyRecord, mine bool, err error) {
	if !validIdempotencyKey(key) {
		return rec, false, core.InvalidField("Idempotency-Key", "Must be 1 to 255 printable ASCII characters.")
	}
	now := a.Clock.Now()
	rec, mine, err = a.Idempotency.ClaimIdempotency(r.Context(), userID, key, hash, seed, now, now.Add(idempotencyLock))
	if err == nil && !bytes.Equal(rec.Hash, hash) {
		if err := a.validate(r); err != nil {
			return rec, false, err
		}
		err = &core.Error{
			Kind: core.KindMismatch, Code: "idempotency_mismatch",
			Detail: "This Idempotency-Key was used for another request. Use a new key for a new request.",
		}
	}
	return rec, mine, err
}

// release gives a key back that came to nothing.
func (a *API) release(ctx context.Context, userID, key string) {
	if err := a.Idempotency.ReleaseIdempotency(ctx, userID, key); err != nil {
		a.log.WarnContext(ctx, "idempotency key not released", slog.Any("error", err))
	}
}

func replay(rep *reply, rec core.IdempotencyRecord) error {
	if rec.Status == 0 {
		e := core.Conflict("idempotency_in_progress",
			"The first request with this Idempotency-Key is still being answered. Send the same again in a moment.")
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

// idempotencyKey returns the Idempotency-Key of a request and whether there is one. A header that is empty or is sent
// twice gives a key that is not valid: the client means to be protected from a repetition, and must not be left without.
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
