package store

import (
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// callSessions calls every method of sessions and the audit log once on existing rows.
func callSessions(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	log := audit.New(audit.Deps{Store: db, Clock: core.SystemClock{}, Log: slog.New(slog.DiscardHandler)})
	for _, do := range []func() error{
		func() error { return db.InsertFirstUser(ctx, account.User{ID: "su", Email: "se", CreatedAt: now}, "h") },
		func() error {
			return db.InsertSession(ctx, credential.Session{ID: "s", UserID: "su", ExpiresAt: now}, []byte("h"))
		},
		func() error { _, err := db.SessionByHash(ctx, []byte("h"), "2025-06"); return err },
		func() error { _, err := db.Sessions(ctx, "su", now, now); return err },
		func() error { return db.TouchSession(ctx, "s", now) },
		func() error { return db.StepUpSession(ctx, "s", now) },
		func() error { return db.RevokeSession(ctx, "su", "s", now) },
		func() error { return db.RevokeSessions(ctx, "su", "", now) },
		func() error { _, _, err := db.PasswordHash(ctx, "se"); return err },
		func() error { return db.SetPassword(ctx, "su", "x", "", now) },
		func() error { return db.PruneSessions(ctx, now) },
		func() error { return log.Append(ctx, audit.Record{Event: audit.SignedIn, UserID: "su"}) },
		func() error { _, err := log.List(ctx, "su", 0, 10); return err },
		func() error { _, err := log.List(ctx, "", 0, 10); return err },
		func() error { _, err := log.Verify(ctx, nil); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSessionStatementsUseAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	callSessions(t, db)
	statements := *seen
	checkPlans(t, db, statements, func(step, _ string) bool {
		// Checking for any user reads the first index entry; a new row needs no index.
		return strings.Contains(step, "SCAN app_user") || strings.Contains(step, "CONSTANT ROW")
	})
	if len(statements) < 20 {
		t.Errorf("only %d statements were checked", len(statements))
	}
}

// TestTamperingWithTheAuditLogIsDetected changes the log directly in the database.
func TestTamperingWithTheAuditLogIsDetected(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			raw := b.raw(t)
			log := audit.New(audit.Deps{Store: db, Clock: core.SystemClock{}, Log: slog.New(slog.DiscardHandler)})
			for name, c := range map[string]struct {
				change string
				seq    int64
			}{
				"a detail":            {`UPDATE audit SET detail = '{"x":"y"}' WHERE seq = 2`, 2},
				"a time":              {`UPDATE audit SET at = at + 1 WHERE seq = 3`, 3},
				"a word that moved":   {`UPDATE audit SET user_id = '', actor = 'uu' WHERE seq = 2`, 2},
				"the first removed":   {`DELETE FROM audit WHERE seq = 1`, 1},
				"one removed":         {`DELETE FROM audit WHERE seq = 2`, 2},
				"the last removed":    {`DELETE FROM audit WHERE seq = 4`, 4},
				"all removed":         {`DELETE FROM audit`, 1},
				"the last forgotten":  {`UPDATE audit_head SET seq = 3`, 3},
				"a hash":              {`UPDATE audit SET hash = prev_hash WHERE seq = 4`, 4},
				"a chain that starts": {`UPDATE audit SET prev_hash = hash WHERE seq = 1`, 1},
			} {
				noHash := map[string]string{"sqlite": "x''", "postgres": "''"}[b.name]
				for _, empty := range []string{`DELETE FROM audit`, `UPDATE audit_head SET seq = 0, hash = ` + noHash} {
					if _, err := raw.Exec(empty); err != nil {
						t.Fatal(err)
					}
				}
				for range 4 {
					if err := log.Append(t.Context(), audit.Record{Event: audit.SignedIn, UserID: "u", Actor: "u"}); err != nil {
						t.Fatal(err)
					}
				}
				if end, err := log.Verify(t.Context(), nil); err != nil || end.Seq != 4 || len(hex.EncodeToString(end.Hash)) != 64 {
					t.Fatalf("before: %+v, %v", end, err)
				}
				if _, err := raw.Exec(c.change); err != nil {
					t.Fatal(err)
				}
				_, err := log.Verify(t.Context(), nil)
				var broken *audit.BrokenError
				if !errors.As(err, &broken) || broken.Seq != c.seq {
					t.Errorf("%s: %v, want one about entry %d", name, err, c.seq)
				}
			}
		})
	}
}
