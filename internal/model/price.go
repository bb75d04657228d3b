package model

// Micros is money in millionths of a dollar. Integer sums do not depend on their order.
type Micros int64

// Price is the price of a million tokens.
type Price struct{ In, Out Micros }

// Prices of a million tokens of a model without a configured price. They are above most models' prices, so that a
// spending cap holds before prices are configured.
const (
	UnpricedIn  Micros = 10_000_000
	UnpricedOut Micros = 30_000_000
)

// Prices are the configured prices of models.
type Prices struct {
	// Each is keyed by the name of the model. Default applies to all others, unless it is nil.
	Each    map[string]Price
	Default *Price
}

// Of returns the price of a model and whether it is configured. If not, it consists of UnpricedIn and UnpricedOut.
func (p Prices) Of(model string) (Price, bool) {
	if price, ok := p.Each[model]; ok {
		return price, true
	}
	if p.Default != nil {
		return *p.Default, true
	}
	return Price{UnpricedIn, UnpricedOut}, false
}

// Cost returns the cost of an answer of a model. Cached tokens cost the full price.
func (p Prices) Cost(model string, u Usage) Micros {
	price, _ := p.Of(model)
	return price.Cost(u)
}

const (
	perMillion = 1_000_000
	// maxTokens is more than any answer takes. It keeps a nonsensical count from overflowing.
	maxTokens = 1 << 31
)

// Cost returns the cost of an answer, rounded up.
func (p Price) Cost(u Usage) Micros {
	in, out := Micros(min(max(u.In, 0), maxTokens)), Micros(min(max(u.Out, 0), maxTokens))
	return (in*p.In + out*p.Out + perMillion - 1) / perMillion
}
