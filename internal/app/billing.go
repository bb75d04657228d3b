package app

import (
	"context"
	"log/slog"
	"time"

	"carrel/internal/account"
	"carrel/internal/billing"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/outbound"
)

// subscriptionPage is the page to which the payment provider returns the user.
const subscriptionPage = "/settings/subscription"

// newBilling returns the billing service, or nil if no Stripe account is configured.
func (in *App) newBilling(cfg config.Config, log *slog.Logger) *billing.Service {
	if !cfg.Stripe.On() {
		return nil
	}
	// The operator sets the address, so it may be private.
	web := outbound.NewClient(outbound.Options{Private: true, Timeout: 10 * time.Second})
	return billing.NewService(in.Store, web, in.Clock, in.Audit, log, billing.Options{
		Key: cfg.Stripe.SecretKey, URL: cfg.Stripe.URL, WebhookSecrets: cfg.Stripe.WebhookSecrets,
		Grace: time.Duration(cfg.Stripe.GraceDays) * 24 * time.Hour, TrialDays: cfg.Stripe.TrialDays, ReturnURL: cfg.BaseURL + subscriptionPage,
	})
}

// declarePlans stores the plans of the settings.
func (in *App) declarePlans(ctx context.Context) error {
	plans := make([]account.Plan, len(in.Config.Plans))
	for i, p := range in.Config.Plans {
		plans[i] = account.Plan{
			Name: p.Name, Capabilities: Capabilities(p.Capabilities), Models: p.Models, SpendCap: p.SpendCap, TurnCap: p.TurnCap,
			RateLimit: p.RateLimit, RateBurst: p.RateBurst, StorageLimit: p.StorageLimit, Price: p.Price, StripePrice: p.StripePrice,
		}
	}
	return in.Plans.Declare(ctx, core.Operator(""), plans)
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
