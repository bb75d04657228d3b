package account

import (
	"context"
	"time"

	"carrel/internal/core"
)

// Metered is a kind of thing that costs.
type Metered string

// What costs: the tokens of a model that answers, vectors of texts, and searches of services that take money for them.
const (
	MeteredModel     Metered = "model"
	MeteredEmbedding Metered = "embedding"
	MeteredSearch    Metered = "search"
)

// SpendStore keeps what users spend, in micro-dollars: a row for every call, and sums of the rows by month.
type SpendStore interface {
	// ReserveSpend opens a row. Beyond a cap of the turn, the credential or the user nothing is reserved, and the error is
	// that of the cap. A turn has one open row at a time: what it has open from before counts as spent from then on. The
	// agent and the credential of a turn's row are those of the turn.
	ReserveSpend(ctx context.Context, r Reservation) error
	// SettleSpend puts what was spent in place of what a turn has open, or had open when it ended; else it does nothing.
	SettleSpend(ctx context.Context, turnID string, micros int64, estimated bool, at time.Time) error
	// SettleRow is SettleSpend for the row of this id.
	SettleRow(ctx context.Context, id string, micros int64, estimated bool, at time.Time) error
	// EndHolds counts rows as spent that are of no turn and have been open since before the time, and returns how many
	// there were: whoever opened them is not there any more.
	EndHolds(ctx context.Context, before time.Time) (int, error)
	// SpendOf returns a user's cap, or nil, and what is spent and reserved of it in a month.
	SpendOf(ctx context.Context, userID, month string) (spendCap *int64, used int64, err error)
	// SpendDifferences returns where sums are not those of their rows.
	SpendDifferences(ctx context.Context) ([]SpendDifference, error)
}

// Reservation is what a call may come to that is about to be made.
type Reservation struct {
	// ID is the row's.
	ID     string
	UserID string
	// TurnID is the turn that makes the call. Without one the credential and the agent are those given here.
	TurnID, CredentialID, AgentID string
	Kind                          Metered
	Model                         string
	// PriceVersion tells the price that was reckoned with.
	PriceVersion string
	Micros       int64
	At           time.Time
}

// SpendDifference is a sum that is not that of its rows.
type SpendDifference struct {
	// Of is "user" or "credential", and ID whose sum it is.
	Of, ID, Month string
	// What the sum says, and what the rows add up to.
	Reserved, Spent, RowsReserved, RowsSpent int64
}

// Spending holds whoever is about to spend to the caps: they reserve the most that it can come to, and settle what it
// came to, so that many at once stay below the cap together. It decides nothing about access: the work was allowed.
type Spending struct {
	store  SpendStore
	clock  core.Clock
	prices func(model string) string
}

// NewSpending returns spending on this store. Prices names the price of a model, for the rows; it may be nil.
func NewSpending(store SpendStore, clock core.Clock, prices func(model string) string) *Spending {
	if prices == nil {
		prices = func(string) string { return "" }
	}
	return &Spending{store: store, clock: clock, prices: prices}
}

// Reserve puts aside what a turn's next call of a model may cost, before it is made; beyond a cap it is
// spend_cap_reached. What the turn reserved before and did not settle is of a call that a crash cut off: it may have
// been paid for, and counts as spent, as does what is still reserved at the turn's end.
func (s *Spending) Reserve(ctx context.Context, userID, turnID, model string, micros int64) error {
	return s.store.ReserveSpend(ctx, Reservation{
		ID: core.NewID(core.PrefixSpend), UserID: userID, TurnID: turnID, Kind: MeteredModel, Model: model,
		PriceVersion: s.prices(model), Micros: max(0, micros), At: s.clock.Now(),
	})
}

// Settle puts what a call has cost in place of what was reserved for it, also after the turn's end. To settle it again
// changes nothing.
func (s *Spending) Settle(ctx context.Context, _, turnID string, micros int64, estimated bool) error {
	return s.store.SettleSpend(ctx, turnID, max(0, micros), estimated, s.clock.Now())
}

// Purchase is a call that costs beside those of models: vectors for documents, a search of a paid service. One of a turn has the
// credential and the agent of the turn.
type Purchase struct {
	UserID, TurnID, CredentialID, AgentID string
	Kind                                  Metered
	// Model is the model, or the service.
	Model, PriceVersion string
	// Micros is the most that it can come to.
	Micros int64
}

// Hold is Reserve for a purchase. It returns the id to settle it by. One that is never settled, because of a crash,
// counts as spent after holdLife.
func (s *Spending) Hold(ctx context.Context, p Purchase) (id string, err error) {
	id = core.NewID(core.PrefixSpend)
	err = s.store.ReserveSpend(ctx, Reservation{
		ID: id, UserID: p.UserID, TurnID: p.TurnID, CredentialID: p.CredentialID, AgentID: p.AgentID, Kind: p.Kind, Model: p.Model,
		PriceVersion: p.PriceVersion, Micros: max(0, p.Micros), At: s.clock.Now(),
	})
	return id, err
}

// SettleHold puts what a purchase has cost in place of what was held for it. To settle it again changes nothing.
func (s *Spending) SettleHold(ctx context.Context, id string, micros int64, estimated bool) error {
	return s.store.SettleRow(ctx, id, max(0, micros), estimated, s.clock.Now())
}

// holdLife is far longer than any purchase takes.
const holdLife = time.Hour

// Tend counts what crashes left open as spent, and returns the sums that are wrong: none, ever. The server calls it now
// and then.
func (s *Spending) Tend(ctx context.Context) ([]SpendDifference, error) {
	if _, err := s.store.EndHolds(ctx, s.clock.Now().Add(-holdLife)); err != nil {
		return nil, err
	}
	return s.store.SpendDifferences(ctx)
}

// Check returns the sums that are not those of their rows.
func (s *Spending) Check(ctx context.Context, actor core.Actor) ([]SpendDifference, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, err
	}
	return s.store.SpendDifferences(ctx)
}

// Spend returns what a user has used of the cap this month, reservations included.
func (s *Spending) Spend(ctx context.Context, userID string) (core.Spend, error) {
	now := s.clock.Now()
	spendCap, used, err := s.store.SpendOf(ctx, userID, core.Month(now))
	if err != nil {
		return core.Spend{}, err
	}
	spend := core.Spend{Used: used, ResetsAt: core.MonthEnd(now)}
	if spendCap != nil {
		spend.Capped, spend.Cap = true, *spendCap
	}
	return spend, nil
}
