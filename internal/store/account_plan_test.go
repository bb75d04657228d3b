package store

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// TestAccountStatementsUseAnIndex checks the query plans of a user's own settings.
func TestAccountStatementsUseAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	ctx, now, name := t.Context(), time.Now(), "n"
	grant := core.NewID(core.PrefixGrant)
	for _, do := range []func() error{
		func() error { return db.InsertUser(ctx, account.User{ID: "u", Email: "e", CreatedAt: now}, "h") },
		func() error {
			return db.InsertKey(ctx, credential.Key{ID: "k", UserID: "u", Kind: core.CredentialKey}, []byte("k"))
		},
		func() error {
			return db.InsertKey(ctx, credential.Key{ID: "m", UserID: "u", Kind: core.CredentialMinted}, []byte("m"))
		},
		func() error {
			return db.InsertCode(ctx, credential.Code{ID: "c", UserID: "u", ExpiresAt: now}, []byte("c"))
		},
		func() error { _, err := db.UserByID(ctx, "u"); return err },
		func() error { _, err := db.ChangeUser(ctx, "u", account.UserChange{Name: &name}); return err },
		func() error { _, err := db.APIKeys(ctx, "u", "", 5); return err },
		func() error { _, err := db.APIKey(ctx, "u", "k"); return err },
		func() error { _, err := db.Codes(ctx, "u", "", 5); return err },
		func() error { _, err := db.Code(ctx, "u", "c"); return err },
		func() error { _, err := db.Connections(ctx, "u", now, nil, 5); return err },
		func() error { _, err := db.Connection(ctx, "u", "m", now); return err },
		func() error { return db.RenameConnection(ctx, "u", "m", name) },
		func() error {
			if err := db.RenameConnection(ctx, "u", grant, name); !core.IsKind(err, core.KindNotFound) {
				t.Errorf("missing grant: %v", err)
			}
			return nil
		},
		func() error { return db.CancelCode(ctx, "u", "c") },
		func() error { return db.PruneCodes(ctx, now) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	statements := *seen
	checkPlans(t, db, statements, func(step, _ string) bool {
		// A user's few connections are sorted in memory; a single new row needs no index.
		return !strings.HasPrefix(step, "SCAN") || strings.Contains(step, "CONSTANT ROW") ||
			strings.HasPrefix(step, "SCAN connection")
	})
	if len(statements) < 15 {
		t.Errorf("only %d statements were checked", len(statements))
	}
}
