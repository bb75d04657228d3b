package httpapi

import (
	"context"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// Billing sells plans.
type Billing interface {
	Offer(ctx context.Context, actor core.Actor) (billing.Offer, error)
	// Checkout returns the address of a page where the plan can be bought, and Portal that of one with what was.
	Checkout(ctx context.Context, actor core.Actor, plan string) (string, error)
	Portal(ctx context.Context, actor core.Actor) (string, error)
}

// StartCheckout answers POST /api/account/subscription/checkout.
func (h handlers) StartCheckout(ctx context.Context, req *oas.CheckoutStart) (*oas.BillingPage, error) {
	if h.Billing == nil {
		return nil, core.NotFound("path")
	}
	return billingPage(h.Billing.Checkout(ctx, actor(ctx), req.Plan))
}

// OpenPortal answers POST /api/account/subscription/portal.
func (h handlers) OpenPortal(ctx context.Context) (*oas.BillingPage, error) {
	if h.Billing == nil {
		return nil, core.NotFound("path")
	}
	return billingPage(h.Billing.Portal(ctx, actor(ctx)))
}

func billingPage(address string, err error) (*oas.BillingPage, error) {
	if err != nil {
		return nil, err
	}
	return &oas.BillingPage{URL: address}, nil
}

// offer tells what the actor can buy, where anything can be bought.
func (h handlers) offer(ctx context.Context) (oas.OptBilling, error) {
	if h.Billing == nil {
		return oas.OptBilling{}, nil
	}
	o, err := h.Billing.Offer(ctx, actor(ctx))
	if err != nil {
		return oas.OptBilling{}, err
	}
	out := oas.Billing{Checkout: o.Checkout, Portal: o.Portal, Plans: make([]oas.Plan, len(o.Plans))}
	for i, p := range o.Plans {
		out.Plans[i] = planOf(p)
	}
	return oas.NewOptBilling(out), nil
}
