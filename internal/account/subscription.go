package account

import (
	"context"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// SubscriptionStatus is how a subscription stands.
type SubscriptionStatus string

// The states. One that is past due is served until its grace is over; one that has ended is not, whatever its times say.
const (
	SubscriptionTrial   SubscriptionStatus = "trial"
	SubscriptionActive  SubscriptionStatus = "active"
	SubscriptionPastDue SubscriptionStatus = "past_due"
	SubscriptionEnded   SubscriptionStatus = "ended"
)

// The keepers of subscriptions.
const (
	SubscriptionByAdmin  = "admin"
	SubscriptionByStripe = "stripe"
)

// Subscription is a plan that an account has for a time.
type Subscription struct {
	UserID   string
	Plan     string
	Status   SubscriptionStatus
	StartsAt time.Time
	// EndsAt is the end of the period, or nil for one that goes on.
	EndsAt *time.Time
	// CancelAtEnd says that it will not be renewed.
	CancelAtEnd bool
	// GraceUntil is how long it is served after its end, or after a payment that failed.
	GraceUntil *time.Time
	// Source is who keeps it, ExternalID what it is called there, and EventAt when it was last read there.
	Source, ExternalID string
	EventAt            time.Time
	UpdatedAt          time.Time
}

// Live reports whether the account has the plan now. An end that nobody renewed is an end, but for the grace: the word
// of a payment provider may come late.
func (s Subscription) Live(now time.Time) bool {
	graceful := s.GraceUntil != nil && now.Before(*s.GraceUntil)
	switch {
	case s.Status == SubscriptionEnded || now.Before(s.StartsAt):
		return false
	case s.Status == SubscriptionPastDue:
		return graceful
	case s.EndsAt == nil || now.Before(*s.EndsAt):
		return true
	}
	return graceful && !s.CancelAtEnd
}

// over reports whether it is no longer there to count: one that was bought and has ended leaves the account with the plan
// that it has for good, as before. One that an admin gave for a time ends in nothing, which is why it was for a time.
func (s Subscription) over() bool {
	return s.Source == SubscriptionByStripe && s.Status == SubscriptionEnded
}

// SubscriptionStore keeps subscriptions, at most one of a user.
type SubscriptionStore interface {
	Subscription(ctx context.Context, userID string) (Subscription, error)
	// PutSubscription is a conflict while one runs that Stripe keeps.
	PutSubscription(ctx context.Context, s Subscription) error
	// Entitlement returns a user's plan and subscription, as far as there are any.
	Entitlement(ctx context.Context, userID string) (Entitlement, error)
}

// Entitlement is what an account has: a plan for good, or by a subscription.
type Entitlement struct {
	// Plan is nil where the account has none.
	Plan *Plan
	// Subscription is nil where the account has none. The plan is its own, unless it was bought and has ended.
	Subscription *Subscription
}

// Now returns the plan that the account has at this time, or nil.
func (e Entitlement) Now(now time.Time) *Plan {
	if e.Subscription != nil && !e.Subscription.over() && !e.Subscription.Live(now) {
		return nil
	}
	return e.Plan
}

// Entitle gives an actor what their account has at this time: plan, capabilities, models, rate, and what is used of
// the cap of the user or else of the plan.
func (e Entitlement) Entitle(a *core.Actor, own *int64, used int64, now time.Time) {
	a.Plan, a.Lacks, a.Models, a.Spend, a.Rate = core.PlanNone, 0, nil, core.Spend{}, core.Rate{}
	limit := own
	if p := e.Now(now); p != nil {
		a.Plan, a.Lacks, a.Models, a.Rate = p.Name, core.Without(p.Capabilities...), p.Models, p.rate()
		if limit == nil {
			limit = p.SpendCap
		}
	}
	if limit != nil {
		a.Spend = core.Spend{Capped: true, Cap: *limit, Used: used, ResetsAt: core.MonthEnd(now)}
	}
}

// Own returns what the actor's account has.
func (p *Plans) Own(ctx context.Context, actor core.Actor) (Entitlement, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return Entitlement{}, err
	}
	return p.store.Entitlement(ctx, actor.UserID)
}

// Of returns what an account has.
func (p *Plans) Of(ctx context.Context, actor core.Actor, userID string) (Entitlement, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return Entitlement{}, err
	}
	return p.store.Entitlement(ctx, userID)
}

// NewSubscription is what an admin gives an account.
type NewSubscription struct {
	Plan string
	// StartsAt is now unless it is set.
	StartsAt *time.Time
	// EndsAt is when it ends; nil means that it goes on. Grace is how long it is served after that.
	EndsAt *time.Time
	Grace  time.Duration
	Trial  bool
	// CancelAtEnd says that nobody is to wait for a renewal.
	CancelAtEnd bool
}

// Subscribe gives an account a plan for a time, in place of what it had.
func (p *Plans) Subscribe(ctx context.Context, actor core.Actor, userID string, n NewSubscription) (Subscription, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return Subscription{}, err
	}
	now := p.clock.Now()
	s := Subscription{
		UserID: userID, Plan: n.Plan, Status: SubscriptionActive, StartsAt: now, EndsAt: n.EndsAt, CancelAtEnd: n.CancelAtEnd,
		Source: SubscriptionByAdmin, EventAt: now, UpdatedAt: now,
	}
	if n.StartsAt != nil {
		s.StartsAt = *n.StartsAt
	}
	if n.Trial {
		s.Status = SubscriptionTrial
	}
	if s.EndsAt != nil && !s.EndsAt.After(s.StartsAt) {
		return Subscription{}, core.InvalidField("/endsAt", "Must lie after the start.")
	}
	if n.Grace < 0 || n.Grace > 0 && n.EndsAt == nil {
		return Subscription{}, core.InvalidField("/graceDays", "Must not be negative, and needs an end.")
	}
	if n.Grace > 0 {
		until := n.EndsAt.Add(n.Grace)
		s.GraceUntil = &until
	}
	if _, err := p.store.Plan(ctx, n.Plan); core.IsKind(err, core.KindNotFound) {
		return Subscription{}, NoSuchPlan()
	} else if err != nil {
		return Subscription{}, err
	}
	if err := p.store.PutSubscription(ctx, s); err != nil {
		return Subscription{}, err
	}
	p.note(ctx, actor, audit.SubscriptionChanged, userID, n.Plan)
	return s, nil
}

// Cancel ends an account's subscription: at the end of its period, or now.
func (p *Plans) Cancel(ctx context.Context, actor core.Actor, userID string, atOnce bool) (Subscription, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return Subscription{}, err
	}
	s, err := p.store.Subscription(ctx, userID)
	if err != nil {
		return Subscription{}, err
	}
	if s.Source == SubscriptionByStripe {
		return Subscription{}, KeptByStripe()
	}
	s.CancelAtEnd, s.UpdatedAt = true, p.clock.Now()
	if atOnce || s.EndsAt == nil {
		s.Status = SubscriptionEnded
	}
	if err := p.store.PutSubscription(ctx, s); err != nil {
		return Subscription{}, err
	}
	p.note(ctx, actor, audit.SubscriptionChanged, userID, "cancelled")
	return s, nil
}

// KeptByStripe is what whoever would change a subscription is told that is not ours to change.
func KeptByStripe() error {
	return core.Conflict("conflict", "Stripe keeps the subscription of this account. Cancel or change it there.")
}
