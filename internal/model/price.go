package model

// Micros is money in millionths of a dollar. Integers add up the same in every order.
type Micros int64

// Price is what a million tokens cost.
type Price struct{ In, Out Micros }

// What a million tokens of a model cost that nobody has set a price for: more than of most, so that a cap on spending
// holds before it is known what to hold it to.
const (
	UnpricedIn  Micros = 10_000_000
	UnpricedOut Micros = 30_000_000
)

// Prices are what models cost.
type Prices struct {
	// Each is by name of the model; Default is for the others, or nil.
	Each    map[string]Price
	Default *Price
}

// Of returns the price of a model, and whether somebody has set it; if not it is that of UnpricedIn and
// UnpricedOut.
func (p Prices) Of(model string) (Price, bool) {
	if price, ok := p.Each[model]; ok {
		return price, true
	}
	if p.Default != nil {
		return *p.Default, true
	}
	return Price{UnpricedIn, UnpricedOut}, false
}

// Cost returns what an answer of the model costs. Tokens from the provider's cache count in full.
func (p Prices) Cost(model string, u Usage) Micros {
	price, _ := p.Of(model)
	return price.Cost(u)
}

const (
	perMillion = 1_000_000
	// maxTokens is more than any answer takes, and keeps a nonsensical count of a server from overflowing.
	maxTokens = 1 << 31
)

// Cost returns what an answer costs, rounded up: nothing that costs is free.
func (p Price) Cost(u Usage) Micros {
	in, out := Micros(min(max(u.In, 0), maxTokens)), Micros(min(max(u.Out, 0), maxTokens))
	return (in*p.In + out*p.Out + perMillion - 1) / perMillion
}
