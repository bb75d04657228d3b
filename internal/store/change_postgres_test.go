package store

import (
	"context"
	"testing"

	"carrel/internal/testkit"
)

func TestChangesAreNumberedWithoutWaiting(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := open(t, Options{URL: testkit.Postgres(t)})
	write := func(ids []string, beforeCommit func()) {
		t.Helper()
		err := db.inTx(ctx, func(txCtx context.Context, tx querier) error {
			if err := db.logChanges(txCtx, tx, "src_a", opDelete, ids); err != nil {
				return err
			}
			beforeCommit()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wantHead := func(want uint64) {
		t.Helper()
		if head, err := db.Head(ctx); err != nil || head != want {
			t.Errorf("head %d, %v; want %d", head, err, want)
		}
	}
	nothing := func() {}
	wantHead(0)
	write([]string{"a", "b"}, nothing)
	wantHead(2)
	write([]string{"c"}, func() {
		write([]string{"d", "e"}, nothing) // while the number of c is not committed
		wantHead(2)
		write([]string{"f"}, func() {
			write([]string{"g"}, nothing)
			wantHead(2)
		})
		wantHead(2)
	})
	wantHead(7)

	// A transaction may lock a number that the head has passed. It has taken none yet.
	err := db.inTx(ctx, func(txCtx context.Context, tx querier) error {
		_, err := tx.exec(txCtx, `SELECT pg_advisory_xact_lock_shared('document_change_number'::regclass::oid::integer, 5)`)
		write([]string{"h"}, nothing)
		wantHead(7)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantHead(8)

	// A transaction may lock a number after the one that the reader of the head has seen.
	err = db.inTx(ctx, func(txCtx context.Context, tx querier) error {
		_, err := tx.exec(txCtx,
			`SELECT pg_advisory_xact_lock_shared('document_change_number'::regclass::oid::integer, 1000)`)
		wantHead(8)
		write([]string{"k"}, nothing)
		wantHead(9)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	// Numbers of an abandoned transaction are skipped.
	abandoned := context.Canceled
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.logChanges(ctx, tx, "src_a", opDelete, []string{"i"}); err != nil {
			return err
		}
		return abandoned
	})
	if err == nil {
		t.Error("the transaction was committed")
	}
	write([]string{"j"}, nothing)
	wantHead(11)
	changes, err := db.Changes(ctx, 7, 11, 10)
	if err != nil || len(changes) != 3 || changes[2].ID != "j" {
		t.Errorf("changes %v, %v", changes, err)
	}
}

func TestHeadFollowsNumbersBeyondTheirKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := open(t, Options{URL: testkit.Postgres(t)})
	for _, start := range []int64{numberBits - 1, 5*(numberBits+1) - 1} {
		if _, err := db.exec(ctx, `SELECT setval('document_change_number', $1)`, start); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b", "c"} {
			before, err := db.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			err = db.inTx(ctx, func(txCtx context.Context, tx querier) error {
				if err := db.logChanges(txCtx, tx, "src_a", opDelete, []string{id}); err != nil {
					return err
				}
				if head, err := db.Head(ctx); err != nil || head != before {
					t.Errorf("head %d, %v with an open transaction; want %d", head, err, before)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if head, err := db.Head(ctx); err != nil || head != uint64(start)+3 {
			t.Errorf("head %d, %v; want %d", head, err, start+3)
		}
	}
}

// A head above a number that is still to be taken would skip its change. The loops run in the server, because the
// moment at which the column of the sequence is ahead is short.
func TestLastNumberIsNeverAheadOfTheSequence(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := open(t, Options{URL: testkit.Postgres(t)})
	testkit.Concurrently(3, func(i int) {
		loop := `PERFORM nextval('document_change_number');`
		if i == 0 {
			loop = `seen := ` + lastNumber + `;
				IF nextval('document_change_number') <= seen THEN RAISE 'the number after % was taken before', seen; END IF;`
		}
		_, err := db.exec(ctx, `DO $$ DECLARE seen bigint; BEGIN FOR n IN 1..100000 LOOP `+loop+` END LOOP; END $$`)
		if err != nil {
			t.Error(err)
		}
	})
}
