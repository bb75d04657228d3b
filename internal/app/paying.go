package app

import (
	"context"
	"strconv"

	"carrel/internal/billing"
	"carrel/internal/embedding"
	"carrel/internal/source"
)

// dearestSearch is what a search counts as, in micro-dollars, of a service that the settings have no price for.
const dearestSearch = 10_000

// payer has what costs beside turns paid from the accounts that it is done for.
type payer struct {
	spending *billing.Spending
	// searches are what searches count as, by kind of source: what Carrel reckons with, and not what a service has promised.
	searches map[string]int64
}

// HoldVectors puts aside what the vectors of somebody's documents may cost.
func (p payer) HoldVectors(ctx context.Context, owner embedding.Owner, model string, price float64, micros int64) (string, error) {
	return p.spending.Hold(ctx, billing.Purchase{
		UserID: owner.UserID, AgentID: owner.AgentID, Kind: billing.MeteredEmbedding, Model: model,
		PriceVersion: strconv.FormatFloat(price, 'f', -1, 64), Micros: micros,
	})
}

// SettleVectors puts what they have cost in its place.
func (p payer) SettleVectors(ctx context.Context, id string, micros int64, estimated bool) error {
	return p.spending.SettleHold(ctx, id, micros, estimated)
}

// HoldSearch puts aside what a search of a paid service counts as. Services charge by the search, so that what it may come to
// is what it comes to; whoever owns the key sees on their bill what it was, and here it stays an estimate.
func (p payer) HoldSearch(ctx context.Context, buyer source.Buyer, kind string) (func(context.Context) error, error) {
	price, known := p.searches[kind]
	if !known {
		price = dearestSearch
	}
	id, err := p.spending.Hold(ctx, billing.Purchase{
		UserID: buyer.UserID, TurnID: buyer.TurnID, CredentialID: buyer.CredentialID, AgentID: buyer.AgentID, Kind: billing.MeteredSearch, Model: kind,
		PriceVersion: strconv.FormatInt(price, 10), Micros: price,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return p.spending.SettleHold(ctx, id, price, true) }, nil
}
