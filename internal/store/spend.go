package store

import (
	"context"
	"database/sql"
	"errors"

	"carrel/internal/account"
	"carrel/internal/core"
)

var _ account.SpendStore = (*DB)(nil)

// Rows are locked in one order everywhere: the task, the user, the turn's entry, the user's month.

// entry is what a turn has spent and may spend.
type entry struct {
	userID, period, state string
	reserved, micros      int64
	estimated             int
	model                 string
}

// spendEntry reads the entry of a turn; none is sql.ErrNoRows.
func spendEntry(ctx context.Context, tx querier, turnID string) (e entry, err error) {
	err = get(ctx, tx, `
		SELECT user_id, period, state, reserved, micros, estimated, model FROM spend_entry WHERE turn_id = $1`, args{turnID},
		&e.userID, &e.period, &e.state, &e.reserved, &e.micros, &e.estimated, &e.model)
	return e, err
}

// ReserveSpend puts something aside for a turn. The user's row is locked, so that of many who reserve at once each sees
// what the others have.
func (db *DB) ReserveSpend(ctx context.Context, r account.Reservation) error {
	var refusal error
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		refusal = nil
		// A turn that has ended must not get more.
		var one int
		err := get(ctx, tx, `SELECT 1 FROM task WHERE id = $1 AND user_id = $2 AND finished_at IS NULL`+db.dialect.lock,
			args{r.TurnID, r.UserID}, &one)
		if err != nil {
			return err
		}
		var spendCap sql.NullInt64
		if err := get(ctx, tx, `SELECT spend_cap FROM app_user WHERE id = $1`+db.dialect.lock, args{r.UserID}, &spendCap); err != nil {
			return err
		}
		period, err := openEntry(ctx, tx, r)
		if err != nil {
			return err
		}
		var used int64
		if err := get(ctx, tx, `SELECT reserved + spent FROM budget WHERE user_id = $1 AND period = $2`, args{r.UserID, period}, &used); err != nil {
			return err
		}
		if spendCap.Valid && used+r.Micros > spendCap.Int64 {
			// Told after the commit: what a crash left open is spent all the same.
			refusal = core.Spend{Capped: true, Cap: spendCap.Int64, Used: used, ResetsAt: core.MonthEnd(r.At)}.Reached()
			return nil
		}
		_, err = tx.exec(ctx, `UPDATE spend_entry SET state = 'reserved', reserved = $1, model = $2 WHERE turn_id = $3`, r.Micros, r.Model, r.TurnID)
		if err != nil {
			return err
		}
		return moveBudget(ctx, tx, r.UserID, period, r.Micros, 0)
	})
	if err != nil {
		return fail("reserve spend", "turn", err)
	}
	return refusal
}

// openEntry makes sure of the rows of a turn and of its user's month, and returns the month. What the turn still has
// reserved becomes spent, as a guess.
func openEntry(ctx context.Context, tx querier, r account.Reservation) (period string, err error) {
	e, err := spendEntry(ctx, tx, r.TurnID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		period = core.Month(r.At)
		_, err = tx.exec(ctx, `
			INSERT INTO spend_entry (turn_id, user_id, period, model, state, reserved, micros, estimated, created_at)
			VALUES ($1, $2, $3, $4, 'settled', 0, 0, 0, $5)`, r.TurnID, r.UserID, period, r.Model, millis(r.At))
		if err != nil {
			return "", err
		}
		_, err = tx.exec(ctx, `
			INSERT INTO budget (user_id, period, reserved, spent) VALUES ($1, $2, 0, 0) ON CONFLICT DO NOTHING`, r.UserID, period)
		return period, err
	case err != nil || e.state != "reserved":
		return e.period, err
	}
	return e.period, closeEntry(ctx, tx, r.TurnID, e, e.reserved, true)
}

// closeEntry ends what a turn has reserved, of which this was spent. Somebody else who ended it meanwhile was first.
func closeEntry(ctx context.Context, tx querier, turnID string, e entry, spent int64, estimated bool) error {
	n, err := tx.exec(ctx, `
		UPDATE spend_entry SET state = 'settled', reserved = 0, micros = micros + $1, estimated = CASE WHEN $2 = 1 THEN 1 ELSE estimated END
		WHERE turn_id = $3 AND state = 'reserved'`, spent, flag(estimated), turnID)
	if err != nil || n == 0 {
		return err
	}
	return moveBudget(ctx, tx, e.userID, e.period, -e.reserved, spent)
}

func moveBudget(ctx context.Context, tx querier, userID, period string, reserved, spent int64) error {
	_, err := tx.exec(ctx, `UPDATE budget SET reserved = reserved + $1, spent = spent + $2 WHERE user_id = $3 AND period = $4`,
		reserved, spent, userID, period)
	return err
}

// SettleSpend puts what was spent in place of what a turn has open, or had open when it ended.
func (db *DB) SettleSpend(ctx context.Context, turnID string, micros int64, estimated bool) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		e, err := spendEntry(ctx, tx, turnID)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		case e.state == "reserved":
			return closeEntry(ctx, tx, turnID, e, micros, estimated)
		case e.state == "ended":
			return settleEnded(ctx, tx, turnID, e, micros)
		}
		return nil
	})
	return fail("settle spend", "turn", err)
}

// endSpend counts what a turn still has reserved when it ends, or is deleted, as spent: the call that it is for may be
// under way, or was cut off by a crash. Otherwise a call would cost nothing if its thread is deleted meanwhile.
func endSpend(ctx context.Context, tx querier, turnID string) error {
	e, err := spendEntry(ctx, tx, turnID)
	if errors.Is(err, sql.ErrNoRows) || err == nil && e.state != "reserved" {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := tx.exec(ctx, `
		UPDATE spend_entry SET state = 'ended', micros = micros + reserved, estimated = 1
		WHERE turn_id = $1 AND state = 'reserved'`, turnID)
	if err != nil || n == 0 {
		return err
	}
	return moveBudget(ctx, tx, e.userID, e.period, -e.reserved, e.reserved)
}

// settleEnded puts what a call has cost in place of the guess that the end of its turn made.
func settleEnded(ctx context.Context, tx querier, turnID string, e entry, micros int64) error {
	n, err := tx.exec(ctx, `
		UPDATE spend_entry SET state = 'settled', micros = micros - reserved + $1, reserved = 0
		WHERE turn_id = $2 AND state = 'ended'`, micros, turnID)
	if err != nil || n == 0 {
		return err
	}
	return moveBudget(ctx, tx, e.userID, e.period, 0, micros-e.reserved)
}

// SpendOf returns a user's cap, or nil, and what is spent and reserved of it in a month.
func (db *DB) SpendOf(ctx context.Context, userID, month string) (spendCap *int64, used int64, err error) {
	var limit sql.NullInt64
	err = get(ctx, db.read, `
		SELECT u.spend_cap, coalesce(b.reserved + b.spent, 0) FROM app_user u
		LEFT JOIN budget b ON b.user_id = u.id AND b.period = $1 WHERE u.id = $2`, args{month, userID}, &limit, &used)
	if err != nil {
		return nil, 0, fail("read spend", "user", err)
	}
	if limit.Valid {
		spendCap = &limit.Int64
	}
	return spendCap, used, nil
}
