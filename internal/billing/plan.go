package billing

import (
	"context"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Plan defines capabilities and limits of accounts. Amounts are in micro-dollars; a nil limit is no limit.
type Plan struct {
	Name string
	// Capabilities are the included features. Requests for any other feature are refused, and interfaces hide it.
	Capabilities []core.Capability
	// Models are the allowed models; empty allows all models of the installation.
	Models []string
	// SpendCap limits the spend of a month unless the user has a cap of their own. TurnCap limits one turn.
	SpendCap, TurnCap *int64
	// RateLimit is requests per second over all credentials of a user; RateBurst is the burst size.
	RateLimit, RateBurst *int64
	// StorageLimit is the maximum size of a user's documents in bytes.
	StorageLimit *int64
	// Price is the displayed monthly price. StripePrice is a comma-separated list of Stripe price ids, or empty: the first
	// is sold, subscriptions to any of them include the plan.
	Price       int64
	StripePrice string
	// Declared plans come from the settings and cannot be changed through the API.
	Declared  bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// PlanStore persists plans and their assignment to users. A missing plan or user is a not_found error.
type PlanStore interface {
	Plans(ctx context.Context) ([]Plan, error)
	Plan(ctx context.Context, name string) (Plan, error)
	// PutPlan inserts or replaces the plan with this name. CreatedAt of an existing plan is kept.
	PutPlan(ctx context.Context, p Plan) error
	// DeclarePlans stores the plans as declared, and clears Declared of all others.
	DeclarePlans(ctx context.Context, plans []Plan) error
	// DeletePlan is a conflict while a user has the plan.
	DeletePlan(ctx context.Context, name string) error
	// SetPlan assigns a plan without an end and deletes the user's subscription. It is a conflict while a subscription
	// managed by Stripe is running.
	SetPlan(ctx context.Context, userID, plan string) error
	// StorageOf returns the storage used by a user, running uploads included.
	StorageOf(ctx context.Context, userID string) (core.Storage, error)
}

// CredentialStore persists the spend caps of credentials.
type CredentialStore interface {
	// OwnCredential returns nil for an API key or OAuth grant of the user, else not_found.
	OwnCredential(ctx context.Context, userID, credentialID string) error
	// SetCredentialCap sets the monthly spend cap of a credential; nil removes it.
	SetCredentialCap(ctx context.Context, userID, credentialID string, micros *int64) error
	// CredentialCaps returns the caps of a user's credentials with the amounts spent and reserved in a month.
	CredentialCaps(ctx context.Context, userID, month string) ([]CredentialCap, error)
}

// plansStore is the part of Store that Plans uses.
type plansStore interface {
	PlanStore
	SubscriptionStore
	CredentialStore
}

// Plans manages plans, and the plans and subscriptions of accounts.
type Plans struct {
	store       plansStore
	clock       core.Clock
	audit       audit.Recorder
	defaultPlan string
}

// List returns all plans by name.
func (p *Plans) List(ctx context.Context, actor core.Actor) ([]Plan, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, err
	}
	return p.store.Plans(ctx)
}

// Get returns one plan.
func (p *Plans) Get(ctx context.Context, actor core.Actor, name string) (Plan, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return Plan{}, err
	}
	return p.store.Plan(ctx, name)
}

// Put creates or replaces a plan. A change applies to all accounts with the plan from their next request on.
func (p *Plans) Put(ctx context.Context, actor core.Actor, plan Plan) (Plan, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return Plan{}, err
	}
	plan, err := plan.normalize(p.clock.Now())
	if err != nil {
		return Plan{}, err
	}
	all, err := p.store.Plans(ctx)
	if err != nil {
		return Plan{}, err
	}
	for _, other := range all {
		switch {
		case other.Name == plan.Name && other.Declared:
			return Plan{}, errDeclared()
		case other.Name != plan.Name && other.sharesPrice(plan):
			return Plan{}, core.InvalidField("/stripePrice",
				"Another plan uses this price. A price can belong to one plan only.")
		}
	}
	if err := p.store.PutPlan(ctx, plan); err != nil {
		return Plan{}, err
	}
	p.record(ctx, actor, audit.PlanChanged, "", plan.Name)
	return p.store.Plan(ctx, plan.Name)
}

// Delete deletes an unused plan.
func (p *Plans) Delete(ctx context.Context, actor core.Actor, name string) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	if name == core.PlanOpen || name == p.defaultPlan {
		return core.Conflict("conflict", "The open plan and the default plan cannot be deleted. Change their limits instead.")
	}
	if plan, err := p.store.Plan(ctx, name); err != nil {
		return err
	} else if plan.Declared {
		return errDeclared()
	}
	if err := p.store.DeletePlan(ctx, name); err != nil {
		return err
	}
	p.record(ctx, actor, audit.PlanDeleted, "", name)
	return nil
}

// Assign gives a user a plan without an end, or core.PlanNone, and removes their subscription.
func (p *Plans) Assign(ctx context.Context, actor core.Actor, userID, plan string) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	if plan != core.PlanNone {
		if _, err := p.store.Plan(ctx, plan); core.IsKind(err, core.KindNotFound) {
			return NoSuchPlan()
		} else if err != nil {
			return err
		}
	}
	if err := p.store.SetPlan(ctx, userID, plan); err != nil {
		return err
	}
	p.record(ctx, actor, audit.PlanAssigned, userID, plan)
	return nil
}

// CredentialCap is the monthly spend cap of a credential and the amount used of it, in micro-dollars.
type CredentialCap struct {
	CredentialID string
	Cap, Used    int64
}

// Caps returns the caps of the actor's credentials. Credentials without a cap are omitted.
func (p *Plans) Caps(ctx context.Context, actor core.Actor) ([]CredentialCap, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return nil, err
	}
	return p.store.CredentialCaps(ctx, actor.UserID, core.Month(p.clock.Now()))
}

// Storage returns the document storage used by the actor's account and its limit.
func (p *Plans) Storage(ctx context.Context, actor core.Actor) (core.Storage, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return core.Storage{}, err
	}
	return p.store.StorageOf(ctx, actor.UserID)
}

// CapCredential sets the monthly spend cap of one of the actor's credentials; nil removes it. A credential with a cap
// cannot change caps, because it could remove its own.
func (p *Plans) CapCredential(ctx context.Context, actor core.Actor, credentialID string, micros *int64) error {
	if err := actor.Allow(core.OpBilling); err != nil {
		return err
	}
	if actor.CredentialSpend.Capped {
		return core.Forbidden("forbidden", "A credential with a spend cap cannot change spend caps. Use a session.")
	}
	if micros != nil && *micros < 0 {
		return core.InvalidField("/cap", "Must not be negative.")
	}
	if err := p.store.OwnCredential(ctx, actor.UserID, credentialID); err != nil {
		return err
	}
	if err := p.store.SetCredentialCap(ctx, actor.UserID, credentialID, micros); err != nil {
		return err
	}
	p.record(ctx, actor, audit.CapChanged, actor.UserID, credentialID)
	return nil
}

// record appends an audit entry. subject is the plan or credential the event is about.
func (p *Plans) record(ctx context.Context, actor core.Actor, event audit.Event, userID, subject string) {
	p.audit.Note(ctx, audit.Record{
		Event: event, UserID: userID, Actor: audit.ActorID(actor), Detail: map[string]string{"of": subject},
	})
}

func errDeclared() error {
	return core.Conflict("conflict", "This plan is declared in the settings. Change it there and restart the server.")
}

// NoSuchPlan returns the error for a plan name that does not exist.
func NoSuchPlan() error {
	return core.InvalidField("/plan",
		"There is no such plan. List plans with: carrel admin plan list. Use none for no plan.")
}
