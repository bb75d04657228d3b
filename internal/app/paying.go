package app

import (
	"context"
	"strconv"

	"carrel/internal/account"
	"carrel/internal/embedding"
)

// payer has what costs beside turns paid from the accounts that it is done for.
type payer struct{ spending *account.Spending }

// HoldVectors puts aside what the vectors of somebody's documents may cost.
func (p payer) HoldVectors(ctx context.Context, owner embedding.Owner, model string, price float64, micros int64) (string, error) {
	return p.spending.Hold(ctx, account.Purchase{
		UserID: owner.UserID, AgentID: owner.AgentID, Kind: account.MeteredEmbedding, Model: model,
		PriceVersion: strconv.FormatFloat(price, 'f', -1, 64), Micros: micros,
	})
}

// SettleVectors puts what they have cost in its place.
func (p payer) SettleVectors(ctx context.Context, id string, micros int64, estimated bool) error {
	return p.spending.SettleHold(ctx, id, micros, estimated)
}
