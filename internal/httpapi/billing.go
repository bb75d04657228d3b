package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"

	"carrel/internal/billing/stripe"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// Payments sells plans.
type Payments interface {
	Offer(ctx context.Context, actor core.Actor) (stripe.Offer, error)
	// Checkout returns the URL of a page to buy the plan, Portal the URL of a page to manage purchases.
	Checkout(ctx context.Context, actor core.Actor, plan string) (string, error)
	Portal(ctx context.Context, actor core.Actor) (string, error)
	// Take processes a message of the payment provider. The payload must be unchanged, because the signature covers it.
	Take(ctx context.Context, payload []byte, signature string) error
}

// StartCheckout answers POST /api/account/subscription/checkout.
func (h handlers) StartCheckout(ctx context.Context, req *oas.CheckoutStart) (*oas.BillingPage, error) {
	if h.Payments == nil {
		return nil, core.NotFound("path")
	}
	return billingPage(h.Payments.Checkout(ctx, actor(ctx), req.Plan))
}

// OpenPortal answers POST /api/account/subscription/portal.
func (h handlers) OpenPortal(ctx context.Context) (*oas.BillingPage, error) {
	if h.Payments == nil {
		return nil, core.NotFound("path")
	}
	return billingPage(h.Payments.Portal(ctx, actor(ctx)))
}

func billingPage(address string, err error) (*oas.BillingPage, error) {
	if err != nil {
		return nil, err
	}
	return &oas.BillingPage{URL: address}, nil
}

// offer returns the plans that the actor can buy, if a payment provider is configured.
func (h handlers) offer(ctx context.Context) (oas.OptBilling, error) {
	if h.Payments == nil {
		return oas.OptBilling{}, nil
	}
	o, err := h.Payments.Offer(ctx, actor(ctx))
	if err != nil {
		return oas.OptBilling{}, err
	}
	out := oas.Billing{Checkout: o.Checkout, Portal: o.Portal, Plans: make([]oas.Plan, len(o.Plans))}
	for i, p := range o.Plans {
		out.Plans[i] = planOf(p)
	}
	return oas.NewOptBilling(out), nil
}

// takeStripeEvent answers POST /api/billing/stripe. It is a plain handler because the signature that authorizes the
// message covers the exact bytes of the body.
func (a *API) takeStripeEvent(w http.ResponseWriter, r *http.Request) {
	if err := a.stripeEvent(w, r); err != nil {
		a.problems.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, `{"received":true}`) // the provider retries if it does not receive this
}

func (a *API) stripeEvent(w http.ResponseWriter, r *http.Request) error {
	if a.Payments == nil {
		return core.NotFound("path")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return closeConnection(w, tooLarge(maxBody))
	case err != nil:
		return malformed("The body is incomplete.")
	}
	return a.Payments.Take(r.Context(), body, r.Header.Get("Stripe-Signature"))
}
