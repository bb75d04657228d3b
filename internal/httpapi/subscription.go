package httpapi

import (
	"context"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// GetSubscription answers GET /api/account/subscription.
func (h handlers) GetSubscription(ctx context.Context) (*oas.SubscriptionReply, error) {
	who := actor(ctx)
	e, err := h.Billing.Plans.Own(ctx, who)
	if err != nil {
		return nil, err
	}
	spend, err := h.Billing.Spending.Spend(ctx, who.UserID)
	if err != nil {
		return nil, err
	}
	offer, err := h.offer(ctx)
	if err != nil {
		return nil, err
	}
	storage, err := h.Billing.Plans.Storage(ctx, who)
	if err != nil {
		return nil, err
	}
	plan, subscription := h.entitlementOf(e)
	return &oas.SubscriptionReply{
		Plan: plan, Subscription: subscription, Spend: spendOf(spend), Storage: storageOf(storage), Billing: offer,
	}, nil
}

// storageOf converts the used and available storage.
func storageOf(s core.Storage) oas.Storage {
	out := oas.Storage{UsedBytes: s.Used}
	if s.Limited {
		out.LimitBytes, out.LeftBytes = oas.NewOptInt64(s.Limit), oas.NewOptInt64(s.Left())
	}
	return out
}

// ListCredentialCaps answers GET /api/account/spend-caps.
func (h handlers) ListCredentialCaps(ctx context.Context) (*oas.CapList, error) {
	caps, err := h.Billing.Plans.Caps(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.CapList{Caps: make([]oas.CredentialCap, len(caps))}
	for i, c := range caps {
		out.Caps[i] = oas.CredentialCap{
			CredentialId: c.CredentialID, CapMicros: c.Cap, UsedMicros: c.Used, LeftMicros: max(0, c.Cap-c.Used),
		}
	}
	return out, nil
}

// SetCredentialCap answers PUT /api/account/spend-caps/{credentialId}.
func (h handlers) SetCredentialCap(
	ctx context.Context, req *oas.CapChange, p oas.SetCredentialCapParams,
) (*oas.Changed, error) {
	var limit *int64
	if !req.CapMicros.Null {
		limit = &req.CapMicros.Value
	}
	if err := h.Billing.Plans.CapCredential(ctx, actor(ctx), p.CredentialId, limit); err != nil {
		return nil, err
	}
	return &oas.Changed{Changed: true}, nil
}

// PutSubscription answers PUT /api/admin/users/{userId}/subscription.
func (h handlers) PutSubscription(
	ctx context.Context, req *oas.SubscriptionChange, p oas.PutSubscriptionParams,
) (*oas.UserReply, error) {
	n := billing.NewSubscription{
		Plan: req.Plan, Grace: time.Duration(req.GraceDays.Value) * 24 * time.Hour, Trial: req.Trial.Value,
		CancelAtEnd: req.CancelAtEnd.Value,
	}
	var err error
	if n.StartsAt, err = timeOf("/startsAt", req.StartsAt); err != nil {
		return nil, err
	}
	if n.EndsAt, err = timeOf("/endsAt", req.EndsAt); err != nil {
		return nil, err
	}
	if _, err := h.Billing.Plans.Subscribe(ctx, actor(ctx), p.UserId, n); err != nil {
		return nil, err
	}
	return h.userReply(ctx, p.UserId)
}

// CancelSubscription answers DELETE /api/admin/users/{userId}/subscription.
func (h handlers) CancelSubscription(ctx context.Context, p oas.CancelSubscriptionParams) (*oas.UserReply, error) {
	if _, err := h.Billing.Plans.Cancel(ctx, actor(ctx), p.UserId, p.Now.Value); err != nil {
		return nil, err
	}
	return h.userReply(ctx, p.UserId)
}

// timeOf parses an optional time.
func timeOf(pointer string, s oas.OptString) (*time.Time, error) {
	if !s.Set {
		return nil, nil //nolint:nilnil // an absent time is not an error
	}
	t, err := time.Parse(time.RFC3339, s.Value)
	if err != nil {
		return nil, core.InvalidField(pointer, "Must be a time such as 2026-11-15T10:00:00Z (RFC 3339).")
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t, nil
}

// entitlementOf converts the current plan and subscription of an account.
func (h handlers) entitlementOf(e billing.Entitlement) (plan oas.OptPlan, subscription oas.OptSubscription) {
	now := h.Clock.Now()
	if p := e.Now(now); p != nil {
		plan = oas.NewOptPlan(planOf(*p))
	}
	if s := e.Subscription; s != nil {
		subscription = oas.NewOptSubscription(oas.Subscription{
			Plan: s.Plan, Status: oas.SubscriptionStatus(s.Status), StartsAt: timestamp(s.StartsAt),
			EndsAt:     optionalTime(s.EndsAt),
			GraceUntil: optionalTime(s.GraceUntil), CancelAtEnd: s.CancelAtEnd, Live: s.Live(now),
			Source: oas.SubscriptionSource(s.Source),
		})
	}
	return plan, subscription
}

func planOf(p billing.Plan) oas.Plan {
	out := oas.Plan{
		Name: p.Name, Capabilities: make([]oas.PlanCapability, len(p.Capabilities)),
		Models: append([]string{}, p.Models...), PriceMicros: p.Price,
		SpendCapMicros: optionalNumber(p.SpendCap), TurnCapMicros: optionalNumber(p.TurnCap),
		RateLimit: optionalNumber(p.RateLimit),
		RateBurst: optionalNumber(p.RateBurst), StorageLimitBytes: optionalNumber(p.StorageLimit), Declared: p.Declared,
	}
	for i, c := range p.Capabilities {
		out.Capabilities[i] = oas.PlanCapability(c)
	}
	return out
}

// adminPlanOf is planOf with the fields for administrators.
func adminPlanOf(p billing.Plan) oas.Plan {
	out := planOf(p)
	if p.StripePrice != "" {
		out.StripePrice = oas.NewOptString(p.StripePrice)
	}
	return out
}

func optionalNumber(n *int64) oas.OptInt64 {
	if n == nil {
		return oas.OptInt64{}
	}
	return oas.NewOptInt64(*n)
}

func numberOf(n oas.OptInt64) *int64 {
	if !n.Set {
		return nil
	}
	return &n.Value
}
