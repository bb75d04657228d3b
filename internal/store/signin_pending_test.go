package store_test

import (
	"carrel/internal/core"
	"carrel/internal/signin"
)

// pending returns an unsaved pending step.
func (w *fixture) pending() signin.Pending {
	return signin.Pending{
		Kind: signin.PendingFactor, UserID: w.ada.id, SessionID: "crd_1", Data: []byte(`{"a": 1}`), ExpiresAt: w.after(10),
	}
}

var pendingTests = []test{
	{"PendingStepIsFoundByHashKindAndTime", func(w *fixture) {
		p, h := w.pending(), hash()
		w.must(w.db.InsertPending(w.ctx, p, h))
		got, err := w.db.PendingByHash(w.ctx, p.Kind, h, w.now)
		w.must(err)
		w.same("found", got, p)
		for _, look := range []func() error{
			func() error { _, err := w.db.PendingByHash(w.ctx, p.Kind, hash(), w.now); return err },
			func() error {
				_, err := w.db.PendingByHash(w.ctx, signin.PendingUpstream, h, w.now)
				return err
			},
			func() error { _, err := w.db.PendingByHash(w.ctx, p.Kind, h, p.ExpiresAt); return err },
			func() error {
				_, err := w.db.TakePending(w.ctx, signin.PendingUpstream, h, w.now)
				return err
			},
			func() error { _, err := w.db.TakePending(w.ctx, p.Kind, h, p.ExpiresAt); return err },
		} {
			w.wantMissing(look(), "pending sign-in")
		}
		got, err = w.db.TakePending(w.ctx, p.Kind, h, w.now)
		w.must(err)
		w.same("taken", got, p)
	}},
	{"ConcurrentTakesOfAPendingStepSucceedOnce", func(w *fixture) {
		p, h := w.pending(), hash()
		w.must(w.db.InsertPending(w.ctx, p, h))
		w.exactlyOne("take", func() error { _, err := w.db.TakePending(w.ctx, p.Kind, h, w.now); return err })
	}},
	{"ExpiredStepsArePruned", func(w *fixture) {
		old, young := w.pending(), w.pending()
		old.ExpiresAt = w.now
		oldHash, youngHash := hash(), hash()
		w.must(w.db.InsertPending(w.ctx, old, oldHash))
		w.must(w.db.InsertPending(w.ctx, young, youngHash))
		w.must(w.db.PrunePending(w.ctx, w.now))
		w.wantKind(w.db.InsertPending(w.ctx, young, youngHash), core.KindConflict, "")
		w.must(w.db.InsertPending(w.ctx, old, oldHash)) // the hash is free again
	}},
}
