package store_test

import (
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

// claim claims a key for Ada for one minute.
func (w *fixture) claim(key, request, seed string, now time.Time) (core.IdempotencyRecord, bool) {
	w.t.Helper()
	rec, mine, err := w.db.ClaimIdempotency(w.ctx, w.ada.id, key, []byte(request), seed, now, now.Add(time.Minute))
	w.must(err)
	return rec, mine
}

var idempotencyTests = []test{
	{"NewKeyIsClaimed", func(w *fixture) {
		rec, mine := w.claim("k", "r", "s1", w.now)
		w.same("mine", mine, true)
		w.same("record", rec, core.IdempotencyRecord{Hash: []byte("r"), Seed: "s1"})
		rec, mine = w.claim("k", "r", "s2", w.now)
		w.same("mine while it is being answered", mine, false)
		w.same("record", rec, core.IdempotencyRecord{Hash: []byte("r"), Seed: "s1"})
	}},
	{"KeysAreScopedToTheUser", func(w *fixture) {
		w.claim("k", "r", "s1", w.now)
		rec, mine, err := w.db.ClaimIdempotency(w.ctx, w.bert.id, "k", []byte("other"), "s2", w.now, w.after(1))
		w.must(err)
		w.same("mine", mine, true)
		w.same("seed", rec.Seed, "s2")
		_, _, err = w.db.ClaimIdempotency(w.ctx, "usr_none", "k", []byte("r"), "s", w.now, w.now)
		w.wantMissing(err, "user")
	}},
	{"ResponseIsReplayed", func(w *fixture) {
		for _, body := range [][]byte{[]byte("\x00binary"), nil} {
			key := core.NewSeed()
			w.claim(key, "r", "s1", w.now)
			w.must(w.db.FinishIdempotency(w.ctx, w.ada.id, key, 200, body, w.now))
			rec, mine := w.claim(key, "another request", "s2", w.now.Add(23*time.Hour))
			w.same("mine", mine, false)
			w.same("record", rec, core.IdempotencyRecord{Hash: []byte("r"), Seed: "s1", Status: 200, Body: body})
		}
	}},
	{"AbandonedClaimIsTakenOverWithItsSeed", func(w *fixture) {
		w.claim("k", "r", "s1", w.now)
		later := w.now.Add(time.Minute)
		rec, mine := w.claim("k", "other request", "s2", later)
		w.same("mine with another request", mine, false)
		w.same("hash", rec.Hash, []byte("r"))
		rec, mine = w.claim("k", "r", "s3", later)
		w.same("mine", mine, true)
		w.same("seed", rec.Seed, "s1")
		_, mine = w.claim("k", "r", "s4", later)
		w.same("mine once more", mine, false)
	}},
	{"KeyExpiresAfterADay", func(w *fixture) {
		for _, finished := range []bool{true, false} {
			key := core.NewSeed()
			w.claim(key, "r", "s1", w.now)
			if finished {
				w.must(w.db.FinishIdempotency(w.ctx, w.ada.id, key, 200, []byte("b"), w.now))
			}
			rec, mine := w.claim(key, "new request", "s2", w.now.Add(24*time.Hour))
			w.same("mine", mine, true)
			w.same("record", rec, core.IdempotencyRecord{Hash: []byte("new request"), Seed: "s2"})
			rec, mine = w.claim(key, "new request", "s3", w.now.Add(24*time.Hour+time.Second))
			w.same("mine again", mine, false)
			w.same("record kept", rec, core.IdempotencyRecord{Hash: []byte("new request"), Seed: "s2"})
		}
	}},
	{"ReleasedKeyIsFreeUnlessItHasAResponse", func(w *fixture) {
		w.claim("k", "r", "s1", w.now)
		w.must(w.db.ReleaseIdempotency(w.ctx, w.ada.id, "k"))
		rec, mine := w.claim("k", "r2", "s2", w.now)
		w.same("mine", mine, true)
		w.same("seed", rec.Seed, "s2")
		w.must(w.db.FinishIdempotency(w.ctx, w.ada.id, "k", 400, nil, w.now))
		w.must(w.db.ReleaseIdempotency(w.ctx, w.ada.id, "k"))
		_, mine = w.claim("k", "r2", "s3", w.now)
		w.same("mine", mine, false)
		w.wantMissing(w.db.FinishIdempotency(w.ctx, w.ada.id, "none", 200, nil, w.now), "idempotency key")
	}},
	{"OldKeysArePruned", func(w *fixture) {
		w.claim("old", "r", "s1", w.now)
		w.claim("new", "r", "s1", w.after(1))
		w.must(w.db.PruneIdempotency(w.ctx, w.after(1)))
		_, mine := w.claim("old", "r", "s2", w.after(1))
		w.same("old is forgotten", mine, true)
		_, mine = w.claim("new", "r", "s2", w.after(1))
		w.same("new is free", mine, false)
	}},
	{"ConcurrentClaimsSucceedOnce", func(w *fixture) {
		for range 20 {
			key := core.NewSeed()
			var mine atomic.Int32
			testkit.Concurrently(16, func(int) {
				_, ok, err := w.db.ClaimIdempotency(w.ctx, w.ada.id, key, []byte("r"), core.NewSeed(), w.now,
					w.after(1))
				if err != nil {
					w.t.Error(err)
				}
				if ok {
					mine.Add(1)
				}
			})
			w.same("claims that won", mine.Load(), int32(1))
		}
	}},
}
