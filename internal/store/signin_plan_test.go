package store

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/signin/upstream"
)

// callSignIn uses every method about the ways to sign in once, on rows that are there.
func callSignIn(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	later, id := now.Add(time.Hour), upstream.Identity{Issuer: "i", Subject: "s"}
	for _, do := range []func() error{
		func() error {
			return db.InsertUserWithIdentity(ctx, account.User{ID: "pu", Email: "pe", CreatedAt: now}, id)
		},
		func() error { _, err := db.UserByIdentity(ctx, id); return err },
		func() error {
			return db.LinkIdentity(ctx, upstream.Identity{Issuer: "j", Subject: "s"}, "pu", now)
		},
		func() error {
			return db.InsertPending(ctx, signin.Pending{Kind: "k", Data: []byte("{}"), ExpiresAt: later}, []byte("h"))
		},
		func() error { _, err := db.PendingByHash(ctx, "k", []byte("h"), now); return err },
		func() error { _, err := db.TakePending(ctx, "k", []byte("h"), now); return err },
		func() error { return db.PrunePending(ctx, now) },
		func() error { return db.PutTOTP(ctx, "pu", []byte("x"), now) },
		func() error { return db.ConfirmTOTP(ctx, "pu", 1, [][]byte{[]byte("c")}, now) },
		func() error { _, err := db.TOTP(ctx, "pu"); return err },
		func() error { return db.UseTOTP(ctx, "pu", 2) },
		func() error { return db.UseRecoveryCode(ctx, "pu", []byte("c")) },
		func() error { return db.PutRecoveryCodes(ctx, "pu", nil) },
		func() error { _, err := db.RecoveryCodes(ctx, "pu"); return err },
		func() error { return db.DeleteTOTP(ctx, "pu") },
		func() error {
			return db.InsertPasskey(ctx, passkey.Passkey{ID: "k", UserID: "pu", CredentialID: []byte("c"), Record: []byte("r")})
		},
		func() error { _, err := db.Passkeys(ctx, "pu"); return err },
		func() error { return db.UsePasskey(ctx, "pu", []byte("c"), []byte("r"), now) },
		func() error { return db.RenamePasskey(ctx, "pu", "k", "n") },
		func() error { return db.DeletePasskey(ctx, "pu", "k") },
		func() error {
			return db.PutReset(ctx, signin.Reset{UserID: "pu", ClearFactors: true, ExpiresAt: later}, []byte("h"))
		},
		func() error {
			buckets := []signin.Bucket{{Key: []byte("k"), Burst: 1, Every: time.Minute}}
			for range 2 {
				if _, _, err := db.TakeAttempts(ctx, buckets, now); err != nil {
					return err
				}
			}
			return db.ReturnAttempts(ctx, buckets)
		},
		func() error { return db.PruneAttempts(ctx, now) },
		func() error { return db.RememberBrowser(ctx, "pu", []byte("o"), []byte("b"), later) },
		func() error { _, err := db.KnowsBrowser(ctx, []byte("b"), "pe", now); return err },
		func() error { return db.PruneBrowsers(ctx, now) },
		func() error { _, err := db.ResetByHash(ctx, []byte("h"), now); return err },
		func() error { _, err := db.RedeemReset(ctx, []byte("h"), now, "x"); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryStatementAboutSigningInUsesAnIndex(t *testing.T) {
	t.Parallel()
	db := open(t, backends(t)[0].options)
	var seen []string
	db.read = recordingReader{recorder{db.read, &seen}}
	db.write = recordingWriter{db.write, &seen}
	callSignIn(t, db)
	for _, query := range seen {
		var id, parent, unused int
		var plan string
		err := db.read.each(t.Context(), "EXPLAIN QUERY PLAN "+query, parameters(query), []any{&id, &parent, &unused, &plan}, func() error {
			if (strings.HasPrefix(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE")) && !strings.Contains(plan, "CONSTANT ROW") {
				t.Errorf("%s in %s", plan, query)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%v in %s", err, query)
		}
	}
	if len(seen) < 36 {
		t.Errorf("only %d statements were checked", len(seen))
	}
}
