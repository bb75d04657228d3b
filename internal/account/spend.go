package account

import (
	"context"
	"time"

	"carrel/internal/core"
)

// SpendStore keeps what users spend, in micro-dollars, by month.
type SpendStore interface {
	// ReserveSpend puts something aside for a turn that has not ended; beyond the user's cap nothing is, and the error is
	// that of the cap. What the turn has open from before counts as spent from then on.
	ReserveSpend(ctx context.Context, r Reservation) error
	// SettleSpend puts what was spent in place of what a turn has open; without anything open it does nothing.
	SettleSpend(ctx context.Context, turnID string, micros int64, estimated bool) error
	// SpendOf returns a user's cap, or nil, and what is spent and reserved of it in a month.
	SpendOf(ctx context.Context, userID, month string) (spendCap *int64, used int64, err error)
}

// Reservation is what a turn may spend next.
type Reservation struct {
	UserID, TurnID, Model string
	Micros                int64
	At                    time.Time
}

// Spending holds turns to the caps of their users. Whoever is about to spend reserves the most that it can come to,
// and settles what it came to: many turns at once stay below the cap together. It decides nothing about access: the
// turn was allowed.
type Spending struct {
	store SpendStore
	clock core.Clock
}

// NewSpending returns spending on this store.
func NewSpending(store SpendStore, clock core.Clock) *Spending {
	return &Spending{store: store, clock: clock}
}

// Reserve puts aside what a turn's next call of a model may cost, before it is made; beyond the cap it is
// spend_cap_reached. What the turn reserved before and did not settle is of a call that a crash cut off: it may have
// been paid for, and counts as spent, as does what is still reserved at the turn's end.
func (s *Spending) Reserve(ctx context.Context, userID, turnID, model string, micros int64) error {
	return s.store.ReserveSpend(ctx, Reservation{UserID: userID, TurnID: turnID, Model: model, Micros: max(0, micros), At: s.clock.Now()})
}

// Settle puts what a call has cost in place of what was reserved for it, also after the turn's end. To settle it again
// changes nothing.
func (s *Spending) Settle(ctx context.Context, _, turnID string, micros int64, estimated bool) error {
	return s.store.SettleSpend(ctx, turnID, max(0, micros), estimated)
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
