package account

import (
	"context"
	"regexp"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Plan is what accounts may do and for how much. Money is in micro-dollars; a limit that is nil is none.
type Plan struct {
	Name string
	// Capabilities are what it includes. What is missing is refused, and shown nowhere.
	Capabilities []core.Capability
	// Models are the only ones that may be asked; empty means all of the installation.
	Models []string
	// SpendCap is for a month, unless the user has a cap of their own; TurnCap for a turn.
	SpendCap, TurnCap *int64
	// RateLimit is requests a second of all credentials of a user together, RateBurst how many at once.
	RateLimit, RateBurst *int64
	// StorageLimit is how many bytes of documents a user may have.
	StorageLimit *int64
	// Price is what a month costs, for people to see. StripePrice is empty, or the ids of prices at Stripe with commas
	// between them: the first one is sold, and whoever pays one of the others still has the plan.
	Price       int64
	StripePrice string
	// Declared says that the plan stands in the settings, which alone change it.
	Declared  bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// PlanStore keeps plans and who has them. A missing plan or user is not_found.
type PlanStore interface {
	Plans(ctx context.Context) ([]Plan, error)
	Plan(ctx context.Context, name string) (Plan, error)
	// PutPlan makes a plan, or changes the one of that name; it keeps the time at which that was made.
	PutPlan(ctx context.Context, p Plan) error
	// DeclarePlans makes these plans the declared ones, and no others.
	DeclarePlans(ctx context.Context, plans []Plan) error
	// DeletePlan is a conflict while somebody has the plan.
	DeletePlan(ctx context.Context, name string) error
	// SetPlan gives a user a plan for good, in place of a subscription. It is a conflict while one runs that Stripe keeps.
	SetPlan(ctx context.Context, userID, plan string) error
	SubscriptionStore
	// OwnCredential is nil for a key or a grant of the user, and not_found for any other.
	OwnCredential(ctx context.Context, userID, credentialID string) error
	// StorageOf returns what a user keeps, files on their way in included.
	StorageOf(ctx context.Context, userID string) (core.Storage, error)
	// SetCredentialCap sets what a credential may spend in a month; nil takes the cap away.
	SetCredentialCap(ctx context.Context, userID, credentialID string, micros *int64) error
	// CredentialCaps returns the caps of a user's credentials, with what is spent and reserved of each in a month.
	CredentialCaps(ctx context.Context, userID, month string) ([]CredentialCap, error)
}

// Plans is where plans are made, and given to accounts.
type Plans struct {
	store    PlanStore
	clock    core.Clock
	recorder Recorder
	// standard is the plan that new accounts get.
	standard string
}

// NewPlans returns plans on this store. standard is the plan that new accounts get, or none.
func NewPlans(store PlanStore, clock core.Clock, recorder Recorder, standard string) *Plans {
	return &Plans{store: store, clock: clock, recorder: recorder, standard: standard}
}

var (
	planName    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,49}$`)
	stripePrice = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
)

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

// Put makes a plan, or changes the one of that name for all who have it, from their next request on.
func (p *Plans) Put(ctx context.Context, actor core.Actor, plan Plan) (Plan, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return Plan{}, err
	}
	plan, err := plan.checked(p.clock.Now())
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
			return Plan{}, declared()
		case other.Name != plan.Name && other.sharesPrice(plan):
			return Plan{}, core.InvalidField("/stripePrice", "Another plan has this price. A price pays for one plan.")
		}
	}
	if err := p.store.PutPlan(ctx, plan); err != nil {
		return Plan{}, err
	}
	p.note(ctx, actor, audit.PlanChanged, "", plan.Name)
	return p.store.Plan(ctx, plan.Name)
}

// Delete removes a plan that nobody has.
func (p *Plans) Delete(ctx context.Context, actor core.Actor, name string) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	if name == core.PlanOpen || name == p.standard {
		return core.Conflict("conflict", "The plan open and the one that new accounts get stay. Change what they include instead.")
	}
	if plan, err := p.store.Plan(ctx, name); err != nil {
		return err
	} else if plan.Declared {
		return declared()
	}
	if err := p.store.DeletePlan(ctx, name); err != nil {
		return err
	}
	p.note(ctx, actor, audit.PlanDeleted, "", name)
	return nil
}

// Assign gives a user a plan for good, or none, in place of what they had.
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
	p.note(ctx, actor, audit.PlanAssigned, userID, plan)
	return nil
}

// CredentialCap is what a credential may spend in a month, and what it has, in micro-dollars.
type CredentialCap struct {
	CredentialID string
	Cap, Used    int64
}

// Caps returns the caps of the actor's credentials; those without one are left out.
func (p *Plans) Caps(ctx context.Context, actor core.Actor) ([]CredentialCap, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return nil, err
	}
	return p.store.CredentialCaps(ctx, actor.UserID, core.Month(p.clock.Now()))
}

// Storage returns what the actor's account keeps of documents, and what there is room for.
func (p *Plans) Storage(ctx context.Context, actor core.Actor) (core.Storage, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return core.Storage{}, err
	}
	return p.store.StorageOf(ctx, actor.UserID)
}

// CapCredential sets what one of the actor's credentials may spend in a month; nil takes the cap away. A credential that
// has a cap changes none: it could lift its own.
func (p *Plans) CapCredential(ctx context.Context, actor core.Actor, credentialID string, micros *int64) error {
	if err := actor.Allow(core.OpBilling); err != nil {
		return err
	}
	if actor.CredentialSpend.Capped {
		return core.Forbidden("forbidden", "This credential has a spend cap itself, and can't change caps. Use a session.")
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
	p.note(ctx, actor, audit.CapChanged, actor.UserID, credentialID)
	return nil
}

// note writes down what somebody did, to which account and with what.
func (p *Plans) note(ctx context.Context, actor core.Actor, event audit.Event, userID, what string) {
	by := actor.CredentialID
	if actor.Credential == core.CredentialOperator {
		by = string(core.CredentialOperator)
	}
	p.recorder.Note(ctx, audit.Record{Event: event, UserID: userID, Actor: by, Detail: map[string]string{"of": what}})
}

func declared() error {
	return core.Conflict("conflict", "This plan stands in the settings of the installation. Change it there, and start the server again.")
}

// NoSuchPlan is what whoever names a plan that is not there is told.
func NoSuchPlan() error {
	return core.InvalidField("/plan", "There is no such plan. See carrel admin plan list; none is no subscription.")
}
