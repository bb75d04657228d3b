package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
)

var _ billing.SpendStore = (*DB)(nil)

// Lock order: task, user, ledger row, user's monthly sum, credential's monthly sum.

// spendRow holds the columns of a ledger row needed to change it and its sums.
type spendRow struct {
	id, userID, credentialID, day, state string
	reserved, micros                     int64
}

const spendRowColumns = `id, user_id, credential_id, day, state, reserved, micros`

func (r *spendRow) dest() []any {
	return []any{&r.id, &r.userID, &r.credentialID, &r.day, &r.state, &r.reserved, &r.micros}
}

// month returns the month whose sums include the row.
func (r *spendRow) month() string { return r.day[:len("2006-01")] }

// ReserveSpend opens a ledger row if the caps allow it. The lock on the user serializes reservations, so that each one
// counts the others.
func (db *DB) ReserveSpend(ctx context.Context, r billing.Reservation) error {
	var refusal error
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		refusal = nil
		if r.TurnID != "" {
			// A turn that has ended must not spend more.
			err := get(ctx, tx, `
				SELECT credential_id, coalesce((SELECT agent_id FROM thread WHERE thread.id = task.key), '')
				FROM task WHERE id = $1 AND user_id = $2 AND finished_at IS NULL`+db.dialect.lock,
				args{r.TurnID, r.UserID}, &r.CredentialID, &r.AgentID)
			if err != nil {
				return err
			}
		}
		limits, err := db.lockLimits(ctx, tx, r.UserID)
		if err != nil {
			return err
		}
		if err := limits.checkModel(r); err != nil {
			return err
		}
		if err := settleOpenCall(ctx, tx, r); err != nil {
			return err
		}
		if refusal, err = limits.checkCaps(ctx, tx, r); err != nil {
			return err
		}
		if refusal != nil {
			// The refusal is returned after the commit, so that settleOpenCall and the announcement take effect.
			return db.announceRefusal(ctx, tx, r, refusal)
		}
		return openRow(ctx, tx, r)
	})
	if err != nil {
		return fail("reserve spend", "turn", err)
	}
	return refusal
}

// spendLimits are a user's monthly cap, the cap per turn, and the models of their plan if it restricts them.
type spendLimits struct {
	month, turn sql.NullInt64
	models      sql.NullString
}

// userCap is a user's monthly cap: their own cap, or the cap of their plan.
const userCap = `coalesce(app_user.spend_cap, (SELECT plan.spend_cap FROM plan WHERE plan.name = ` + userPlan + `))`

// userPlan is the plan that sets a user's limits.
const userPlan = `coalesce((SELECT subscription.plan FROM subscription
	WHERE subscription.user_id = app_user.id AND NOT ` + endedAtStripe + `), app_user.plan)`

// lockLimits locks a user and reads their caps.
func (db *DB) lockLimits(ctx context.Context, tx querier, userID string) (l spendLimits, err error) {
	err = get(ctx, tx, `
		SELECT `+userCap+`, (SELECT plan.turn_cap FROM plan WHERE plan.name = `+userPlan+`),
			(SELECT plan.models FROM plan WHERE plan.name = `+userPlan+`)
		FROM app_user WHERE id = $1`+db.dialect.lock, args{userID}, &l.month, &l.turn, &l.models)
	return l, err
}

// checkModel returns an error if the plan does not include the model. Every paid call passes this check.
func (l spendLimits) checkModel(r billing.Reservation) error {
	if r.Kind != billing.MeteredModel || !l.models.Valid {
		return nil
	}
	models, err := decodeList[string](l.models.String)
	if err != nil {
		return err
	}
	return core.Actor{Models: models}.AllowModel(r.Model)
}

// checkCaps returns a refusal if a reservation exceeds a cap.
func (l spendLimits) checkCaps(ctx context.Context, tx querier, r billing.Reservation) (refusal, err error) {
	var user, turn, credential int64
	var credentialCap sql.NullInt64
	month := core.Month(r.At)
	err = get(ctx, tx, `
		SELECT coalesce((SELECT reserved + spent FROM budget WHERE user_id = $1 AND period = $2), 0),
			coalesce((SELECT sum(CASE WHEN state = 'reserved' THEN reserved ELSE micros END) FROM spend_row
				WHERE turn_id = $3 AND turn_id <> ''), 0),
			coalesce((SELECT reserved + spent FROM credential_budget WHERE credential_id = $4 AND period = $5), 0),
			(SELECT micros FROM credential_cap WHERE credential_id = $6)`,
		args{r.UserID, month, r.TurnID, r.CredentialID, month, r.CredentialID}, &user, &turn, &credential, &credentialCap)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		of    core.SpendScope
		limit sql.NullInt64
		used  int64
	}{
		{core.SpendOfUser, l.month, user},
		{core.SpendOfCredential, credentialCap, credential},
		{core.SpendOfTurn, l.turn, turn},
	} {
		if c.limit.Valid && c.used+r.Micros > c.limit.Int64 {
			return core.Spend{
				Of: c.of, Capped: true, Cap: c.limit.Int64, Used: c.used, ResetsAt: core.MonthEnd(r.At),
			}.Reached(), nil
		}
	}
	return nil, nil
}

// openRow inserts a ledger row and adds it to its sums.
func openRow(ctx context.Context, tx querier, r billing.Reservation) error {
	row := spendRow{id: r.ID, userID: r.UserID, credentialID: r.CredentialID, day: r.At.UTC().Format(time.DateOnly)}
	_, err := tx.exec(ctx, `
		INSERT INTO spend_row (id, user_id, day, turn_id, credential_id, agent_id, kind, model, price_version, state,
			reserved, micros, estimated, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'reserved', $10, 0, 1, $11)`,
		r.ID, r.UserID, row.day, r.TurnID, r.CredentialID, r.AgentID, string(r.Kind), r.Model, r.PriceVersion,
		r.Micros, millis(r.At))
	if err != nil {
		return err
	}
	return addToSums(ctx, tx, row, r.Micros, 0)
}

// settleOpenCall settles the open model call of a turn at its estimate, before the next call is opened.
func settleOpenCall(ctx context.Context, tx querier, r billing.Reservation) error {
	if r.TurnID == "" || r.Kind != billing.MeteredModel {
		return nil
	}
	open, err := turnRow(ctx, tx, r.TurnID, `state = 'reserved'`)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return setRowState(ctx, tx, open, "settled", open.reserved, true, &r.At)
}

// turnRow returns the model call of a turn that matches the condition. There is at most one; without one, the error is
// sql.ErrNoRows.
func turnRow(ctx context.Context, tx querier, turnID, condition string) (r spendRow, err error) {
	err = get(ctx, tx, `
		SELECT `+spendRowColumns+` FROM spend_row WHERE turn_id = $1 AND turn_id <> '' AND kind = 'model' AND `+condition,
		args{turnID}, r.dest()...)
	return r, err
}

// setRowState sets the state and amount of a ledger row. It does nothing if the state was changed concurrently.
func setRowState(
	ctx context.Context, tx querier, r spendRow, state string, micros int64, estimated bool, settled *time.Time,
) error {
	n, err := tx.exec(ctx, `
		UPDATE spend_row SET state = $1, micros = $2, estimated = $3, settled_at = $4 WHERE id = $5 AND state = $6`,
		state, micros, flag(estimated), optMillis(settled), r.id, r.state)
	if err != nil || n == 0 {
		return err
	}
	reserved := int64(0)
	if r.state == "reserved" {
		reserved = r.reserved
	}
	return addToSums(ctx, tx, r, -reserved, micros-r.micros)
}

// addToSums adds to the monthly sums of a row's user and credential.
func addToSums(ctx context.Context, tx querier, r spendRow, reserved, spent int64) error {
	_, err := tx.exec(ctx, `
		INSERT INTO budget (user_id, period, reserved, spent) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, period) DO UPDATE
			SET reserved = budget.reserved + excluded.reserved, spent = budget.spent + excluded.spent`,
		r.userID, r.month(), reserved, spent)
	if err != nil || r.credentialID == "" {
		return err
	}
	_, err = tx.exec(ctx, `
		INSERT INTO credential_budget (credential_id, period, user_id, reserved, spent) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (credential_id, period) DO UPDATE SET
			reserved = credential_budget.reserved + excluded.reserved, spent = credential_budget.spent + excluded.spent`,
		r.credentialID, r.month(), r.userID, reserved, spent)
	return err
}

// SettleSpend replaces the estimate of a turn's unsettled model call by the actual amount.
func (db *DB) SettleSpend(ctx context.Context, turnID string, micros int64, estimated bool, now time.Time) error {
	return db.settle(ctx, micros, estimated, now, func(ctx context.Context, tx querier) (spendRow, error) {
		return turnRow(ctx, tx, turnID, `state <> 'settled'`)
	})
}

// SettleRow replaces the estimate of an unsettled row by the actual amount.
func (db *DB) SettleRow(ctx context.Context, id string, micros int64, estimated bool, now time.Time) error {
	return db.settle(ctx, micros, estimated, now, func(ctx context.Context, tx querier) (r spendRow, err error) {
		err = get(ctx, tx, `SELECT `+spendRowColumns+` FROM spend_row WHERE id = $1 AND state <> 'settled'`,
			args{id}, r.dest()...)
		return r, err
	})
}

func (db *DB) settle(
	ctx context.Context, micros int64, estimated bool, now time.Time,
	find func(context.Context, querier) (spendRow, error),
) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		r, err := find(ctx, tx)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := setRowState(ctx, tx, r, "settled", micros, estimated, &now); err != nil {
			return err
		}
		return db.announceSpend(ctx, tx, r.userID, r.month(), now)
	})
	return fail("settle spend", "turn", err)
}

// endSpend counts the open reservation of a turn as spent when the turn ends or is deleted: its model call may be
// running or was interrupted by a crash. Otherwise deleting the thread during a call would make the call free.
func endSpend(ctx context.Context, tx querier, turnID string) error {
	r, err := turnRow(ctx, tx, turnID, `state = 'reserved'`)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return setRowState(ctx, tx, r, "ended", r.reserved, true, nil)
}

// EndHolds counts reservations other than model calls that were opened before this time as spent.
func (db *DB) EndHolds(ctx context.Context, before time.Time) (ended int, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var r spendRow
		var holds []spendRow
		err := tx.each(ctx, `
			SELECT `+spendRowColumns+` FROM spend_row
			WHERE state = 'reserved' AND kind <> 'model' AND created_at < $1 ORDER BY user_id, id`,
			args{millis(before)}, r.dest(), func() error {
				holds = append(holds, r)
				return nil
			})
		if err != nil {
			return err
		}
		for _, h := range holds {
			if err := setRowState(ctx, tx, h, "ended", h.reserved, true, nil); err != nil {
				return err
			}
		}
		ended = len(holds)
		return nil
	})
	return ended, fail("end expired reservations", "user", err)
}

// SpendOf returns a user's monthly cap, or nil, and the amount spent and reserved in a month.
func (db *DB) SpendOf(ctx context.Context, userID, month string) (spendCap *int64, used int64, err error) {
	var limit sql.NullInt64
	err = get(ctx, db.read, `
		SELECT `+userCap+`, coalesce((SELECT reserved + spent FROM budget WHERE user_id = app_user.id AND period = $1), 0)
		FROM app_user WHERE id = $2`, args{month, userID}, &limit, &used)
	if err != nil {
		return nil, 0, fail("read spend", "user", err)
	}
	if limit.Valid {
		spendCap = &limit.Int64
	}
	return spendCap, used, nil
}

// spendDifferences compares the sums with the ledger rows from the month $1 on, in both directions. A missing sum
// equals a sum of zero.
const spendDifferences = `
	SELECT kind, id, month, sum(reserved), sum(spent), sum(rows_reserved), sum(rows_spent) FROM (
		SELECT 'user' AS kind, user_id AS id, period AS month, reserved, spent, 0 AS rows_reserved, 0 AS rows_spent
		FROM budget WHERE period >= $1
		UNION ALL
		SELECT 'credential', credential_id, period, reserved, spent, 0, 0 FROM credential_budget
		WHERE period >= $1
		UNION ALL
		SELECT 'user', user_id, substr(day, 1, 7), 0, 0, CASE WHEN state = 'reserved' THEN reserved ELSE 0 END, micros
		FROM spend_row WHERE day >= $1
		UNION ALL
		SELECT 'credential', credential_id, substr(day, 1, 7), 0, 0,
			CASE WHEN state = 'reserved' THEN reserved ELSE 0 END, micros
		FROM spend_row WHERE credential_id <> '' AND day >= $1
	) sums GROUP BY kind, id, month
	HAVING sum(reserved) <> sum(rows_reserved) OR sum(spent) <> sum(rows_spent)
	ORDER BY kind, id, month`

// SpendDifferences returns the sums that differ from their ledger rows.
func (db *DB) SpendDifferences(ctx context.Context) ([]billing.SpendDifference, error) {
	return db.SpendDifferencesSince(ctx, "")
}
