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

// happening is one thing in the life of a subscription: what Stripe says of it, and how the subscription is from then on.
type happening struct {
	kind  string
	after stripefake.Subscription
}

// life is a trial that is paid after a payment that failed, over the end of February in a leap year, another plan, and in
// the end a cancellation.
func life() []happening {
	from := time.Date(2028, 1, 31, 9, 0, 0, 0, time.UTC)
	s := month(from)
	s.Status = "trialing"
	begun := s
	s.Status, s.PeriodStart, s.PeriodEnd, s.Invoiced = "past_due", core.AddMonths(from, 1), core.AddMonths(from, 2), core.AddMonths(from, 1).Add(time.Hour)
	failed := s
	s.Status = "active"
	paid := s
	s.Price = "price_writer"
	moved := s
	s.CancelAtPeriodEnd = true
	cancelled := s
	return []happening{
		{"checkout.session.completed", begun},
		{"customer.subscription.created", begun},
		{"invoice.payment_failed", failed},
		{"invoice.paid", paid},
		{"customer.subscription.updated", moved},
		{"customer.subscription.updated", cancelled},
	}
}

// ended is the life with its end, without its first moment.
func ended() []happening {
	all := life()
	last := all[len(all)-1].after
	last.Status, last.EndedAt = "canceled", last.PeriodEnd
	return append(all[1:], happening{"customer.subscription.deleted", last})
}

// permutations calls f with every order of n things.
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

// TestEveryOrderOfMessagesEndsInTheSameState delivers a history in each of its 720 orders (on PostgreSQL in a part of them), each to an account of its own,
// and each message a second time at the end. Stripe itself is only as far as the newest message that it has sent: an order
// that begins with the last message finds it at its end, and one in time finds every state in between.
func TestEveryOrderOfMessagesEndsInTheSameState(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]happening{"a subscription that goes on": life(), "a subscription that ends": ended()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothDatabases(t, func(t *testing.T, w *world) {
				inTime := w.person(true)
				for i := range history {
					w.live(t, inTime, history, []int{i})
				}
				want := w.has(inTime)
				if want.Subscription == nil || want.Subscription.Plan != "writer" {
					t.Fatalf("in time it ends as %+v", want.Subscription)
				}
				orders := make(chan []int)
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						for order := range orders {
							p := w.person(true)
							w.live(t, p, history, append(order, order...))
							if got := w.has(p); !sameEntitlement(got, want) {
								t.Errorf("%v ends as %+v, and in time as %+v", order, got.Subscription, want.Subscription)
							}
						}
					})
				}
				// The database has no part in the order; that both engines can be told so is shown by a seventh of them.
				every, n := map[bool]int{false: 1, true: 7}[w.postgres], 0
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

// live delivers messages of a history in an order.
func (w *world) live(t *testing.T, p person, history []happening, order []int) {
	newest := -1
	for _, i := range order {
		if i > newest {
			newest = i
			w.stripe.Set(p.customer, history[i].after)
		}
		if err := w.deliver(fmt.Sprintf("evt_%d_%s", i, p.UserID), history[i].kind, p, history[i].after); err != nil {
			t.Errorf("%s: %v", history[i].kind, err)
		}
	}
}

// sameEntitlement compares what two accounts have, but for whose it is.
func sameEntitlement(a, b billing.Entitlement) bool {
	if a.Subscription == nil || b.Subscription == nil {
		return a.Subscription == b.Subscription
	}
	one, other := *a.Subscription, *b.Subscription
	one.UserID, other.UserID = "", ""
	return reflect.DeepEqual(one, other) && reflect.DeepEqual(a.Plan, b.Plan)
}

// TestAReadingThatWasOvertakenIsMadeAnew: two messages are dealt with at once. The first one reads Stripe, waits, and has
// an old reading in hand when the second one has kept a newer one.
func TestAReadingThatWasOvertakenIsMadeAnew(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		p := w.person(true)
		old, now := life()[0].after, life()[4].after
		w.stripe.Set(p.customer, old)
		w.stripe.Hold(func() {
			w.stripe.Set(p.customer, now)
			if err := w.deliver("evt_second", "customer.subscription.updated", p, now); err != nil {
				t.Error(err)
			}
		})
		w.must(w.deliver("evt_first", "customer.subscription.created", p, old))
		if got := w.has(p).Subscription; got == nil || got.Plan != "writer" || got.Status != billing.SubscriptionActive {
			t.Errorf("the older reading was kept: %+v", got)
		}
	})
}

func TestAMessageCountsOnceAndStripeIsAskedOnce(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		p, s := w.person(true), month(w.clock.Now())
		w.stripe.Set(p.customer, s)
		w.must(w.deliver("evt_1", "customer.subscription.created", p, s))
		asked := w.stripe.Requests()
		for range 3 {
			w.must(w.deliver("evt_1", "customer.subscription.created", p, s))
		}
		if got := w.stripe.Requests(); got != asked {
			t.Errorf("a message that came again made %d requests", got-asked)
		}
		if got := len(w.notes.records); got != 3 { // two plans and the subscription
			t.Errorf("%d notes: %+v", got, w.notes.records)
		}
	})
}

// TestWhatCanNotBeDealtWithComesAgain: Stripe sends a message again until it is answered with 200.
func TestWhatCanNotBeDealtWithComesAgain(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		p, s := w.person(true), month(w.clock.Now())
		s.Price = "price_nobody_knows"
		w.stripe.Set(p.customer, s)
		w.stripe.Down(true)
		if err := w.deliver("evt_1", "customer.subscription.created", p, s); !core.IsKind(err, core.KindUnavailable) {
			t.Errorf("without Stripe: %v", err)
		}
		w.stripe.Down(false)
		if err := w.deliver("evt_1", "customer.subscription.created", p, s); err == nil || core.AsError(err).Kind != core.KindInternal {
			t.Errorf("a price that no plan has: %v", err)
		}
		w.plan("late", "price_nobody_knows")
		w.must(w.deliver("evt_1", "customer.subscription.created", p, s))
		if got := w.planNow(p); got != "late" {
			t.Errorf("the plan is %s", got)
		}
	})
}

func TestMessagesThatAreNotForUsCountAndChangeNothing(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		p, stranger := w.person(true), w.person(false)
		w.must(w.deliver("evt_1", "customer.subscription.created", stranger, month(w.clock.Now())))
		w.must(w.deliver("evt_2", "charge.refunded", p, month(w.clock.Now())))
		if w.stripe.Requests() != 0 {
			t.Errorf("Stripe was asked %d times", w.stripe.Requests())
		}
		for _, id := range []string{"evt_1", "evt_2"} {
			if taken, err := w.db.EventTaken(t.Context(), id); err != nil || !taken {
				t.Errorf("%s: taken %v, %v", id, taken, err)
			}
		}
		w.must(w.db.PruneBillingEvents(t.Context(), w.clock.Now().Add(time.Second)))
		if taken, err := w.db.EventTaken(t.Context(), "evt_1"); err != nil || taken {
			t.Errorf("after a while: taken %v, %v", taken, err)
		}
	})
}
