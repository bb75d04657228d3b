package account

import (
	"context"
	"regexp"
	"slices"
	"strings"
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
	// Price is what a month costs, for people to see. StripePrice is the price's id at Stripe, or empty.
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
	// DeletePlan is a conflict while somebody has the plan.
	DeletePlan(ctx context.Context, name string) error
	// SetPlan gives a user a plan for good, in place of a subscription.
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
}

// NewPlans returns plans on this store.
func NewPlans(store PlanStore, clock core.Clock, recorder Recorder) *Plans {
	return &Plans{store: store, clock: clock, recorder: recorder}
}

var planName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,49}$`)

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
	if err := plan.check(); err != nil {
		return Plan{}, err
	}
	slices.SortFunc(plan.Capabilities, func(a, b core.Capability) int {
		all := core.AllCapabilities()
		return slices.Index(all, a) - slices.Index(all, b)
	})
	plan.Capabilities = slices.Compact(plan.Capabilities)
	plan.CreatedAt, plan.UpdatedAt = p.clock.Now(), p.clock.Now()
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
	if name == core.PlanOpen {
		return core.Conflict("conflict", "The plan open is the default of new accounts and stays. Change what it includes instead.")
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

// CapCredential sets what one of the actor's credentials may spend in a month; nil takes the cap away.
func (p *Plans) CapCredential(ctx context.Context, actor core.Actor, credentialID string, micros *int64) error {
	if err := actor.Allow(core.OpBilling); err != nil {
		return err
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

// NoSuchPlan is what whoever names a plan that is not there is told.
func NoSuchPlan() error {
	return core.InvalidField("/plan", "There is no such plan. See carrel admin plan list; none is no subscription.")
}

// burstSeconds is how many seconds' worth of requests a plan that says nothing of it allows at once: the proportion that
// the server's own limits have.
const burstSeconds = 4

// maxBurstSeconds is how long servers remember at least who has asked, and so the longest that a bucket may take to fill.
const maxBurstSeconds = 3600

// rate is how often accounts with the plan may ask.
func (p Plan) rate() (r core.Rate) {
	if p.RateLimit != nil {
		r = core.Rate{PerSecond: int(*p.RateLimit), Burst: burstSeconds * int(*p.RateLimit)}
	}
	if p.RateBurst != nil {
		r.Burst = int(*p.RateBurst)
	}
	return r
}

// maxLimit keeps sums of limits far from overflow.
const maxLimit = int64(1e15)

func (p Plan) check() error {
	var bad []core.FieldError
	add := func(pointer, detail string) {
		bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
	}
	if !planName.MatchString(p.Name) || p.Name == core.PlanNone {
		add("/name", "Must be 1 to 50 of a-z, 0-9, _ and -, and not none.")
	}
	for _, c := range p.Capabilities {
		if !c.Known() {
			add("/capabilities", "Must be of search, chat, research, memories, favourites, manage and mcp.")
			break
		}
	}
	for _, m := range p.Models {
		if detail := (core.TextRule{Min: 1, Max: 200}).Check(m); detail != "" {
			add("/models", detail)
			break
		}
	}
	for pointer, n := range map[string]*int64{
		"/spendCapMicros": p.SpendCap, "/turnCapMicros": p.TurnCap, "/storageLimitBytes": p.StorageLimit, "/priceMicros": &p.Price,
	} {
		if n != nil && (*n < 0 || *n > maxLimit) {
			add(pointer, "Must be a whole number from 0 to 1000000000000000.")
		}
	}
	for pointer, n := range map[string]*int64{"/rateLimit": p.RateLimit, "/rateBurst": p.RateBurst} {
		if n != nil && (*n < 1 || *n > 1_000_000) {
			add(pointer, "Must be a whole number from 1 to 1000000.")
		}
	}
	if r := p.rate(); r.PerSecond > 0 && r.Burst > maxBurstSeconds*r.PerSecond {
		add("/rateBurst", "Must be at most an hour's worth of the rate.")
	}
	if bad != nil {
		slices.SortFunc(bad, func(a, b core.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
		return core.Invalid(bad...)
	}
	return nil
}
