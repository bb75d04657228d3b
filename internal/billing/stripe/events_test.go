package stripe_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/testkit/stripefake"
)

// step is an event and the subscription at Stripe after it.
type step struct {
	kind  string
	after stripefake.Subscription
}

// ongoing returns the history of a subscription: a trial, a failed payment over the end of February in a leap year, the
// payment, a change of plan and a cancellation at the end of the period.
func ongoing() []step {
	from := time.Date(2028, 1, 31, 9, 0, 0, 0, time.UTC)
	s := month(from)
	s.Status = "trialing"
	begun := s
	s.Status, s.PeriodStart, s.PeriodEnd = "past_due", core.AddMonths(from, 1), core.AddMonths(from, 2)
	s.Invoiced = s.PeriodStart.Add(time.Hour)
	failed := s
	s.Status = "active"
	paid := s
	s.Price = "price_writer"
	moved := s
	s.CancelAtPeriodEnd = true
	cancelled := s
	return []step{
		{"checkout.session.completed", begun},
		{"customer.subscription.created", begun},
		{"invoice.payment_failed", failed},
		{"invoice.paid", paid},
		{"customer.subscription.updated", moved},
		{"customer.subscription.updated", cancelled},
	}
}

// ended returns the same history without its first step, but with the end of the subscription.
func ended() []step {
	all := ongoing()
	last := all[len(all)-1].after
	last.Status, last.EndedAt = "canceled", last.PeriodEnd
	return append(all[1:], step{"customer.subscription.deleted", last})
}

// permutations calls f with every order of n items.
func permutations(n int, f func(order []int)) {
	order := make([]int, 0, n)
	var next func()
	next = func() {
		if len(order) == n {
			f(slices.Clone(order))
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				order = append(order, i)
				next()
				order = order[:len(order)-1]
			}
		}
	}
	next()
}

// TestEveryOrderOfEventsEndsInTheSameState delivers the events of a history in all 720 orders (a seventh of them on
// PostgreSQL), each order to a separate account and every event twice. Stripe's state is that of the latest event
// delivered so far: an order that begins with the last event sees the final state from the start, the chronological
// order sees every intermediate state.
func TestEveryOrderOfEventsEndsInTheSameState(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]step{"ongoing": ongoing(), "ended": ended()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothDatabases(t, func(t *testing.T, fx *fixture) {
				chronological := fx.person(true)
				for i := range history {
					fx.replay(t, chronological, history, []int{i})
				}
				want := fx.has(chronological)
				if want.Subscription == nil || want.Subscription.Plan != "writer" {
					t.Fatalf("in chronological order it ends as %+v", want.Subscription)
				}
				orders := make(chan []int)
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						for order := range orders {
							p := fx.person(true)
							fx.replay(t, p, history, append(order, order...))
							if got := fx.has(p); !sameEntitlement(got, want) {
								t.Errorf("order %v ends as %+v, chronological order as %+v", order, got.Subscription, want.Subscription)
							}
						}
					})
				}
				// The order does not depend on the database, so a part of the orders is sufficient on PostgreSQL.
				every, n := map[bool]int{false: 1, true: 7}[fx.postgres], 0
				permutations(len(history), func(order []int) {
					if n++; n%every == 0 {
						orders <- order
					}
				})
				close(orders)
				wg.Wait()
			})
		})
	}
}

// replay delivers the events of a history in an order.
func (fx *fixture) replay(t *testing.T, p person, history []step, order []int) {
	newest := -1
	for _, i := range order {
		if i > newest {
			newest = i
			fx.stripe.Set(p.customer, history[i].after)
		}
		if err := fx.deliver(fmt.Sprintf("evt_%d_%s", i, p.UserID), history[i].kind, p, history[i].after); err != nil {
			t.Errorf("%s: %v", history[i].kind, err)
		}
	}
}

// sameEntitlement compares the entitlements of two accounts, ignoring the user id.
func sameEntitlement(a, b billing.Entitlement) bool {
	if a.Subscription == nil || b.Subscription == nil {
		return a.Subscription == b.Subscription
	}
	one, other := *a.Subscription, *b.Subscription
	one.UserID, other.UserID = "", ""
	return reflect.DeepEqual(one, other) && reflect.DeepEqual(a.Plan, b.Plan)
}

// TestStaleReadIsRepeated processes two events concurrently: the first reads Stripe, then the second reads and stores a
// newer state before the first stores its own.
func TestStaleReadIsRepeated(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		p := fx.person(true)
		old, now := ongoing()[0].after, ongoing()[4].after
		fx.stripe.Set(p.customer, old)
		fx.stripe.Hold(func() {
			fx.stripe.Set(p.customer, now)
			if err := fx.deliver("evt_second", "customer.subscription.updated", p, now); err != nil {
				t.Error(err)
			}
		})
		fx.must(fx.deliver("evt_first", "customer.subscription.created", p, old))
		if got := fx.has(p).Subscription; got == nil || got.Plan != "writer" || got.Status != billing.SubscriptionActive {
			t.Errorf("the stale state was stored: %+v", got)
		}
	})
}

func TestDuplicateEventCausesNoRequest(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		p, s := fx.person(true), month(fx.clock.Now())
		fx.stripe.Set(p.customer, s)
		fx.must(fx.deliver("evt_1", "customer.subscription.created", p, s))
		requests := fx.stripe.Requests()
		for range 3 {
			fx.must(fx.deliver("evt_1", "customer.subscription.created", p, s))
		}
		if got := fx.stripe.Requests(); got != requests {
			t.Errorf("a duplicate event caused %d requests", got-requests)
		}
		if got := len(fx.notes.records); got != 3 { // two plans and the subscription
			t.Errorf("%d audit records: %+v", got, fx.notes.records)
		}
	})
}

// TestFailedEventIsRetried relies on Stripe's retries: it resends an event until the reply is 200.
func TestFailedEventIsRetried(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		p, s := fx.person(true), month(fx.clock.Now())
		s.Price = "price_unknown"
		fx.stripe.Set(p.customer, s)
		fx.stripe.Down(true)
		if err := fx.deliver("evt_1", "customer.subscription.created", p, s); !core.IsKind(err, core.KindUnavailable) {
			t.Errorf("during an outage: %v", err)
		}
		fx.stripe.Down(false)
		if err := fx.deliver("evt_1", "customer.subscription.created", p, s); err == nil ||
			core.AsError(err).Kind != core.KindInternal {
			t.Errorf("a price without a plan: %v", err)
		}
		fx.plan("late", "price_unknown")
		fx.must(fx.deliver("evt_1", "customer.subscription.created", p, s))
		if got := fx.planNow(p); got != "late" {
			t.Errorf("the plan is %s", got)
		}
	})
}

func TestUnrelatedEventsAreMarkedAsProcessed(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		p, stranger := fx.person(true), fx.person(false)
		fx.must(fx.deliver("evt_1", "customer.subscription.created", stranger, month(fx.clock.Now())))
		fx.must(fx.deliver("evt_2", "charge.refunded", p, month(fx.clock.Now())))
		if fx.stripe.Requests() != 0 {
			t.Errorf("%d requests to Stripe", fx.stripe.Requests())
		}
		for _, id := range []string{"evt_1", "evt_2"} {
			if taken, err := fx.db.EventTaken(t.Context(), id); err != nil || !taken {
				t.Errorf("%s: taken %v, %v", id, taken, err)
			}
		}
		fx.must(fx.db.PruneBillingEvents(t.Context(), fx.clock.Now().Add(time.Second)))
		if taken, err := fx.db.EventTaken(t.Context(), "evt_1"); err != nil || taken {
			t.Errorf("after pruning: taken %v, %v", taken, err)
		}
	})
}
