package store

import (
	"context"
	"database/sql"

	"carrel/internal/billing"
)

const subscriptionColumns = `subscription.user_id, subscription.plan, subscription.status, subscription.starts_at,
	subscription.ends_at, subscription.cancel_at_end, subscription.grace_until, subscription.source,
	subscription.external_id, subscription.event_at, subscription.updated_at`

// subscriptionRow is a scanned subscription. All columns are NULL if the user has none.
type subscriptionRow struct {
	userID, plan, status, source, external sql.NullString
	starts, ends, cancel, grace            sql.NullInt64
	event, updated                         sql.NullInt64
}

func (r *subscriptionRow) dest() []any {
	return []any{
		&r.userID, &r.plan, &r.status, &r.starts, &r.ends, &r.cancel, &r.grace, &r.source, &r.external, &r.event, &r.updated,
	}
}

func (r *subscriptionRow) value() *billing.Subscription {
	if !r.userID.Valid {
		return nil
	}
	return &billing.Subscription{
		UserID: r.userID.String, Plan: r.plan.String, Status: billing.SubscriptionStatus(r.status.String),
		StartsAt: at(r.starts.Int64), EndsAt: optAt(r.ends), CancelAtEnd: r.cancel.Int64 == 1,
		GraceUntil: optAt(r.grace), Source: r.source.String, ExternalID: r.external.String,
		EventAt: at(r.event.Int64), UpdatedAt: at(r.updated.Int64),
	}
}

// Subscription returns a user's subscription.
func (db *DB) Subscription(ctx context.Context, userID string) (billing.Subscription, error) {
	var r subscriptionRow
	err := get(ctx, db.read, `SELECT `+subscriptionColumns+` FROM subscription WHERE user_id = $1`,
		args{userID}, r.dest()...)
	if err != nil {
		return billing.Subscription{}, fail("read subscription", "subscription", err)
	}
	return *r.value(), nil
}

const putSubscription = `
	INSERT INTO subscription (user_id, plan, status, starts_at, ends_at, cancel_at_end, grace_until, source, external_id,
		event_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
	ON CONFLICT (user_id) DO UPDATE SET plan = excluded.plan, status = excluded.status, starts_at = excluded.starts_at,
		ends_at = excluded.ends_at, cancel_at_end = excluded.cancel_at_end, grace_until = excluded.grace_until,
		source = excluded.source, external_id = excluded.external_id, event_at = excluded.event_at,
		updated_at = excluded.updated_at`

func subscriptionArgs(s billing.Subscription) args {
	return args{
		s.UserID, s.Plan, string(s.Status), millis(s.StartsAt), optMillis(s.EndsAt), flag(s.CancelAtEnd),
		optMillis(s.GraceUntil),
		s.Source, s.ExternalID, millis(s.EventAt), millis(s.UpdatedAt),
	}
}

// runsAtStripe matches a subscription that Stripe manages and has not ended; only Stripe changes it. endedAtStripe
// matches a subscription that Stripe has ended; the account is back on its default plan.
const (
	runsAtStripe  = `(subscription.source = 'stripe' AND subscription.status <> 'ended')`
	endedAtStripe = `(subscription.source = 'stripe' AND subscription.status = 'ended')`
)

// PutSubscription sets a user's subscription unless Stripe manages the current one.
func (db *DB) PutSubscription(ctx context.Context, s billing.Subscription) error {
	n, err := db.exec(ctx, putSubscription+` WHERE NOT `+runsAtStripe, subscriptionArgs(s)...)
	if err == nil && n == 0 {
		return billing.ManagedByStripe()
	}
	return fail("put subscription", "user", err)
}

// entitlementColumns and entitlementJoin add the subscription and plan of a user u to a query.
const (
	entitlementColumns = subscriptionColumns + `, ` + planColumns
	entitlementJoin    = `
		LEFT JOIN subscription ON subscription.user_id = u.id
		LEFT JOIN plan ON plan.name = CASE WHEN ` + endedAtStripe +
		` THEN u.plan ELSE coalesce(subscription.plan, u.plan) END`
)

type entitlementRow struct {
	subscription subscriptionRow
	plan         planRow
}

func (r *entitlementRow) dest() []any { return append(r.subscription.dest(), r.plan.dest()...) }

func (r *entitlementRow) value() (billing.Entitlement, error) {
	e := billing.Entitlement{Subscription: r.subscription.value()}
	if !r.plan.name.Valid {
		return e, nil
	}
	p, err := r.plan.value()
	e.Plan = &p
	return e, err
}

// Entitlement returns a user's subscription and plan.
func (db *DB) Entitlement(ctx context.Context, userID string) (billing.Entitlement, error) {
	var r entitlementRow
	err := get(ctx, db.read, `SELECT `+entitlementColumns+` FROM app_user u`+entitlementJoin+` WHERE u.id = $1`,
		args{userID}, r.dest()...)
	if err != nil {
		return billing.Entitlement{}, fail("read entitlement", "user", err)
	}
	e, err := r.value()
	return e, fail("read entitlement", "user", err)
}
