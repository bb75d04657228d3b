package billing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"carrel/internal/account"
)

// subscription is one as Stripe has it. Times are seconds.
type subscription struct {
	ID                string   `json:"id"`
	Status            string   `json:"status"`
	Created           int64    `json:"created"`
	StartDate         int64    `json:"start_date"`
	EndedAt           *int64   `json:"ended_at"`
	CancelAt          *int64   `json:"cancel_at"`
	CancelAtPeriodEnd bool     `json:"cancel_at_period_end"`
	LatestInvoice     *invoice `json:"latest_invoice"`
	Items             struct {
		Data []item `json:"data"`
	} `json:"items"`
}

// item is what is paid for, and the period that it was last paid or asked for.
type item struct {
	Price struct {
		ID string `json:"id"`
	} `json:"price"`
	PeriodStart int64 `json:"current_period_start"`
	PeriodEnd   int64 `json:"current_period_end"`
}

// invoice is the newest one.
type invoice struct {
	Created int64
}

// UnmarshalJSON reads an invoice that is there as a whole, and leaves one that is only named.
func (i *invoice) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) == 0 || b[0] != '{' {
		return nil
	}
	var whole struct {
		Created int64 `json:"created"`
	}
	err := json.Unmarshal(b, &whole)
	i.Created = whole.Created
	return err
}

// statuses says what Stripe's states are here. A first payment that is still to be made ("incomplete") is no subscription
// yet. Who does not pay in the end is told from who cancelled ("unpaid", "canceled") by Stripe's settings alone; a trial
// that ended without a way to pay ("paused") waits there. None of these gives anything.
var statuses = map[string]account.SubscriptionStatus{
	"trialing":           account.SubscriptionTrial,
	"active":             account.SubscriptionActive,
	"past_due":           account.SubscriptionPastDue,
	"unpaid":             account.SubscriptionEnded,
	"paused":             account.SubscriptionEnded,
	"canceled":           account.SubscriptionEnded,
	"incomplete_expired": "",
	"incomplete":         "",
}

// began reports whether it was ever more than an attempt.
func (s subscription) began() bool { return statuses[s.Status] != "" }

// runs reports whether it has not ended.
func (s subscription) runs() bool {
	return s.began() && statuses[s.Status] != account.SubscriptionEnded
}

// stands reports whether it is still there at Stripe, where it can be paid and go on.
func (s subscription) stands() bool { return s.began() && s.Status != "canceled" }

// read makes of all subscriptions of a customer what the account has: nil for nothing. It depends on nothing else, so
// whenever and however often it is done, the last reading is right. What runs goes before what has ended, what is paid
// before what is due, and the newer before the older.
func (s *Service) read(userID string, all []subscription, plans []account.Plan, now time.Time) (*account.Subscription, error) {
	var best *subscription
	var plan string
	var stray error
	for _, one := range slices.SortedFunc(slices.Values(all), preferred) {
		if _, known := statuses[one.Status]; !known {
			return nil, fmt.Errorf("stripe: the subscription %s has the state %q, which is unknown", one.ID, one.Status)
		}
		if !one.began() {
			continue
		}
		name := one.plan(plans)
		switch {
		case name == "" && one.runs():
			stray = fmt.Errorf("stripe: no plan has a price of the subscription %s; give it to a plan (stripe-price), also when it is no longer sold", one.ID)
		case name != "" && best == nil:
			best, plan = &one, name
		}
	}
	switch {
	case stray != nil && (best == nil || !best.runs()):
		return nil, stray
	case best == nil:
		return nil, nil //nolint:nilnil // there is none, which is fine
	}
	return new(s.copyOf(*best, userID, plan, now)), nil
}

// preferred sorts what counts more first.
func preferred(a, b subscription) int {
	rank := func(s subscription) int {
		return slices.Index([]account.SubscriptionStatus{account.SubscriptionActive, account.SubscriptionTrial, account.SubscriptionPastDue, account.SubscriptionEnded, ""}, statuses[s.Status])
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Created, a.Created), cmp.Compare(b.ID, a.ID))
}

// plan returns the name of the plan that one of the prices pays for, or nothing.
func (s subscription) plan(plans []account.Plan) string {
	for _, i := range s.Items.Data {
		for _, p := range plans {
			if slices.Contains(p.Prices(), i.Price.ID) {
				return p.Name
			}
		}
	}
	return ""
}

// copyOf is Stripe's subscription in our words.
func (s *Service) copyOf(from subscription, userID, plan string, now time.Time) account.Subscription {
	to := account.Subscription{
		UserID: userID, Plan: plan, Status: statuses[from.Status], StartsAt: seconds(from.StartDate), CancelAtEnd: from.CancelAtPeriodEnd,
		Source: account.SubscriptionByStripe, ExternalID: from.ID, EventAt: now, UpdatedAt: now,
	}
	var start, end int64
	for _, i := range from.Items.Data {
		start, end = max(start, i.PeriodStart), max(end, i.PeriodEnd)
	}
	// Stripe has two ways to say that there will be no renewal. One that is to be cancelled later than the period is renewed.
	if c := from.CancelAt; c != nil && *c > 0 && (end == 0 || *c <= end) {
		to.CancelAtEnd, end = true, *c
	}
	if to.Status == account.SubscriptionEnded {
		to.CancelAtEnd = true
		if from.EndedAt != nil {
			end = *from.EndedAt
		}
	}
	if end > 0 {
		to.EndsAt = new(seconds(end))
	}
	switch {
	case to.Status == account.SubscriptionPastDue:
		// The period is that which was not paid, and its invoice tells when that began.
		due := start
		if from.LatestInvoice != nil && from.LatestInvoice.Created > 0 {
			due = from.LatestInvoice.Created
		}
		to.GraceUntil = new(seconds(due).Add(s.opts.Grace))
	case to.Status != account.SubscriptionEnded && to.EndsAt != nil && !to.CancelAtEnd:
		to.GraceUntil = new(to.EndsAt.Add(s.opts.Grace))
	}
	return to
}

func seconds(n int64) time.Time { return time.Unix(n, 0).UTC() }
