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

// subscriptionPage is the page of the web app that the payment provider leads back to.
const subscriptionPage = "/settings/subscription"

// newPayments returns the service that sells plans through Stripe, or nil if the settings name no Stripe account.
func (in *installation) newPayments(cfg config.Config, log *slog.Logger) *stripe.Service {
	if !cfg.Stripe.On() {
		return nil
	}
	// The address is the operator's, who may name one on this machine.
	web := outbound.NewClient(outbound.Options{Private: true, Timeout: 10 * time.Second})
	return stripe.NewService(stripe.Deps{
		Store: in.store, Client: web, Clock: in.clock, Audit: in.audit, Log: log,
		Options: stripe.Options{
			Key: cfg.Stripe.SecretKey, URL: cfg.Stripe.URL, WebhookSecrets: cfg.Stripe.WebhookSecrets,
			Grace: time.Duration(cfg.Stripe.GraceDays) * 24 * time.Hour, TrialDays: cfg.Stripe.TrialDays,
			ReturnURL: cfg.BaseURL + subscriptionPage,
		},
	})
}

// declarePlans takes over the plans of the settings.
func (in *installation) declarePlans(ctx context.Context) error {
	plans := make([]billing.Plan, len(in.config.Plans))
	for i, p := range in.config.Plans {
		plans[i] = billing.Plan{
			Name: p.Name, Capabilities: capabilities(p.Capabilities), Models: p.Models, SpendCap: p.SpendCap, TurnCap: p.TurnCap,
			RateLimit: p.RateLimit, RateBurst: p.RateBurst, StorageLimit: p.StorageLimit, Price: p.Price, StripePrice: p.StripePrice,
		}
	}
	return in.billing.Plans.Declare(ctx, core.Operator(""), plans)
}

// capabilities reads the words of a plan; all is every one.
func capabilities(words []string) []core.Capability {
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
