package app

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/testkit"
)

// TestRetentionAndAuditOnAFullDisk fills the disk of the database before old ledger rows are rolled up.
func TestRetentionAndAuditOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := testkit.NewDisk(t, 48)
	in, _ := openTestAppIn(t, disk.Dir, nil)
	ctx := t.Context()
	spent := addOldLedger(t, in)
	in.Audit.Note(ctx, audit.Record{Event: audit.BackupCreated, Actor: "operator"})
	before, err := in.Audit.Verify(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}

	awaitFullDatabase(t, in, disk)
	if err := in.applyRetention(ctx, slog.New(slog.DiscardHandler)); !core.IsDiskFull(err) {
		t.Errorf("retention on a full disk: %v", err)
	}
	in.Audit.Note(ctx, audit.Record{Event: audit.BackupFailed, Actor: "operator"}) // logged, because nobody waits for it
	if _, err := in.Audit.Verify(ctx, nil); err != nil {
		t.Errorf("the audit log on a full disk: %v", err)
	}

	disk.Free()
	if err := in.applyRetention(ctx, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("retention after space was freed: %v", err)
	}
	in.Audit.Note(ctx, audit.Record{Event: audit.BackupCreated, Actor: "operator"})
	if after, err := in.Audit.Verify(ctx, nil); err != nil || after.Seq <= before.Seq {
		t.Errorf("the audit log ends at %+v, and ended at %+v; %v", after, before, err)
	}
	differences, err := in.Store.SpendDifferences(ctx)
	if err != nil || len(differences) > 0 {
		t.Errorf("after the roll-up the totals differ from the ledger: %+v, %v", differences, err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(disk.Dir, "carrel.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var micros, rows int64
	err = db.QueryRowContext(ctx, `SELECT coalesce(sum(micros), 0), count(*) FROM spend_row`).Scan(&micros, &rows)
	if err != nil || micros != spent || rows != 1 {
		t.Errorf("%d micro-dollars in %d rows, want %d in one; %v", micros, rows, spent, err)
	}
}

// addOldLedger stores paid calls of a day two years ago, and returns their cost.
func addOldLedger(t *testing.T, in *App) (spent int64) {
	t.Helper()
	ctx, then := t.Context(), in.Clock.Now().AddDate(-2, 0, 0)
	if err := in.Store.InsertUser(ctx, account.User{ID: "usr_1", Email: "a@example.org"}, ""); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		id := fmt.Sprintf("spd_%d", i)
		err := in.Store.ReserveSpend(ctx, billing.Reservation{
			ID: id, UserID: "usr_1", Kind: billing.MeteredEmbedding, Model: "m", Micros: 100, At: then,
		})
		if err == nil {
			err = in.Store.SettleRow(ctx, id, 70, false, then)
		}
		if err != nil {
			t.Fatal(err)
		}
		spent += 70
	}
	return spent
}

// awaitFullDatabase fills the disk until the database refuses writes. Some succeed in space that its files have.
func awaitFullDatabase(t *testing.T, in *App, disk *testkit.Disk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := 0; ; i++ {
		disk.Fill()
		name := fmt.Sprintf("usr_more%d", i)
		err := in.Store.InsertUser(ctx, account.User{ID: name, Email: name + "@example.org"}, "")
		if core.IsDiskFull(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
