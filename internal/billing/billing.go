// Package billing decides what accounts may use and records what they spend: plans and subscriptions, the spend ledger
// with its caps, and usage reports. Package billing/stripe sells plans.
package billing

import (
	"carrel/internal/audit"
	"carrel/internal/core"
)

// Store persists plans, subscriptions and the spend ledger.
type Store interface {
	PlanStore
	SubscriptionStore
	CredentialStore
	SpendStore
	UsageStore
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store Store
	Clock core.Clock
	Audit audit.Recorder
	// DefaultPlan is the plan of new accounts. It may be core.PlanNone.
	DefaultPlan string
	// PriceVersion returns a string that identifies the price of a model, for the rows of the ledger. Rows have none
	// without it.
	PriceVersion func(model string) string `dep:"optional"`
}

// Service groups the parts of billing, which share one store.
type Service struct {
	Plans    *Plans
	Spending *Spending
	Usage    *UsageReports
}

// NewService returns a Service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	if d.PriceVersion == nil {
		d.PriceVersion = func(string) string { return "" }
	}
	spending := &Spending{store: d.Store, clock: d.Clock, priceVersion: d.PriceVersion}
	return &Service{
		Plans:    &Plans{store: d.Store, clock: d.Clock, audit: d.Audit, defaultPlan: d.DefaultPlan},
		Spending: spending,
		Usage:    &UsageReports{store: d.Store, spending: spending, clock: d.Clock},
	}
}
