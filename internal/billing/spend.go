package billing

import (
	"context"
	"time"

	"carrel/internal/core"
)

// Metered is a kind of call that costs money.
type Metered string

// The kinds of metered calls: tokens of a chat model, embeddings, and searches at a paid search service.
const (
	MeteredModel     Metered = "model"
	MeteredEmbedding Metered = "embedding"
	MeteredSearch    Metered = "search"
)

// SpendStore persists the spend ledger in micro-dollars: one row per call, and monthly totals of the rows.
type SpendStore interface {
	// ReserveSpend opens a row. If it would exceed the cap of the turn, the credential or the user, nothing is reserved
	// and the error names the cap. A turn has at most one open row; an older one is closed and counts as spent. The row
	// takes agent and credential from the turn.
	ReserveSpend(ctx context.Context, r Reservation) error
	// SettleSpend replaces the open reservation of a turn, or the one open when it ended, by the actual cost. Without one
	// it does nothing.
	SettleSpend(ctx context.Context, turnID string, micros int64, estimated bool, at time.Time) error
	// SettleRow is SettleSpend for the row with this id.
	SettleRow(ctx context.Context, id string, micros int64, estimated bool, at time.Time) error
	// EndHolds closes rows without a turn that were opened before the time, counts them as spent, and returns their
	// number. A crash left them open.
	EndHolds(ctx context.Context, before time.Time) (int, error)
	// SpendOf returns the cap of a user, or nil, and the amount spent and reserved in a month.
	SpendOf(ctx context.Context, userID, month string) (spendCap *int64, used int64, err error)
	// SpendDifferences returns the totals that differ from the sums of their rows.
	SpendDifferences(ctx context.Context) ([]SpendDifference, error)
	// SpendDifferencesSince is SpendDifferences for a month and the months after it.
	SpendDifferencesSince(ctx context.Context, month string) ([]SpendDifference, error)
	// RollUpSpend replaces the settled rows of one user on one day before the given one by a row for each credential,
	// agent, kind and model, and reports whether there were any.
	RollUpSpend(ctx context.Context, before string) (bool, error)
}

// Reservation is the maximum cost of a call that is about to be made.
type Reservation struct {
	// ID is the id of the ledger row.
	ID     string
	UserID string
	// TurnID is the turn that makes the call. CredentialID and AgentID are used only without one.
	TurnID, CredentialID, AgentID string
	Kind                          Metered
	Model                         string
	// PriceVersion identifies the price used for Micros.
	PriceVersion string
	Micros       int64
	At           time.Time
}

// SpendDifference is a monthly total that differs from the sum of its rows.
type SpendDifference struct {
	// Of is "user" or "credential"; ID is the id of that user or credential.
	Of, ID, Month string
	// Reserved and Spent are the stored totals, RowsReserved and RowsSpent the sums of the rows.
	Reserved, Spent, RowsReserved, RowsSpent int64
}

// Spending enforces spend caps. Callers reserve the maximum cost before a call and settle the actual cost after it, so
// concurrent calls together stay below the cap. It does not check access: the caller has authorized the work.
type Spending struct {
	store        SpendStore
	clock        core.Clock
	priceVersion func(model string) string
}

// Reserve reserves the maximum cost of a turn's next model call. Beyond a cap it returns spend_cap_reached. An earlier
// reservation that the turn did not settle belongs to a call interrupted by a crash. That call may have been charged,
// so the reservation counts as spent, as does one still open when the turn ends.
func (s *Spending) Reserve(ctx context.Context, userID, turnID, model string, micros int64) error {
	return s.store.ReserveSpend(ctx, Reservation{
		ID: core.NewID(core.PrefixSpend), UserID: userID, TurnID: turnID, Kind: MeteredModel, Model: model,
		PriceVersion: s.priceVersion(model), Micros: max(0, micros), At: s.clock.Now(),
	})
}

// Settle replaces a turn's reservation by the actual cost, also after the end of the turn. It is idempotent.
func (s *Spending) Settle(ctx context.Context, _, turnID string, micros int64, estimated bool) error {
	return s.store.SettleSpend(ctx, turnID, max(0, micros), estimated, s.clock.Now())
}

// Purchase is a metered call other than a model call: embeddings or a paid search. With a TurnID, the ledger row takes
// credential and agent from the turn.
type Purchase struct {
	UserID, TurnID, CredentialID, AgentID string
	Kind                                  Metered
	// Model is the name of the model or the search service.
	Model, PriceVersion string
	// Micros is the maximum cost.
	Micros int64
}

// Hold reserves the maximum cost of a purchase and returns the id for SettleHold. A hold that a crash leaves unsettled
// counts as spent after holdLife.
func (s *Spending) Hold(ctx context.Context, p Purchase) (id string, err error) {
	id = core.NewID(core.PrefixSpend)
	err = s.store.ReserveSpend(ctx, Reservation{
		ID:           id,
		UserID:       p.UserID,
		TurnID:       p.TurnID,
		CredentialID: p.CredentialID,
		AgentID:      p.AgentID,
		Kind:         p.Kind,
		Model:        p.Model,
		PriceVersion: p.PriceVersion,
		Micros:       max(0, p.Micros),
		At:           s.clock.Now(),
	})
	return id, err
}

// SettleHold replaces a hold by the actual cost. It is idempotent.
func (s *Spending) SettleHold(ctx context.Context, id string, micros int64, estimated bool) error {
	return s.store.SettleRow(ctx, id, max(0, micros), estimated, s.clock.Now())
}

// holdLife is far longer than any purchase runs.
const holdLife = time.Hour

// Reconcile closes the holds that crashes left open and returns the totals of this month and the last one that differ
// from their rows. A difference is a bug. The server calls it periodically; Check compares all months.
func (s *Spending) Reconcile(ctx context.Context) ([]SpendDifference, error) {
	if _, err := s.store.EndHolds(ctx, s.clock.Now().Add(-holdLife)); err != nil {
		return nil, err
	}
	lastMonth := core.MonthEnd(s.clock.Now()).AddDate(0, -2, 0)
	return s.store.SpendDifferencesSince(ctx, core.Month(lastMonth))
}

// RollUp replaces the ledger rows before a day by one row per day, credential, agent and model. Sums and usage do not
// change.
func (s *Spending) RollUp(ctx context.Context, before time.Time) error {
	for {
		if found, err := s.store.RollUpSpend(ctx, core.Day(before)); err != nil || !found {
			return err
		}
	}
}

// Check returns the totals that differ from the sums of their rows.
func (s *Spending) Check(ctx context.Context, actor core.Actor) ([]SpendDifference, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, err
	}
	return s.store.SpendDifferences(ctx)
}

// Spend returns a user's cap and spend of this month, reservations included.
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
