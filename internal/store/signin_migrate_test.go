package store

import (
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// TestMigrationVerifiesAddressesNotChangedByTheirUser migrates to the version with verified addresses.
func TestMigrationVerifiesAddressesNotChangedByTheirUser(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if err := b.migrate(t, b.before(t, "00020")); err != nil {
				t.Fatal(err)
			}
			raw := b.raw(t)
			for _, statement := range []string{
				`INSERT INTO app_user (id, email, name, role, plan, password_hash, created_at)
					VALUES ('made', 'm', 'n', 'member', 'open', '', 0)`,
				`INSERT INTO app_user (id, email, name, role, plan, password_hash, created_at)
					VALUES ('changed', 'c', 'n', 'member', 'open', '', 0)`,
				`INSERT INTO audit (seq, at, user_id, actor, event, detail, address, prev_hash, hash)
					SELECT 1, 0, 'changed', 'x', 'email_changed', '{}', '', hash, hash FROM audit_head`,
				`INSERT INTO audit (seq, at, user_id, actor, event, detail, address, prev_hash, hash)
					SELECT 2, 0, 'made', 'x', 'name_changed', '{}', '', hash, hash FROM audit_head`,
			} {
				if _, err := raw.Exec(statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			if err := raw.Close(); err != nil {
				t.Fatal(err)
			}
			db := open(t, b.options)
			for id, want := range map[string]bool{"made": true, "changed": false} {
				if u, err := db.UserByID(t.Context(), id); err != nil || u.EmailVerified != want || u.PendingEmail != "" {
					t.Errorf("%s: %+v, %v", id, u, err)
				}
			}
		})
	}
}

func TestExpiredLimitsAndBrowsersArePruned(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db, ctx, now := open(t, b.options), t.Context(), time.UnixMilli(1_000_000)
			for key, burst := range map[string]time.Duration{"short": time.Second, "long": time.Minute} {
				if _, _, err := db.TakeAttempts(ctx, []signin.Bucket{{
					Key: []byte(key), TokenBucket: core.TokenBucket{Burst: 3, Every: burst},
				}}, now); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.InsertUser(ctx, account.User{ID: "u", Email: "e", CreatedAt: now}, "h"); err != nil {
				t.Fatal(err)
			}
			for hash, end := range map[string]time.Duration{"short": time.Second, "long": time.Minute} {
				if err := db.RememberBrowser(ctx, "u", nil, []byte(hash), now.Add(end)); err != nil {
					t.Fatal(err)
				}
			}
			for _, prune := range []func() error{
				func() error { return db.PruneAttempts(ctx, now.Add(time.Second)) },
				func() error { return db.PruneBrowsers(ctx, now.Add(time.Second)) },
			} {
				if err := prune(); err != nil {
					t.Fatal(err)
				}
			}
			for _, table := range []string{"signin_limit", "signin_browser"} {
				if n, err := db.Count(ctx, table); err != nil || n != 1 {
					t.Errorf("%s has %d rows, %v", table, n, err)
				}
			}
		})
	}
}
