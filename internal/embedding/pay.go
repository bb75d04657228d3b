package embedding

import (
	"context"
	"math"

	"carrel/internal/core"
)

// Owner is who documents belong to, and by which agent.
type Owner struct{ UserID, AgentID string }

// Payer holds owners of documents to what they may spend. Money is in micro-dollars.
type Payer interface {
	// HoldVectors puts aside what vectors may cost at most, before they are asked for; beyond a cap it is a refusal. It
	// returns the id to settle it by.
	HoldVectors(ctx context.Context, owner Owner, model string, price float64, micros int64) (id string, err error)
	// SettleVectors puts what they have cost in its place.
	SettleVectors(ctx context.Context, id string, micros int64, estimated bool) error
}

// unpaid are owners whose documents have to wait, because they have reached a cap.
type unpaid struct {
	users []string
	// before is the place in the change log of the first document that waits.
	before uint64
	// why is what the last of them was told.
	why error
}

func (u *unpaid) add(d Document, why error) {
	if u.before == 0 || d.Seq < u.before {
		u.before = d.Seq
	}
	u.users, u.why = append(u.users, d.Owner.UserID), why
}

// through is how far everything has its vectors, given how far it would be without those who wait.
func (u *unpaid) through(all uint64) uint64 {
	if u.before == 0 {
		return all
	}
	return min(all, u.before-1)
}

// charBytes is how many bytes of text a token has, about; no token has less than one.
const charBytes = 4

// hold puts aside the most that the texts of a step can cost.
func (s *Service) hold(ctx context.Context, w *work) (id string, err error) {
	if len(w.texts) == 0 {
		return "", nil
	}
	return s.payer.HoldVectors(ctx, w.payer.Owner, s.Model(), s.price, s.micros(w.bytes()))
}

// settle puts in its place what they have cost: what the endpoint has counted, or a guess where it did not.
func (s *Service) settle(ctx context.Context, w *work, id string, failed bool) error {
	if id == "" {
		return nil
	}
	tokens, estimated := w.did.Tokens, failed
	if tokens == 0 && w.did.Passages > 0 {
		tokens, estimated = w.bytes()/charBytes, true
	}
	return outlasting(ctx, func(ctx context.Context) error { return s.payer.SettleVectors(ctx, id, s.micros(tokens), estimated) })
}

// micros is what tokens cost: a dollar for a million of them is a micro-dollar for each.
func (s *Service) micros(tokens int) int64 { return int64(math.Ceil(s.price * float64(tokens))) }

func (w *work) bytes() (n int) {
	for _, text := range w.texts {
		n += len(text)
	}
	return n
}

// isCap reports whether a refusal is that of a cap.
func isCap(err error) bool { return core.IsKind(err, core.KindPaymentRequired) }
