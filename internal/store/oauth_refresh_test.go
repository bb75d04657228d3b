package store_test

import (
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/oauth"
	"carrel/internal/testkit"
)

var oauthRefreshTests = []test{
	{"RefreshExtendsTheGrantUpToItsLimit", func(w *fixture) {
		c := w.client("App")
		g, r := w.grant(w.ada.id, c)
		next, now := r.RefreshHash, w.now
		for range 8 {
			now = now.Add(25 * 24 * time.Hour)
			rot := rotation(c.ID, next)
			issued, err := w.db.RotateRefresh(w.ctx, still{now}, rot)
			if now.After(g.CreatedAt.Add(oauth.RefreshLimit)) {
				w.wantMissing(err, "refresh token")
				return
			}
			w.must(err)
			want := now.Add(oauth.RefreshIdle)
			if limit := g.CreatedAt.Add(oauth.RefreshLimit); want.After(limit) {
				want = limit
			}
			w.same("end", issued.Token.Grant.ExpiresAt, want)
			w.same("token's end", issued.Token.ExpiresAt, now.Add(oauth.AccessLife))
			stored, err := w.db.AccessToken(w.ctx, rot.NewAccess)
			w.must(err)
			w.same("token", stored, issued.Token)
			next = rot.NewRefresh
		}
		w.t.Error("the grant has no limit")
	}},
	{"IdleRefreshTokenExpires", func(w *fixture) {
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		_, err := w.db.RotateRefresh(w.ctx, still{w.now.Add(oauth.RefreshIdle)}, rotation(c.ID, r.RefreshHash))
		w.wantMissing(err, "refresh token")
	}},
	{"RefreshNeedsTheClientAndAnActiveGrant", func(w *fixture) {
		c, other := w.client("App"), w.client("Other")
		g, r := w.grant(w.ada.id, c)
		_, err := w.db.RotateRefresh(w.ctx, still{w.now}, rotation(other.ID, r.RefreshHash))
		w.wantMissing(err, "refresh token")
		_, err = w.db.RotateRefresh(w.ctx, still{w.now}, rotation(c.ID, hash()))
		w.wantMissing(err, "refresh token")
		_, err = w.db.RevokeGrant(w.ctx, w.bert.id, g.ID, w.now)
		w.wantMissing(err, "connection")
		w.ends(true)(w.db.RevokeGrant(w.ctx, w.ada.id, g.ID, w.now))
		_, err = w.db.RotateRefresh(w.ctx, still{w.now}, rotation(c.ID, r.RefreshHash))
		w.wantMissing(err, "refresh token")
	}},
	{"RepeatedRefreshGetsTheSameTokensUntilTheGraceEnds", func(w *fixture) {
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		rot := rotation(c.ID, r.RefreshHash)
		first, err := w.db.RotateRefresh(w.ctx, still{w.after(1000)}, rot)
		w.must(err)
		for _, at := range []time.Time{w.now, w.after(1000), w.after(1000).Add(oauth.RefreshGrace)} {
			again, err := w.db.RotateRefresh(w.ctx, still{at}, rot)
			w.must(err)
			w.same("late", again, first)
		}
		late := w.after(1001).Add(oauth.RefreshGrace)
		//nolint:errorlint // must not be wrapped
		if _, err := w.db.RotateRefresh(w.ctx, still{late}, rot); err != oauth.ErrReused {
			w.t.Errorf("got %v, want ErrReused", err)
		}
		_, err = w.db.RotateRefresh(w.ctx, still{late}, rotation(c.ID, rot.NewRefresh))
		w.wantMissing(err, "refresh token")
		token, err := w.db.AccessToken(w.ctx, rot.NewAccess)
		w.must(err)
		w.same("revoked", token.Grant.RevokedAt, &late)
	}},
	{"ReuseIsDetectedForThirtyDays", func(w *fixture) {
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		last := w.refreshEvery(20*day, c, w.now.Add(20*day), r.RefreshHash, 2)
		late := w.now.Add(50*day - time.Millisecond) // less than thirty days after the first token was replaced
		w.must(w.db.PruneOAuth(w.ctx, late, w.now, late.Add(-30*day)))
		_, err := w.db.RotateRefresh(w.ctx, still{late}, rotation(c.ID, r.RefreshHash))
		if err != oauth.ErrReused { //nolint:errorlint // must not be wrapped
			w.t.Errorf("got %v, want ErrReused", err)
		}
		_, err = w.db.RotateRefresh(w.ctx, still{late}, rotation(c.ID, last))
		w.wantMissing(err, "refresh token")
	}},
	{"TokenWithAPrunedSuccessorIsRefused", func(w *fixture) {
		// The clock is set back for the first two refreshes, so that the successor of the first token is pruned before it.
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		last := w.refreshEvery(25*day, c, w.now.Add(-35*day), r.RefreshHash, 4)
		late := w.now.Add(59 * day)
		w.must(w.db.PruneOAuth(w.ctx, late, w.now, late.Add(-30*day)))
		_, err := w.db.RotateRefresh(w.ctx, still{late}, rotation(c.ID, r.RefreshHash))
		w.wantMissing(err, "refresh token")
		old, err := w.refreshToken(r.RefreshHash)
		w.must(err)
		w.same("end of the first token", old.ExpiresAt, w.now.Add(oauth.RefreshIdle))
		_, err = w.db.RotateRefresh(w.ctx, still{late}, rotation(c.ID, last))
		w.must(err)
	}},
	{"ConcurrentRefreshesReturnOnePair", func(w *fixture) {
		const rounds, callers = 60, 24
		c := w.client("App")
		g, r := w.grant(w.ada.id, c)
		next, now := r.RefreshHash, w.now
		for range rounds {
			rot := rotation(c.ID, next)
			var same atomic.Int32
			testkit.Concurrently(callers, func(int) {
				issued, err := w.db.RotateRefresh(w.ctx, still{now}, rot)
				if err == nil && issued.Token.Grant.ID == g.ID &&
					issued.Token.ExpiresAt.Equal(now.Add(oauth.AccessLife)) {
					same.Add(1)
				} else {
					w.t.Errorf("got %+v, %v", issued, err)
				}
			})
			if n := same.Load(); n != callers {
				w.t.Fatalf("%d of %d got the pair", n, callers)
			}
			next, now = rot.NewRefresh, now.Add(time.Minute)
		}
		// The tokens form a chain: the earlier ones are replaced and only the last one works.
		_, err := w.refreshToken(next)
		w.must(err)
		_, err = w.refreshToken(r.RefreshHash)
		w.wantMissing(err, "token")
	}},
	{"RevocationHoldsAgainstConcurrentRefreshes", func(w *fixture) {
		const rounds, callers = 60, 24
		c := w.client("App")
		for range rounds {
			g, r := w.grant(w.ada.id, c)
			rot := rotation(c.ID, r.RefreshHash)
			testkit.Concurrently(callers, func(i int) {
				if i != callers/2 {
					if _, err := w.db.RotateRefresh(w.ctx, still{w.now}, rot); err != nil &&
						!core.IsKind(err, core.KindNotFound) {
						w.t.Errorf("refresh: %v", err)
					}
					return
				}
				if ended, err := w.db.RevokeGrant(w.ctx, w.ada.id, g.ID, w.now); !ended || err != nil {
					w.t.Errorf("revoke: %v, %v", ended, err)
				}
				if _, err := w.db.RotateRefresh(w.ctx, still{w.now}, rot); !core.IsKind(err, core.KindNotFound) {
					w.t.Errorf("right after the revocation: %v", err)
				}
			})
			_, err := w.db.RotateRefresh(w.ctx, still{w.now}, rotation(c.ID, rot.NewRefresh))
			w.wantMissing(err, "refresh token")
			if found, err := w.db.TokenByHash(w.ctx, rot.NewAccess, period); err == nil {
				w.same("revoked", found.Key.RevokedAt, &w.now)
			}
		}
	}},
	{"ClockIsReadUnderTheLock", func(w *fixture) {
		// A time read before waiting for the lock would make the next use look like a replay after the grace period.
		c := w.client("App")
		_, r := w.grant(w.ada.id, c)
		rot := rotation(c.ID, r.RefreshHash)
		w.readsTheClockUnderTheLock(func(clock core.Clock) error {
			_, err := w.db.RotateRefresh(w.ctx, clock, rot)
			return err
		})
		_, claim := w.authCode(w.ada.id, c.ID)
		w.readsTheClockUnderTheLock(func(clock core.Clock) error {
			_, err := w.db.RedeemAuthCode(w.ctx, clock, claim)
			return err
		})
	}},
}

const day = 24 * time.Hour

// refreshEvery refreshes a grant n times and returns the last refresh token.
func (w *fixture) refreshEvery(pause time.Duration, c oauth.Client, first time.Time, token []byte, n int) []byte {
	w.t.Helper()
	for i := range n {
		next := rotation(c.ID, token)
		_, err := w.db.RotateRefresh(w.ctx, still{first.Add(time.Duration(i) * pause)}, next)
		w.must(err)
		token = next.NewRefresh
	}
	return token
}

// readsTheClockUnderTheLock fails the test if a second call can complete while the first one reads the clock.
func (w *fixture) readsTheClockUnderTheLock(act func(core.Clock) error) {
	w.t.Helper()
	second := make(chan error, 1)
	first := act(clockFunc(func() time.Time {
		done := make(chan struct{})
		go func() {
			second <- act(still{w.now})
			close(done)
		}()
		select {
		case <-done:
			w.t.Error("a second call completed between reading the clock and the change")
		case <-time.After(50 * time.Millisecond):
		}
		return w.now
	}))
	w.must(first)
	if err := <-second; err != nil && err != oauth.ErrReused { //nolint:errorlint // must not be wrapped
		w.t.Error(err)
	}
}

type clockFunc func() time.Time

func (f clockFunc) Now() time.Time { return f() }
