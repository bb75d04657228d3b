package credential_test

import (
	"context"
	"testing"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/store"
	kit "carrel/internal/testkit/fixture"
)

// countedStore counts the lookups of keys.
type countedStore struct {
	*store.DB
	lookups int
}

func (c *countedStore) KeyByHash(ctx context.Context, hash []byte, month string) (credential.Found, error) {
	c.lookups++
	return c.DB.KeyByHash(ctx, hash, month)
}

// Lookups are cached while the database has not changed. A change by another process must invalidate the cache, because
// `carrel admin` runs beside the server.
func TestCachedLookupEndsWithAnyWriteOfAnotherProcess(t *testing.T) {
	t.Parallel()
	path := kit.SQLite(t)
	f := openFixture(t, path)
	counted := &countedStore{DB: f.db}
	deps := f.deps("secret")
	deps.Store = counted
	service := credential.NewService(deps)
	k, token := f.key(t, credential.NewKey{Name: "k"})
	admin, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	if _, known := f.db.AccessVersion(); !known {
		t.Skip("this platform has no version of the database, so nothing is cached")
	}
	authenticate := func(lookups int) (core.Actor, error) {
		t.Helper()
		actor, err := service.Authenticate(t.Context(), token)
		if counted.lookups != lookups {
			t.Errorf("%d lookups, want %d", counted.lookups, lookups)
		}
		return actor, err
	}
	for range 3 {
		if _, err := authenticate(1); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.SetSpendCap(t.Context(), f.user.UserID, new(int64(5))); err != nil {
		t.Fatal(err)
	}
	if actor, err := authenticate(2); err != nil || !actor.Spend.Capped || actor.Spend.Cap != 5 {
		t.Errorf("after the cap was set: %+v, %v", actor.Spend, err)
	}
	if err := admin.RevokeKey(t.Context(), f.user.UserID, k.ID, f.clock.Now()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := authenticate(3); !core.IsKind(err, core.KindUnauthenticated) {
			t.Errorf("after it was revoked: %v", err)
		}
	}
}

// Expiry and the month of the spend depend on the clock, not on a write.
func TestCachedLookupDependsOnTheClock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.clock.Set(time.Date(2025, 6, 30, 23, 0, 0, 0, time.UTC))
	if err := f.db.SetSpendCap(t.Context(), f.user.UserID, new(int64(5))); err != nil {
		t.Fatal(err)
	}
	expires := f.clock.Now().Add(90 * time.Minute)
	_, token := f.key(t, credential.NewKey{Name: "k", ExpiresAt: &expires})
	purchase := billing.Reservation{
		ID: "spd", UserID: f.user.UserID, Kind: billing.MeteredSearch, Micros: 3, At: f.clock.Now(),
	}
	if err := f.db.ReserveSpend(t.Context(), purchase); err != nil {
		t.Fatal(err)
	}
	for _, used := range []int64{3, 0} { // in June and in July
		actor, err := f.Authenticate(t.Context(), token)
		if err != nil || actor.Spend.Used != used || !actor.Spend.ResetsAt.Equal(core.MonthEnd(f.clock.Now())) {
			t.Errorf("at %v: %+v, %v", f.clock.Now(), actor.Spend, err)
		}
		f.clock.Advance(time.Hour)
	}
	f.clock.Set(expires)
	if _, err := f.Authenticate(t.Context(), token); !core.IsKind(err, core.KindUnauthenticated) {
		t.Errorf("expired: %v", err)
	}
}
