package store

import (
	"context"
	"database/sql"

	"carrel/internal/billing"
	"carrel/internal/core"
)

var _ billing.PlanStore = (*DB)(nil)

const planColumns = `plan.name, plan.capabilities, plan.models, plan.spend_cap, plan.turn_cap, plan.rate_limit, plan.rate_burst,
	plan.storage_limit, plan.price, plan.stripe_price, plan.declared, plan.created_at, plan.updated_at`

// planRow is a plan as it is read; all of it is NULL where there is none.
type planRow struct {
	name, capabilities, models, stripe      sql.NullString
	spendCap, turnCap, rate, burst, storage sql.NullInt64
	price, declared, created, updated       sql.NullInt64
}

func (r *planRow) dest() []any {
	return []any{
		&r.name, &r.capabilities, &r.models, &r.spendCap, &r.turnCap, &r.rate, &r.burst, &r.storage, &r.price, &r.stripe, &r.declared,
		&r.created, &r.updated,
	}
}

func (r *planRow) value() (p billing.Plan, err error) {
	p = billing.Plan{
		Name: r.name.String, SpendCap: optNull(r.spendCap), TurnCap: optNull(r.turnCap), RateLimit: optNull(r.rate), RateBurst: optNull(r.burst),
		StorageLimit: optNull(r.storage), Price: r.price.Int64, StripePrice: r.stripe.String, Declared: r.declared.Int64 == 1,
		CreatedAt: at(r.created.Int64), UpdatedAt: at(r.updated.Int64),
	}
	if p.Capabilities, err = wordsOf[core.Capability](r.capabilities.String); err != nil {
		return p, err
	}
	p.Models, err = wordsOf[string](r.models.String)
	return p, err
}

// optNull is a number that may have been stored.
func optNull(n sql.NullInt64) *int64 {
	if !n.Valid {
		return nil
	}
	return &n.Int64
}

// Plans returns all plans by name.
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
	INSERT INTO plan (name, capabilities, models, spend_cap, turn_cap, rate_limit, rate_burst, storage_limit, price, stripe_price, declared, created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
	ON CONFLICT (name) DO UPDATE SET capabilities = excluded.capabilities, models = excluded.models, spend_cap = excluded.spend_cap,
		turn_cap = excluded.turn_cap, rate_limit = excluded.rate_limit, rate_burst = excluded.rate_burst, storage_limit = excluded.storage_limit,
		price = excluded.price, stripe_price = excluded.stripe_price, declared = excluded.declared, updated_at = excluded.updated_at`

func planArgs(p billing.Plan) args {
	return args{
		p.Name, listOf(p.Capabilities), listOf(p.Models), optInt(p.SpendCap), optInt(p.TurnCap), optInt(p.RateLimit), optInt(p.RateBurst),
		optInt(p.StorageLimit), p.Price, p.StripePrice, flag(p.Declared), millis(p.CreatedAt), millis(p.UpdatedAt),
	}
}

// PutPlan makes a plan, or changes the one of that name.
func (db *DB) PutPlan(ctx context.Context, p billing.Plan) error {
	_, err := db.one(ctx, putPlan, planArgs(p)...)
	return fail("put plan", "plan", err)
}

// DeclarePlans makes these plans the ones that the settings declare, and no others.
func (db *DB) DeclarePlans(ctx context.Context, plans []billing.Plan) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
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

// DeletePlan removes a plan that nobody has.
func (db *DB) DeletePlan(ctx context.Context, name string) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		var users int
		if err := get(ctx, tx, `SELECT count(*) FROM app_user WHERE plan = $1`, args{name}, &users); err != nil {
			return err
		}
		if users > 0 {
			return planInUse()
		}
		n, err := tx.exec(ctx, `DELETE FROM plan WHERE name = $1`, name)
		if classify(err) == classParent {
			return planInUse()
		}
		return changed("delete plan", "plan", n, err)
	})
	return fail("delete plan", "plan", err)
}

func planInUse() error {
	return core.Conflict("conflict", "Accounts have this plan, or had it by a subscription. Give them another one first; those who pay for it at Stripe, there.")
}

// SetPlan gives a user a plan for good, in place of a subscription.
func (db *DB) SetPlan(ctx context.Context, userID, plan string) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `UPDATE app_user SET plan = $1 WHERE id = $2`, plan, userID)
		if err := changed("set plan", "user", n, err); err != nil {
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

// OwnCredential looks whether a key or a grant is the user's.
func (db *DB) OwnCredential(ctx context.Context, userID, credentialID string) error {
	var one int
	err := get(ctx, db.read, `
		SELECT 1 FROM credential_key WHERE id = $1 AND user_id = $2
		UNION ALL SELECT 1 FROM oauth_grant WHERE id = $1 AND user_id = $2`, args{credentialID, userID}, &one)
	return fail("look for a credential", "credential", err)
}

// CredentialCaps returns the caps of a user's credentials.
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

// SetCredentialCap sets or, with nil, takes away what a credential may spend in a month.
func (db *DB) SetCredentialCap(ctx context.Context, userID, credentialID string, micros *int64) error {
	if micros == nil {
		_, err := db.one(ctx, `DELETE FROM credential_cap WHERE credential_id = $1 AND user_id = $2`, credentialID, userID)
		return fail("take a credential's cap away", "credential", err)
	}
	n, err := db.one(ctx, `
		INSERT INTO credential_cap (credential_id, user_id, micros) VALUES ($1, $2, $3)
		ON CONFLICT (credential_id) DO UPDATE SET micros = excluded.micros WHERE credential_cap.user_id = excluded.user_id`,
		credentialID, userID, *micros)
	return changed("set a credential's cap", "credential", n, err)
}
