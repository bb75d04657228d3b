package store_test

import (
	"sync/atomic"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/testkit"
)

// session returns an unsaved session of the user.
func (w *fixture) session(userID string) credential.Session {
	return credential.Session{
		ID: core.NewID(core.PrefixCredential), UserID: userID, Address: "203.0.113.7", Agent: "Browser/1",
		CreatedAt: w.now, AuthenticatedAt: w.now, SeenAt: w.now, ExpiresAt: w.after(1000),
	}
}

// insertSession adds a session and returns its hash.
func (w *fixture) insertSession(s credential.Session) []byte {
	w.t.Helper()
	h := hash()
	w.must(w.db.InsertSession(w.ctx, s, h))
	return h
}

func (w *fixture) liveSessions(userID string) []string {
	w.t.Helper()
	sessions, err := w.db.Sessions(w.ctx, userID, w.now, w.now.Add(-time.Hour))
	w.must(err)
	ids := []string{}
	for _, s := range sessions {
		ids = append(ids, s.ID)
	}
	return ids
}

var sessionTests = []test{
	{"ASessionIsFoundByHashWithItsUser", func(w *fixture) {
		s := w.session(w.ada.id)
		h := w.insertSession(s)
		got, err := w.db.SessionByHash(w.ctx, h, "2025-06")
		w.must(err)
		w.same("found", got, credential.FoundSession{Session: s, User: w.ada.user, Entitlement: w.has(w.ada)})
		_, err = w.db.SessionByHash(w.ctx, hash(), "2025-06")
		w.wantMissing(err, "session")
		w.wantMissing(w.db.InsertSession(w.ctx, w.session("usr_none"), hash()), "user")
		w.wantKind(w.db.InsertSession(w.ctx, w.session(w.bert.id), h), core.KindConflict, "")
	}},
	{"RevokingASessionIsForItsUserAndKeepsTheFirstTime", func(w *fixture) {
		s := w.session(w.ada.id)
		h := w.insertSession(s)
		w.wantMissing(w.db.RevokeSession(w.ctx, w.bert.id, s.ID, w.now), "session")
		w.must(w.db.RevokeSession(w.ctx, w.ada.id, s.ID, w.after(1)))
		w.must(w.db.RevokeSession(w.ctx, w.ada.id, s.ID, w.after(2)))
		got, err := w.db.SessionByHash(w.ctx, h, "2025-06")
		w.must(err)
		first := w.after(1)
		w.same("revoked", got.Session.RevokedAt, &first)
		w.wantMissing(w.db.StepUpSession(w.ctx, s.ID, w.after(3)), "session")
	}},
	{"OnlySessionsThatCanBeUsedAreListed", func(w *fixture) {
		good, newer, other := w.session(w.ada.id), w.session(w.ada.id), w.session(w.bert.id)
		ended, expired, idle := w.session(w.ada.id), w.session(w.ada.id), w.session(w.ada.id)
		expired.ExpiresAt, idle.SeenAt = w.now, w.now.Add(-time.Hour)
		for _, s := range []credential.Session{good, newer, other, ended, expired, idle} {
			w.insertSession(s)
		}
		w.must(w.db.RevokeSession(w.ctx, w.ada.id, ended.ID, w.now))
		w.same("listed", w.liveSessions(w.ada.id), []string{newer.ID, good.ID})
	}},
	{"LastUseNeverMovesBackAndStepUpIsRecorded", func(w *fixture) {
		s := w.session(w.ada.id)
		h := w.insertSession(s)
		w.must(w.db.TouchSession(w.ctx, s.ID, w.after(9)))
		w.must(w.db.TouchSession(w.ctx, s.ID, w.after(3)))
		w.must(w.db.StepUpSession(w.ctx, s.ID, w.after(5)))
		s.SeenAt, s.AuthenticatedAt = w.after(9), w.after(5)
		got, err := w.db.SessionByHash(w.ctx, h, "2025-06")
		w.must(err)
		w.same("session", got.Session, s)
	}},
	{"RevokeSessionsKeepsOne", func(w *fixture) {
		kept, gone, other := w.session(w.ada.id), w.session(w.ada.id), w.session(w.bert.id)
		for _, s := range []credential.Session{kept, gone, other} {
			w.insertSession(s)
		}
		w.must(w.db.RevokeSessions(w.ctx, w.ada.id, kept.ID, w.now))
		w.same("of the user", w.liveSessions(w.ada.id), []string{kept.ID})
		w.must(w.db.RevokeSessions(w.ctx, w.ada.id, "", w.now))
		w.same("of the user, later", w.liveSessions(w.ada.id), []string{})
		w.same("of another user", w.liveSessions(w.bert.id), []string{other.ID})
	}},
	{"NewPasswordRevokesSessions", func(w *fixture) {
		kept, gone := w.session(w.ada.id), w.session(w.ada.id)
		w.insertSession(kept)
		w.insertSession(gone)
		w.must(w.db.SetPassword(w.ctx, w.ada.id, "another", kept.ID, w.now))
		w.same("sessions", w.liveSessions(w.ada.id), []string{kept.ID})
		u, h, err := w.db.PasswordHash(w.ctx, w.ada.user.Email)
		w.must(err)
		w.same("user", u, w.ada.user)
		w.same("hash", h, "another")
		w.wantMissing(w.db.SetPassword(w.ctx, "usr_none", "x", "", w.now), "user")
		_, _, err = w.db.PasswordHash(w.ctx, "nobody@example.org")
		w.wantMissing(err, "user")
	}},
	{"ExpiredSessionsArePruned", func(w *fixture) {
		old, young := w.session(w.ada.id), w.session(w.ada.id)
		old.ExpiresAt = w.now
		oldHash, youngHash := w.insertSession(old), w.insertSession(young)
		w.must(w.db.PruneSessions(w.ctx, w.now))
		_, err := w.db.SessionByHash(w.ctx, oldHash, "2025-06")
		w.wantMissing(err, "session")
		_, err = w.db.SessionByHash(w.ctx, youngHash, "2025-06")
		w.must(err)
	}},
	{"FirstUserIsRejectedIfUsersExist", func(w *fixture) {
		u := account.User{ID: core.NewID(core.PrefixUser), Email: "late@example.org", Name: "Late", Role: core.RoleOwner, CreatedAt: w.now}
		w.wantKind(w.db.InsertFirstUser(w.ctx, u, "h"), core.KindConflict, "")
		_, err := w.db.UserByEmail(w.ctx, u.Email)
		w.wantMissing(err, "user")
	}},
}

// firstUserTest needs a database without users, so it does not use newFixture.
func firstUserTest(w *fixture) {
	const callers = 24
	var winners atomic.Int32
	testkit.Concurrently(callers, func(int) {
		u := account.User{ID: core.NewID(core.PrefixUser), Role: core.RoleOwner, CreatedAt: w.now}
		u.Email = u.ID + "@example.org"
		err := w.db.InsertFirstUser(w.ctx, u, "h")
		if err == nil {
			winners.Add(1)
			return
		}
		w.wantKind(err, core.KindConflict, "This installation already has an owner. Sign in, or ask the owner for an account.")
	})
	users, err := w.db.Users(w.ctx)
	w.must(err)
	if winners.Load() != 1 || len(users) != 1 {
		w.t.Errorf("%d callers made the first account, and there are %d", winners.Load(), len(users))
	}
}
