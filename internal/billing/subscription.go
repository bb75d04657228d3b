package billing

import (
	"context"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// SubscriptionStatus is the state of a subscription.
type SubscriptionStatus string

// The states. A past due subscription includes its plan until the grace period ends; an ended one never does,
// regardless of its dates.
const (
	SubscriptionTrial   SubscriptionStatus = "trial"
	SubscriptionActive  SubscriptionStatus = "active"
	SubscriptionPastDue SubscriptionStatus = "past_due"
	SubscriptionEnded   SubscriptionStatus = "ended"
)

// The values of Subscription.Source.
const (
	SubscriptionByAdmin  = "admin"
	SubscriptionByStripe = "stripe"
)

// Subscription is a plan that an account has for a limited time.
type Subscription struct {
	UserID   string
	Plan     string
	Status   SubscriptionStatus
	StartsAt time.Time
	// EndsAt is the end of the paid period; nil for a subscription without an end.
	EndsAt *time.Time
	// CancelAtEnd is true if the subscription will not be renewed.
	CancelAtEnd bool
	// GraceUntil is the end of the grace period after EndsAt or after a failed payment.
	GraceUntil *time.Time
	// Source is the system that manages the subscription, ExternalID its id there, EventAt when it was last read.
	Source, ExternalID string
	EventAt            time.Time
	UpdatedAt          time.Time
}

// Live reports whether the subscription includes its plan at this time. A renewable subscription stays live through the
// grace period, because the payment provider may report a renewal late.
func (s Subscription) Live(now time.Time) bool {
	inGrace := s.GraceUntil != nil && now.Before(*s.GraceUntil)
	switch {
	case s.Status == SubscriptionEnded || now.Before(s.StartsAt):
		return false
	case s.Status == SubscriptionPastDue:
		return inGrace
	case s.EndsAt == nil || now.Before(*s.EndsAt):
		return true
	}
	return inGrace && !s.CancelAtEnd
}

// ignored reports whether the account falls back to its assigned plan: after the end of a subscription bought at
// Stripe. The end of a subscription given by an administrator leaves the account without a plan instead.
func (s Subscription) ignored() bool {
	return s.Source == SubscriptionByStripe && s.Status == SubscriptionEnded
}

// SubscriptionStore persists subscriptions. A user has at most one.
type SubscriptionStore interface {
	Subscription(ctx context.Context, userID string) (Subscription, error)
	// PutSubscription replaces the subscription of a user. It is a conflict while one managed by Stripe is running.
	PutSubscription(ctx context.Context, s Subscription) error
	// Entitlement returns the plan and the subscription of a user.
	Entitlement(ctx context.Context, userID string) (Entitlement, error)
}

// Entitlement is the plan of an account, assigned or by subscription.
type Entitlement struct {
	// Plan is nil if the account has none. It is the plan of the subscription unless a bought subscription has ended.
	Plan *Plan
	// Subscription is nil if the account has none.
	Subscription *Subscription
}

// Now returns the plan in effect, or nil.
func (e Entitlement) Now(now time.Time) *Plan {
	if e.Subscription != nil && !e.Subscription.ignored() && !e.Subscription.Live(now) {
		return nil
	}
	return e.Plan
}

// Entitle sets the plan, capabilities, models, rate limit and spend of an actor. userCap, the cap of the user, takes
// precedence over the plan's cap; used is the spend of the month.
func (e Entitlement) Entitle(a *core.Actor, userCap *int64, used int64, now time.Time) {
	a.Plan, a.Lacks, a.Models, a.Spend, a.Rate = core.PlanNone, 0, nil, core.Spend{}, core.Rate{}
	limit := userCap
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

// Own returns the entitlement of the actor's account.
func (p *Plans) Own(ctx context.Context, actor core.Actor) (Entitlement, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return Entitlement{}, err
	}
	return p.store.Entitlement(ctx, actor.UserID)
}

// Of returns the entitlement of an account to an administrator.
func (p *Plans) Of(ctx context.Context, actor core.Actor, userID string) (Entitlement, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return Entitlement{}, err
	}
	return p.store.Entitlement(ctx, userID)
}

// NewSubscription is a subscription given by an administrator.
type NewSubscription struct {
	Plan string
	// StartsAt defaults to now.
	StartsAt *time.Time
	// EndsAt is nil for a subscription without an end. Grace is the length of the grace period after it.
	EndsAt *time.Time
	Grace  time.Duration
	Trial  bool
	// CancelAtEnd skips the grace period, because no renewal is expected.
	CancelAtEnd bool
}

// Subscribe gives an account a subscription and replaces the current one.
func (p *Plans) Subscribe(
	ctx context.Context, actor core.Actor, userID string, n NewSubscription,
) (Subscription, error) {
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
		return Subscription{}, core.InvalidField("/endsAt", "Must be after the start.")
	}
	if n.Grace < 0 || n.Grace > 0 && n.EndsAt == nil {
		return Subscription{}, core.InvalidField("/graceDays", "Must not be negative, and requires an end date.")
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
	p.record(ctx, actor, audit.SubscriptionChanged, userID, n.Plan)
	return s, nil
}

// Cancel ends a subscription at the end of its period, or immediately.
func (p *Plans) Cancel(ctx context.Context, actor core.Actor, userID string, immediately bool) (Subscription, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return Subscription{}, err
	}
	s, err := p.store.Subscription(ctx, userID)
	if err != nil {
		return Subscription{}, err
	}
	if s.Source == SubscriptionByStripe {
		return Subscription{}, ManagedByStripe()
	}
	s.CancelAtEnd, s.UpdatedAt = true, p.clock.Now()
	if immediately || s.EndsAt == nil {
		s.Status = SubscriptionEnded
	}
	if err := p.store.PutSubscription(ctx, s); err != nil {
		return Subscription{}, err
	}
	p.record(ctx, actor, audit.SubscriptionChanged, userID, "cancelled")
	return s, nil
}

// ManagedByStripe returns the error for changing a subscription that was bought at Stripe.
func ManagedByStripe() error {
	return core.Conflict("conflict", "Stripe manages the subscription of this account. Cancel or change it there.")
}
