package embedding

import (
	"context"
	"math"

	"carrel/internal/core"
)

// Owner is the user and agent that documents belong to.
type Owner struct{ UserID, AgentID string }

// Payer enforces the spend caps of document owners. Amounts are in micro-dollars.
type Payer interface {
	// HoldVectors reserves the maximum cost of vectors before they are requested; beyond a cap it returns a refusal.
	// It returns the id to settle.
	HoldVectors(ctx context.Context, owner Owner, model string, price float64, micros int64) (id string, err error)
	// SettleVectors replaces the hold with the actual cost.
	SettleVectors(ctx context.Context, id string, micros int64, estimated bool) error
}

// unpaid collects owners who have reached a spend cap. Their documents wait.
type unpaid struct {
	users []string
	// before is the position in the change log of the first waiting document.
	before uint64
	// why is the refusal of the last owner.
	why error
}

func (u *unpaid) add(d Document, why error) {
	if u.before == 0 || d.Seq < u.before {
		u.before = d.Seq
	}
	u.users, u.why = append(u.users, d.Owner.UserID), why
}

// through limits a position to the documents before the first waiting one.
func (u *unpaid) through(all uint64) uint64 {
	if u.before == 0 {
		return all
	}
	return min(all, u.before-1)
}

// charBytes is the average number of bytes of a token.
const charBytes = 4

// hold reserves the maximum cost of a batch, one token per byte.
func (s *Service) hold(ctx context.Context, w *work) (id string, err error) {
	if len(w.texts) == 0 {
		return "", nil
	}
	return s.payer.HoldVectors(ctx, w.payer.Owner, s.Model(), s.price, s.micros(w.bytes()))
}

// settle replaces the hold with the tokens that the endpoint counted, or with an estimate.
func (s *Service) settle(ctx context.Context, w *work, id string, failed bool) error {
	if id == "" {
		return nil
	}
	tokens, estimated := w.did.Tokens, failed
	if tokens == 0 && w.did.Passages > 0 {
		tokens, estimated = w.bytes()/charBytes, true
	}
	return withStopGrace(
		ctx, func(ctx context.Context) error { return s.payer.SettleVectors(ctx, id, s.micros(tokens), estimated) },
	)
}

// micros converts tokens to micro-dollars: a dollar per million tokens is a micro-dollar per token.
func (s *Service) micros(tokens int) int64 { return int64(math.Ceil(s.price * float64(tokens))) }

func (w *work) bytes() (n int) {
	for _, text := range w.texts {
		n += len(text)
	}
	return n
}

// isCap reports whether an error is the refusal of a spend cap.
func isCap(err error) bool { return core.IsKind(err, core.KindPaymentRequired) }
