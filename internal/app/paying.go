package app

import (
	"context"
	"strconv"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/embedding"
	"carrel/internal/source"
)

// unknownSearchPrice is charged, in micro-dollars, for a search of a service without a configured price.
const unknownSearchPrice = 10_000

// payer charges embeddings, searches of paid services and model calls outside of turns to accounts.
type payer struct {
	spending *billing.Spending
	// searchPrices are estimates, by kind of source; the services' own prices may differ.
	searchPrices map[string]int64
	// priceVersion returns the version of a model's price.
	priceVersion func(model string) string
	meters       *meters
}

// HoldModel reserves the maximum cost of a model call and returns the function that settles the actual cost.
func (p payer) HoldModel(
	ctx context.Context, actor core.Actor, agentID, model string, micros int64,
) (func(ctx context.Context, micros int64, estimated bool) error, error) {
	id, err := p.spending.Hold(ctx, billing.Purchase{
		UserID: actor.UserID, CredentialID: actor.CredentialID, AgentID: agentID, Kind: billing.MeteredModel, Model: model,
		PriceVersion: p.priceVersion(model), Micros: micros,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, micros int64, estimated bool) error {
		return p.settle(ctx, billing.MeteredModel, id, micros, estimated)
	}, nil
}

// HoldVectors reserves the maximum cost of computing vectors.
func (p payer) HoldVectors(
	ctx context.Context, owner embedding.Owner, model string, price float64, micros int64,
) (string, error) {
	return p.spending.Hold(ctx, billing.Purchase{
		UserID: owner.UserID, AgentID: owner.AgentID, Kind: billing.MeteredEmbedding, Model: model,
		PriceVersion: strconv.FormatFloat(price, 'f', -1, 64), Micros: micros,
	})
}

// SettleVectors replaces a reservation by the actual cost.
func (p payer) SettleVectors(ctx context.Context, id string, micros int64, estimated bool) error {
	return p.settle(ctx, billing.MeteredEmbedding, id, micros, estimated)
}

// settle replaces a reservation by the actual cost, and counts the cost.
func (p payer) settle(ctx context.Context, kind billing.Metered, id string, micros int64, estimated bool) error {
	err := p.spending.SettleHold(ctx, id, micros, estimated)
	if err == nil {
		p.meters.spent(kind, micros)
	}
	return err
}

// HoldSearch reserves the price of a search of a paid service and returns the function that settles it. Services charge
// per search, so the settled amount equals the reserved one; it stays marked as an estimate.
func (p payer) HoldSearch(ctx context.Context, buyer source.Buyer, kind string) (func(context.Context) error, error) {
	price, known := p.searchPrices[kind]
	if !known {
		price = unknownSearchPrice
	}
	id, err := p.spending.Hold(ctx, billing.Purchase{
		UserID: buyer.UserID, TurnID: buyer.TurnID, CredentialID: buyer.CredentialID, AgentID: buyer.AgentID,
		Kind: billing.MeteredSearch, Model: kind,
		PriceVersion: strconv.FormatInt(price, 10), Micros: price,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return p.settle(ctx, billing.MeteredSearch, id, price, true) }, nil
}
