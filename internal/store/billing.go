package store

import (
	"context"
	"time"

	"carrel/internal/billing"
	"carrel/internal/billing/stripe"
)

var _ stripe.Store = (*DB)(nil)

// Customer returns a user's customer record at the payment provider.
func (db *DB) Customer(ctx context.Context, userID string) (stripe.Customer, error) {
	return db.customer(ctx, `user_id`, userID)
}

// CustomerByID returns the customer record with the provider's customer id.
func (db *DB) CustomerByID(ctx context.Context, customerID string) (stripe.Customer, error) {
	return db.customer(ctx, `customer_id`, customerID)
}

func (db *DB) customer(ctx context.Context, by, value string) (c stripe.Customer, err error) {
	err = get(ctx, db.read, `SELECT customer_id, user_id, revision FROM billing_customer WHERE `+by+` = $1`, args{value},
		&c.ID, &c.UserID, &c.Revision)
	return c, fail("read customer", "customer", err)
}

// AddCustomer links a user to a customer of the payment provider, unless the user is already linked.
func (db *DB) AddCustomer(ctx context.Context, userID, customerID string) error {
	_, err := db.exec(ctx,
		`INSERT INTO billing_customer (user_id, customer_id) VALUES ($1, $2) ON CONFLICT (user_id) DO NOTHING`,
		userID, customerID)
	return fail("add customer", "user", err)
}

// EventTaken reports whether an event of the payment provider has been processed.
func (db *DB) EventTaken(ctx context.Context, id string) (taken bool, err error) {
	err = get(ctx, db.read, `SELECT EXISTS (SELECT 1 FROM billing_event WHERE id = $1)`, args{id}, &taken)
	return taken, fail("look for a billing event", "event", err)
}

const addEvent = `INSERT INTO billing_event (id, taken_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`

// TakeEvent records an event that needs no change as processed.
func (db *DB) TakeEvent(ctx context.Context, id string, at time.Time) error {
	_, err := db.exec(ctx, addEvent, id, millis(at))
	return fail("take a billing event", "event", err)
}

// KeepSubscription stores a subscription read from the payment provider, unless a later reading was stored meanwhile.
// An active subscription replaces any other. An ended one replaces only an older reading, because an administrator may
// have assigned another plan since.
func (db *DB) KeepSubscription(
	ctx context.Context, c stripe.Customer, s *billing.Subscription, event string, at time.Time,
) (kept bool, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `UPDATE billing_customer SET revision = revision + 1 WHERE customer_id = $1 AND revision = $2`,
			c.ID, c.Revision)
		if kept = n == 1; err != nil || !kept {
			return err
		}
		if event != "" {
			if _, err := tx.exec(ctx, addEvent, event, millis(at)); err != nil {
				return err
			}
		}
		if s == nil {
			_, err = tx.exec(ctx, `DELETE FROM subscription WHERE user_id = $1 AND source = 'stripe'`, c.UserID)
			return err
		}
		_, err = tx.exec(ctx, putSubscription+` WHERE excluded.status <> 'ended' OR subscription.source = 'stripe'`,
			subscriptionArgs(*s)...)
		return err
	})
	return kept, fail("keep a subscription", "plan", err)
}

// PruneBillingEvents deletes events too old to be delivered again.
func (db *DB) PruneBillingEvents(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"billing_event", "id", `taken_at < $1`}, before, pruneBatch)
	return fail("prune billing events", "event", err)
}
