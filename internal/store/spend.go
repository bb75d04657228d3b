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

// Rows are locked in one order everywhere: the task, the user, the row of the ledger, the sums of its month, first the
// user's and then the credential's.

// spendRow is what a change of a row of the ledger, and of the sums that it is part of, needs to know.
type spendRow struct {
	id, userID, credentialID, day, state string
	reserved, micros                     int64
}

const spendRowColumns = `id, user_id, credential_id, day, state, reserved, micros`

func (r *spendRow) dest() []any {
	return []any{&r.id, &r.userID, &r.credentialID, &r.day, &r.state, &r.reserved, &r.micros}
}

// month is what sums are kept by.
func (r *spendRow) month() string { return r.day[:len("2006-01")] }

// ReserveSpend opens a row of the ledger. The user's row is locked, so that of many who reserve at once each sees what
// the others have.
func (db *DB) ReserveSpend(ctx context.Context, r billing.Reservation) error {
	var refusal error
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		refusal = nil
		if r.TurnID != "" {
			// A turn that has ended must not get more.
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
		if err := limits.refuseModel(r); err != nil {
			return err
		}
		if err := closeOpen(ctx, tx, r); err != nil {
			return err
		}
		if refusal, err = limits.refuse(ctx, tx, r); err != nil || refusal != nil {
			return err // a refusal is told after the commit: what a crash left open is spent all the same
		}
		return openRow(ctx, tx, r)
	})
	if err != nil {
		return fail("reserve spend", "turn", err)
	}
	return refusal
}

// spendLimits are the caps of a user, of a month and of a turn, and the models that their plan has, if not all.
type spendLimits struct {
	month, turn sql.NullInt64
	models      sql.NullString
}

// userCap is the cap of a user's month: their own, else their plan's.
const userCap = `coalesce(app_user.spend_cap, (SELECT plan.spend_cap FROM plan WHERE plan.name = ` + userPlan + `))`

// userPlan is the plan that a user's limits come from.
const userPlan = `coalesce((SELECT subscription.plan FROM subscription WHERE subscription.user_id = app_user.id AND NOT ` + endedAtStripe + `), app_user.plan)`

// lockLimits locks a user and reads their caps.
func (db *DB) lockLimits(ctx context.Context, tx querier, userID string) (l spendLimits, err error) {
	err = get(ctx, tx, `
		SELECT `+userCap+`, (SELECT plan.turn_cap FROM plan WHERE plan.name = `+userPlan+`),
			(SELECT plan.models FROM plan WHERE plan.name = `+userPlan+`)
		FROM app_user WHERE id = $1`+db.dialect.lock, args{userID}, &l.month, &l.turn, &l.models)
	return l, err
}

// refuseModel returns why a plan does not pay for a model, or nil. Every paid call passes here, whoever chose its model.
func (l spendLimits) refuseModel(r billing.Reservation) error {
	if r.Kind != billing.MeteredModel || !l.models.Valid {
		return nil
	}
	models, err := wordsOf[string](l.models.String)
	if err != nil {
		return err
	}
	return core.Actor{Models: models}.AllowModel(r.Model)
}

// refuse returns why a reservation does not fit under the caps, or nil.
func (l spendLimits) refuse(ctx context.Context, tx querier, r billing.Reservation) (refusal, err error) {
	var user, turn, credential int64
	var credentialCap sql.NullInt64
	month := core.Month(r.At)
	err = get(ctx, tx, `
		SELECT coalesce((SELECT reserved + spent FROM budget WHERE user_id = $1 AND period = $2), 0),
			coalesce((SELECT sum(CASE WHEN state = 'reserved' THEN reserved ELSE micros END) FROM spend_row WHERE turn_id = $3 AND turn_id <> ''), 0),
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
			return core.Spend{Of: c.of, Capped: true, Cap: c.limit.Int64, Used: c.used, ResetsAt: core.MonthEnd(r.At)}.Reached(), nil
		}
	}
	return nil, nil
}

// openRow writes a row, and adds it to its sums.
func openRow(ctx context.Context, tx querier, r billing.Reservation) error {
	row := spendRow{id: r.ID, userID: r.UserID, credentialID: r.CredentialID, day: r.At.UTC().Format(time.DateOnly)}
	_, err := tx.exec(ctx, `
		INSERT INTO spend_row (id, user_id, day, turn_id, credential_id, agent_id, kind, model, price_version, state, reserved, micros, estimated, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'reserved', $10, 0, 1, $11)`,
		r.ID, r.UserID, row.day, r.TurnID, r.CredentialID, r.AgentID, string(r.Kind), r.Model, r.PriceVersion, r.Micros, millis(r.At))
	if err != nil {
		return err
	}
	return addToSums(ctx, tx, row, r.Micros, 0)
}

// closeOpen counts the call of a model that a turn still has open as spent, as a guess, before it makes the next.
func closeOpen(ctx context.Context, tx querier, r billing.Reservation) error {
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
	return moveRow(ctx, tx, open, "settled", open.reserved, true, &r.At)
}

// turnRow returns the call of a model that a turn has open, or had when it ended. There is one at most; none is sql.ErrNoRows.
func turnRow(ctx context.Context, tx querier, turnID, condition string) (r spendRow, err error) {
	err = get(ctx, tx, `
		SELECT `+spendRowColumns+` FROM spend_row WHERE turn_id = $1 AND turn_id <> '' AND kind = 'model' AND `+condition,
		args{turnID}, r.dest()...)
	return r, err
}

// moveRow moves a row on to a state in which it came to this much. Somebody else who moved it meanwhile was first.
func moveRow(ctx context.Context, tx querier, r spendRow, state string, micros int64, estimated bool, settled *time.Time) error {
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

// addToSums adds to the sums of a row's month.
func addToSums(ctx context.Context, tx querier, r spendRow, reserved, spent int64) error {
	_, err := tx.exec(ctx, `
		INSERT INTO budget (user_id, period, reserved, spent) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, period) DO UPDATE SET reserved = budget.reserved + excluded.reserved, spent = budget.spent + excluded.spent`,
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

// SettleSpend puts what was spent in place of what a turn has open, or had open when it ended.
func (db *DB) SettleSpend(ctx context.Context, turnID string, micros int64, estimated bool, now time.Time) error {
	return db.settle(ctx, micros, estimated, now, func(ctx context.Context, tx querier) (spendRow, error) {
		return turnRow(ctx, tx, turnID, `state <> 'settled'`)
	})
}

// SettleRow puts what was spent in place of what was reserved by a row that is open.
func (db *DB) SettleRow(ctx context.Context, id string, micros int64, estimated bool, now time.Time) error {
	return db.settle(ctx, micros, estimated, now, func(ctx context.Context, tx querier) (r spendRow, err error) {
		err = get(ctx, tx, `SELECT `+spendRowColumns+` FROM spend_row WHERE id = $1 AND state <> 'settled'`, args{id}, r.dest()...)
		return r, err
	})
}

func (db *DB) settle(ctx context.Context, micros int64, estimated bool, now time.Time, find func(context.Context, querier) (spendRow, error)) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		r, err := find(ctx, tx)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return moveRow(ctx, tx, r, "settled", micros, estimated, &now)
	})
	return fail("settle spend", "turn", err)
}

// endSpend counts what a turn still has reserved when it ends, or is deleted, as spent: the call that it is for may be
// under way, or was cut off by a crash. Otherwise a call would cost nothing if its thread is deleted meanwhile.
func endSpend(ctx context.Context, tx querier, turnID string) error {
	r, err := turnRow(ctx, tx, turnID, `state = 'reserved'`)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return moveRow(ctx, tx, r, "ended", r.reserved, true, nil)
}

// EndHolds counts what is no call of a model, and has been open since before the time, as spent.
func (db *DB) EndHolds(ctx context.Context, before time.Time) (ended int, err error) {
	err = db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		var r spendRow
		var holds []spendRow
		err := tx.each(ctx, `
			SELECT `+spendRowColumns+` FROM spend_row WHERE state = 'reserved' AND kind <> 'model' AND created_at < $1 ORDER BY user_id, id`,
			args{millis(before)}, r.dest(), func() error {
				holds = append(holds, r)
				return nil
			})
		if err != nil {
			return err
		}
		for _, h := range holds {
			if err := moveRow(ctx, tx, h, "ended", h.reserved, true, nil); err != nil {
				return err
			}
		}
		ended = len(holds)
		return nil
	})
	return ended, fail("end what was held", "user", err)
}

// SpendOf returns a user's cap, or nil, and what is spent and reserved of it in a month.
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

// spendDifferences compares sums with their rows, both ways: rows without a sum and sums without rows count as well.
// Sums of nothing are as good as none.
const spendDifferences = `
	SELECT kind, id, month, sum(reserved), sum(spent), sum(rows_reserved), sum(rows_spent) FROM (
		SELECT 'user' AS kind, user_id AS id, period AS month, reserved, spent, 0 AS rows_reserved, 0 AS rows_spent FROM budget
		UNION ALL
		SELECT 'credential', credential_id, period, reserved, spent, 0, 0 FROM credential_budget
		UNION ALL
		SELECT 'user', user_id, substr(day, 1, 7), 0, 0, CASE WHEN state = 'reserved' THEN reserved ELSE 0 END, micros FROM spend_row
		UNION ALL
		SELECT 'credential', credential_id, substr(day, 1, 7), 0, 0, CASE WHEN state = 'reserved' THEN reserved ELSE 0 END, micros
		FROM spend_row WHERE credential_id <> ''
	) sums GROUP BY kind, id, month
	HAVING sum(reserved) <> sum(rows_reserved) OR sum(spent) <> sum(rows_spent)
	ORDER BY kind, id, month`

// SpendDifferences returns where sums are not those of their rows.
func (db *DB) SpendDifferences(ctx context.Context) ([]billing.SpendDifference, error) {
	var d billing.SpendDifference
	differences := []billing.SpendDifference{}
	err := db.read.each(ctx, spendDifferences, nil,
		[]any{&d.Of, &d.ID, &d.Month, &d.Reserved, &d.Spent, &d.RowsReserved, &d.RowsSpent}, func() error {
			differences = append(differences, d)
			return nil
		})
	if err != nil {
		return nil, fail("check spend", "user", err)
	}
	return differences, nil
}
