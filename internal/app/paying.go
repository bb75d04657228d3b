package app

import (
	"context"
	"strconv"

	"carrel/internal/account"
	"carrel/internal/embedding"
	"carrel/internal/source"
)

// searchPrices are what a search costs, in micro-dollars, as the services list it for those who pay as they go.
var searchPrices = map[string]int64{"brave": 5000, "exa": 5000, "tavily": 8000}

// dearestSearch is what one counts as whose price is not known.
const dearestSearch = 10_000

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

// HoldSearch puts aside what a search of a paid service costs. Services charge by the search, so that what it may come to is
// what it comes to; whoever owns the key sees on their bill what it was, and here it stays an estimate.
func (p payer) HoldSearch(ctx context.Context, buyer source.Buyer, kind string) (func(context.Context) error, error) {
	price, known := searchPrices[kind]
	if !known {
		price = dearestSearch
	}
	id, err := p.spending.Hold(ctx, account.Purchase{
		UserID: buyer.UserID, CredentialID: buyer.CredentialID, AgentID: buyer.AgentID, Kind: account.MeteredSearch, Model: kind,
		PriceVersion: strconv.FormatInt(price, 10), Micros: price,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return p.spending.SettleHold(ctx, id, price, true) }, nil
}
