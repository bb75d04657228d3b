package stripe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"carrel/internal/billing"
)

// subscription is Stripe's representation. Times are Unix seconds.
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

// item is a line of a subscription with its current billing period.
type item struct {
	Price struct {
		ID string `json:"id"`
	} `json:"price"`
	PeriodStart int64 `json:"current_period_start"`
	PeriodEnd   int64 `json:"current_period_end"`
}

// invoice is the latest invoice of a subscription.
type invoice struct {
	Created int64
}

// UnmarshalJSON decodes an expanded invoice and ignores a bare id.
func (i *invoice) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) == 0 || b[0] != '{' {
		return nil
	}
	var expanded struct {
		Created int64 `json:"created"`
	}
	err := json.Unmarshal(b, &expanded)
	i.Created = expanded.Created
	return err
}

// statuses maps Stripe's statuses. Incomplete ones map to "": the first payment is missing, so there is no subscription
// yet. After the last failed payment Stripe sets unpaid or canceled, depending on the settings of the Stripe account;
// paused is a trial that ended without a payment method. All three count as ended.
var statuses = map[string]billing.SubscriptionStatus{
	"trialing":           billing.SubscriptionTrial,
	"active":             billing.SubscriptionActive,
	"past_due":           billing.SubscriptionPastDue,
	"unpaid":             billing.SubscriptionEnded,
	"paused":             billing.SubscriptionEnded,
	"canceled":           billing.SubscriptionEnded,
	"incomplete_expired": "",
	"incomplete":         "",
}

// began reports whether the first payment was made or the trial started.
func (s subscription) began() bool { return statuses[s.Status] != "" }

// runs reports whether the subscription has begun and not ended.
func (s subscription) runs() bool {
	return s.began() && statuses[s.Status] != billing.SubscriptionEnded
}

// exists reports whether the subscription can be resumed at Stripe by a payment. An unpaid one can, a canceled one
// cannot.
func (s subscription) exists() bool { return s.began() && s.Status != "canceled" }

// current selects the subscription that counts for the account, nil if there is none: running before ended, paid before
// past due, newer before older. The result depends only on its arguments, so refresh can be repeated at any time.
func (s *Service) current(
	userID string, all []subscription, plans []billing.Plan, now time.Time,
) (*billing.Subscription, error) {
	var best *subscription
	var plan string
	var unknownPrice error
	for _, one := range slices.SortedFunc(slices.Values(all), comparePrecedence) {
		if _, known := statuses[one.Status]; !known {
			return nil, fmt.Errorf("stripe: subscription %s has the unknown status %q", one.ID, one.Status)
		}
		if !one.began() {
			continue
		}
		name := one.plan(plans)
		switch {
		case name == "" && one.runs():
			unknownPrice = fmt.Errorf("stripe: no plan has the price of subscription %s; add it to the stripe-price of a plan, "+
				"even if it is no longer sold", one.ID)
		case name != "" && best == nil:
			best, plan = &one, name
		}
	}
	switch {
	case unknownPrice != nil && (best == nil || !best.runs()):
		return nil, unknownPrice
	case best == nil:
		return nil, nil //nolint:nilnil // a customer without a subscription is valid
	}
	return new(s.convert(*best, userID, plan, now)), nil
}

// byPrecedence is the order in which the statuses count.
var byPrecedence = []billing.SubscriptionStatus{
	billing.SubscriptionActive, billing.SubscriptionTrial, billing.SubscriptionPastDue, billing.SubscriptionEnded, "",
}

// comparePrecedence orders subscriptions by precedence, then newest first.
func comparePrecedence(a, b subscription) int {
	rank := func(s subscription) int { return slices.Index(byPrecedence, statuses[s.Status]) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Created, a.Created), cmp.Compare(b.ID, a.ID))
}

// plan returns the name of the plan sold at one of the subscription's prices, or "".
func (s subscription) plan(plans []billing.Plan) string {
	for _, i := range s.Items.Data {
		for _, p := range plans {
			if slices.Contains(p.Prices(), i.Price.ID) {
				return p.Name
			}
		}
	}
	return ""
}

// convert returns the subscription to store.
func (s *Service) convert(from subscription, userID, plan string, now time.Time) billing.Subscription {
	to := billing.Subscription{
		UserID:      userID,
		Plan:        plan,
		Status:      statuses[from.Status],
		StartsAt:    seconds(from.StartDate),
		CancelAtEnd: from.CancelAtPeriodEnd,
		Source:      billing.SubscriptionByStripe,
		ExternalID:  from.ID,
		EventAt:     now,
		UpdatedAt:   now,
	}
	var start, end int64
	for _, i := range from.Items.Data {
		start, end = max(start, i.PeriodStart), max(end, i.PeriodEnd)
	}
	// cancel_at also means no renewal, unless it is later than the current period.
	if c := from.CancelAt; c != nil && *c > 0 && (end == 0 || *c <= end) {
		to.CancelAtEnd, end = true, *c
	}
	if to.Status == billing.SubscriptionEnded {
		to.CancelAtEnd = true
		if from.EndedAt != nil {
			end = *from.EndedAt
		}
	}
	if end > 0 {
		to.EndsAt = new(seconds(end))
	}
	switch {
	case to.Status == billing.SubscriptionPastDue:
		// The period is the unpaid one. The grace period starts when its invoice was created.
		due := start
		if from.LatestInvoice != nil && from.LatestInvoice.Created > 0 {
			due = from.LatestInvoice.Created
		}
		to.GraceUntil = new(seconds(due).Add(s.opts.Grace))
	case to.Status != billing.SubscriptionEnded && to.EndsAt != nil && !to.CancelAtEnd:
		to.GraceUntil = new(to.EndsAt.Add(s.opts.Grace))
	}
	return to
}

func seconds(n int64) time.Time { return time.Unix(n, 0).UTC() }
