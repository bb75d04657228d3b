package store

import (
	"context"
	"database/sql"

	"carrel/internal/billing"
	"carrel/internal/core"
)

var _ billing.PlanStore = (*DB)(nil)

const planColumns = `plan.name, plan.capabilities, plan.models, plan.spend_cap, plan.turn_cap, plan.rate_limit,
	plan.rate_burst, plan.storage_limit, plan.price, plan.stripe_price, plan.declared, plan.created_at,
	plan.updated_at`

// planRow is a scanned plan. All columns are NULL if the user has no plan.
type planRow struct {
	name, capabilities, models, stripe      sql.NullString
	spendCap, turnCap, rate, burst, storage sql.NullInt64
	price, declared, created, updated       sql.NullInt64
}

func (r *planRow) dest() []any {
	return []any{
		&r.name, &r.capabilities, &r.models, &r.spendCap, &r.turnCap, &r.rate, &r.burst, &r.storage, &r.price, &r.stripe,
		&r.declared,
		&r.created, &r.updated,
	}
}

func (r *planRow) value() (p billing.Plan, err error) {
	p = billing.Plan{
		Name: r.name.String, SpendCap: optInt64(r.spendCap), TurnCap: optInt64(r.turnCap), RateLimit: optInt64(r.rate),
		RateBurst: optInt64(r.burst), StorageLimit: optInt64(r.storage), Price: r.price.Int64,
		StripePrice: r.stripe.String, Declared: r.declared.Int64 == 1,
		CreatedAt: at(r.created.Int64), UpdatedAt: at(r.updated.Int64),
	}
	if p.Capabilities, err = decodeList[core.Capability](r.capabilities.String); err != nil {
		return p, err
	}
	p.Models, err = decodeList[string](r.models.String)
	return p, err
}

// optInt64 converts an optional number.
func optInt64(n sql.NullInt64) *int64 {
	if !n.Valid {
		return nil
	}
	return &n.Int64
}

// Plans returns all plans, sorted by name.
func (db *DB) Plans(ctx context.Context) ([]billing.Plan, error) {
	var r planRow
	plans := []billing.Plan{}
	err := db.read.each(ctx, `SELECT `+planColumns+` FROM plan ORDER BY name`, nil, r.dest(), func() error {
		p, err := r.value()
		plans = append(plans, p)
		return err
	})
	if err != nil {
		return nil, fail("list plans", "plan", err)
	}
	return plans, nil
}

// Plan returns one plan.
func (db *DB) Plan(ctx context.Context, name string) (billing.Plan, error) {
	var r planRow
	err := get(ctx, db.read, `SELECT `+planColumns+` FROM plan WHERE name = $1`, args{name}, r.dest()...)
	if err != nil {
		return billing.Plan{}, fail("read plan", "plan", err)
	}
	p, err := r.value()
	return p, fail("read plan", "plan", err)
}

const putPlan = `
	INSERT INTO plan (name, capabilities, models, spend_cap, turn_cap, rate_limit, rate_burst, storage_limit, price,
		stripe_price, declared, created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
	ON CONFLICT (name) DO UPDATE SET capabilities = excluded.capabilities, models = excluded.models,
		spend_cap = excluded.spend_cap, turn_cap = excluded.turn_cap, rate_limit = excluded.rate_limit,
		rate_burst = excluded.rate_burst, storage_limit = excluded.storage_limit, price = excluded.price,
		stripe_price = excluded.stripe_price, declared = excluded.declared, updated_at = excluded.updated_at`

func planArgs(p billing.Plan) args {
	return args{
		p.Name, encodeList(p.Capabilities), encodeList(p.Models), optInt(p.SpendCap), optInt(p.TurnCap),
		optInt(p.RateLimit), optInt(p.RateBurst), optInt(p.StorageLimit), p.Price, p.StripePrice, flag(p.Declared),
		millis(p.CreatedAt), millis(p.UpdatedAt),
	}
}

// PutPlan creates a plan or replaces the plan with the same name.
func (db *DB) PutPlan(ctx context.Context, p billing.Plan) error {
	_, err := db.exec(ctx, putPlan, planArgs(p)...)
	return fail("put plan", "plan", err)
}

// DeclarePlans stores the plans of the settings and marks only them as declared.
func (db *DB) DeclarePlans(ctx context.Context, plans []billing.Plan) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, `UPDATE plan SET declared = 0 WHERE declared = 1`); err != nil {
			return err
		}
		for _, p := range plans {
			if _, err := tx.exec(ctx, putPlan, planArgs(p)...); err != nil {
				return err
			}
		}
		return nil
	})
	return fail("declare plans", "plan", err)
}

// DeletePlan deletes a plan that no account uses.
func (db *DB) DeletePlan(ctx context.Context, name string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var users int
		if err := get(ctx, tx, `SELECT count(*) FROM app_user WHERE plan = $1`, args{name}, &users); err != nil {
			return err
		}
		if users > 0 {
			return planInUse()
		}
		n, err := tx.exec(ctx, `DELETE FROM plan WHERE name = $1`, name)
		if classify(err) == classForeignKey {
			return planInUse()
		}
		return requireRow("delete plan", "plan", n, err)
	})
	return fail("delete plan", "plan", err)
}

func planInUse() error {
	return core.Conflict("conflict",
		"Accounts or subscriptions use this plan. Assign them another plan first; change Stripe subscriptions in Stripe.")
}

// SetPlan assigns a user's default plan and ends a subscription that is not at Stripe.
func (db *DB) SetPlan(ctx context.Context, userID, plan string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `UPDATE app_user SET plan = $1 WHERE id = $2`, plan, userID)
		if err := requireRow("set plan", "user", n, err); err != nil {
			return err
		}
		if _, err = tx.exec(ctx, `DELETE FROM subscription WHERE user_id = $1 AND NOT `+runsAtStripe, userID); err != nil {
			return err
		}
		var left int
		if err := get(ctx, tx, `SELECT count(*) FROM subscription WHERE user_id = $1`, args{userID}, &left); err != nil {
			return err
		}
		if left > 0 {
			return billing.ManagedByStripe()
		}
		return nil
	})
	return fail("set plan", "user", err)
}

// OwnCredential returns not_found unless a key or grant belongs to the user.
func (db *DB) OwnCredential(ctx context.Context, userID, credentialID string) error {
	var one int
	err := get(ctx, db.read, `
		SELECT 1 FROM credential_key WHERE id = $1 AND user_id = $2
		UNION ALL SELECT 1 FROM oauth_grant WHERE id = $1 AND user_id = $2`, args{credentialID, userID}, &one)
	return fail("find a credential", "credential", err)
}

// CredentialCaps returns the monthly caps of a user's credentials with the amounts used.
func (db *DB) CredentialCaps(ctx context.Context, userID, month string) ([]billing.CredentialCap, error) {
	var c billing.CredentialCap
	caps := []billing.CredentialCap{}
	err := db.read.each(ctx, `
		SELECT c.credential_id, c.micros, coalesce(b.reserved + b.spent, 0)
		FROM credential_cap c LEFT JOIN credential_budget b ON b.credential_id = c.credential_id AND b.period = $1
		WHERE c.user_id = $2 ORDER BY c.credential_id`, args{month, userID},
		[]any{&c.CredentialID, &c.Cap, &c.Used}, func() error {
			caps = append(caps, c)
			return nil
		})
	if err != nil {
		return nil, fail("list the caps of credentials", "user", err)
	}
	return caps, nil
}

// SetCredentialCap sets a credential's monthly cap; nil removes it.
func (db *DB) SetCredentialCap(ctx context.Context, userID, credentialID string, micros *int64) error {
	if micros == nil {
		_, err := db.exec(ctx, `DELETE FROM credential_cap WHERE credential_id = $1 AND user_id = $2`, credentialID, userID)
		return fail("remove a credential's cap", "credential", err)
	}
	n, err := db.exec(ctx, `
		INSERT INTO credential_cap (credential_id, user_id, micros) VALUES ($1, $2, $3)
		ON CONFLICT (credential_id) DO UPDATE SET micros = excluded.micros WHERE credential_cap.user_id = excluded.user_id`,
		credentialID, userID, *micros)
	return requireRow("set a credential's cap", "credential", n, err)
}
