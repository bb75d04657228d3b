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
	// Checkout returns the address of a page where the plan can be bought, and Portal that of one with what was.
	Checkout(ctx context.Context, actor core.Actor, plan string) (string, error)
	Portal(ctx context.Context, actor core.Actor) (string, error)
	// Take takes a message of the payment provider, as it came, with its signature.
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

// offer tells what the actor can buy, where anything can be bought.
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

// stripePath is where the payment provider sends its messages. They are authorized by their signature, which is over the
// very bytes that were sent: this is why it is a plain handler.
const stripePath = "/api/billing/stripe"

// takeStripeEvent answers POST /api/billing/stripe.
func (a *API) takeStripeEvent(w http.ResponseWriter, r *http.Request) {
	a.hooks.Route(r.Context(), stripePath)
	if err := a.stripeEvent(w, r); err != nil {
		a.problems.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, `{"received":true}`) // whoever is gone sends it again
}

func (a *API) stripeEvent(w http.ResponseWriter, r *http.Request) error {
	if a.Payments == nil {
		return core.NotFound("path")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return hangUp(w, tooLarge())
	case err != nil:
		return malformed("The body did not arrive whole.")
	}
	return a.Payments.Take(r.Context(), body, r.Header.Get("Stripe-Signature"))
}
