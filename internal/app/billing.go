package app

import (
	"context"
	"log/slog"
	"time"

	"carrel/internal/billing"
	"carrel/internal/billing/stripe"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/outbound"
)

// subscriptionPage is the page to which the payment provider returns the user.
const subscriptionPage = "/settings/subscription"

// newPayments returns the service that sells plans through Stripe, or nil if the settings name no Stripe account.
func (in *App) newPayments(cfg config.Config, log *slog.Logger) *stripe.Service {
	if !cfg.Stripe.On() {
		return nil
	}
	// The operator sets the address, so it may be private.
	web := in.newClient(outbound.Options{Private: true, Timeout: 10 * time.Second})
	return stripe.NewService(stripe.Deps{
		Store: in.Store, Client: web, Clock: in.Clock, Audit: in.Audit, Log: log,
		Options: stripe.Options{
			Key: cfg.Stripe.SecretKey, URL: cfg.Stripe.URL, WebhookSecrets: cfg.Stripe.WebhookSecrets,
			Grace: time.Duration(cfg.Stripe.GraceDays) * 24 * time.Hour, TrialDays: cfg.Stripe.TrialDays,
			ReturnURL: cfg.BaseURL + subscriptionPage,
		},
	})
}

// declarePlans stores the plans of the settings.
func (in *App) declarePlans(ctx context.Context) error {
	plans := make([]billing.Plan, len(in.Config.Plans))
	for i, p := range in.Config.Plans {
		plans[i] = billing.Plan{
			Name: p.Name, Capabilities: Capabilities(p.Capabilities), Models: p.Models, SpendCap: p.SpendCap, TurnCap: p.TurnCap,
			RateLimit: p.RateLimit, RateBurst: p.RateBurst, StorageLimit: p.StorageLimit,
			Price: p.Price, StripePrice: p.StripePrice,
		}
	}
	return in.Billing.Plans.Declare(ctx, core.Operator(""), plans)
}

// Capabilities converts the words of a plan's setting; "all" stands for every capability.
func Capabilities(words []string) []core.Capability {
	var out []core.Capability
	for _, word := range words {
		if word == "all" {
			out = append(out, core.AllCapabilities()...)
		} else {
			out = append(out, core.Capability(word))
		}
	}
	return out
}
