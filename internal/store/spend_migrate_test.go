package store

import (
	"testing"
	"time"

	"carrel/internal/account"
)

// TestMigrationMovesSpendIntoTheLedger migrates to the version with the ledger. Spent and reserved amounts are kept,
// late settlements still count, and rows that reference threads survive the change of keys.
func TestMigrationMovesSpendIntoTheLedger(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if err := b.migrate(t, b.before(t, "00013")); err != nil {
				t.Fatal(err)
			}
			raw := b.raw(t)
			for _, statement := range []string{
				`INSERT INTO app_user (id, email, name, role, plan, spend_cap, password_hash, created_at)
					VALUES ('u', 'e', 'n', 'member', 'open', 1000, '', 0)`,
				`INSERT INTO agent (id, user_id, name, description, instructions, model, created_at, updated_at)
					VALUES ('a', 'u', '', '', '', '', 0, 0)`,
				`INSERT INTO thread (id, user_id, agent_id, title, status, activity_at, next_seq, created_at, updated_at)
					VALUES ('t', 'u', 'a', '', 'idle', 0, 1, 0, 0)`,
				`INSERT INTO message (id, thread_id, seq, role, text, status, turn_id, created_at)
					VALUES ('m', 't', 1, 'user', '', 'complete', 'trn_1', 0)`,
				`INSERT INTO memory (user_id, agent_id, id, text, folded_hash, origin, thread_id, created_at, updated_at)
					VALUES ('u', 'a', 'k', '', '1', 'user', 't', 0, 0)`,
				`INSERT INTO budget VALUES ('u', '2026-11', 100, 57)`,
				`INSERT INTO spend_entry VALUES ('trn_settled', 'u', '2026-11', 'm', 'settled', 0, 7, 0, 5)`,
				`INSERT INTO spend_entry VALUES ('trn_open', 'u', '2026-11', 'm', 'reserved', 100, 20, 0, 5)`,
				`INSERT INTO spend_entry VALUES ('trn_ended', 'u', '2026-11', 'm', 'ended', 25, 30, 1, 5)`,
			} {
				// SQLite compares a hash given as text only after a cast.
				if b.name == "sqlite" && statement[:18] == "INSERT INTO memory" {
					statement = `
						INSERT INTO memory (user_id, agent_id, id, text, folded_hash, origin, thread_id, created_at, updated_at)
						VALUES ('u', 'a', 'k', '', x'31', 'user', 't', 0, 0)`
				}
				if _, err := raw.Exec(statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			if err := raw.Close(); err != nil {
				t.Fatal(err)
			}
			db, ctx := open(t, b.options), t.Context()
			wantUsed := func(want int64) {
				t.Helper()
				if _, used, err := db.SpendOf(ctx, "u", "2026-11"); err != nil || used != want {
					t.Errorf("%d are used (%v), want %d", used, err, want)
				}
				if d, err := db.SpendDifferences(ctx); err != nil || len(d) > 0 {
					t.Errorf("sums that are wrong: %+v, %v", d, err)
				}
			}
			wantUsed(157)
			if err := db.SettleSpend(ctx, "trn_open", 10, false, time.Now()); err != nil {
				t.Fatal(err)
			}
			if err := db.SettleSpend(ctx, "trn_ended", 5, false, time.Now()); err != nil {
				t.Fatal(err)
			}
			wantUsed(7 + 20 + 10 + 5 + 5)
			for _, table := range []string{"thread", "message", "memory"} {
				if n, err := db.Count(ctx, table); err != nil || n != 1 {
					t.Errorf("%s has %d rows, %v", table, n, err)
				}
			}
			// The foreign keys are looser, and must still hold.
			if err := db.InsertUser(ctx, account.User{ID: "v", Email: "v", Plan: "open"}, ""); err != nil {
				t.Fatal(err)
			}
			insert := `INSERT INTO thread (id, user_id, agent_id, title, status, activity_at, next_seq, created_at, updated_at)
				VALUES ($1, $2, $3, '', 'idle', 0, 1, 0, 0)`
			if _, err := db.exec(ctx, insert, "t2", "v", "a"); err != nil {
				t.Errorf("a thread with the agent of another: %v", err)
			}
			for _, row := range [][]any{{"t3", "nobody", "a"}, {"t3", "v", "nothing"}} {
				if _, err := db.exec(ctx, insert, row...); classify(err) != classForeignKey {
					t.Errorf("a thread of %v: %v", row, err)
				}
			}
		})
	}
}
