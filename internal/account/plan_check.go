package account

import (
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
)

// Prices are the ids of the prices at Stripe that pay for the plan. The first one is sold.
func (p Plan) Prices() []string {
	var ids []string
	for id := range strings.SplitSeq(p.StripePrice, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// sharesPrice reports whether a price would pay for both plans.
func (p Plan) sharesPrice(other Plan) bool {
	return slices.ContainsFunc(p.Prices(), func(id string) bool { return slices.Contains(other.Prices(), id) })
}

// checked returns the plan as it is kept, made now.
func (p Plan) checked(now time.Time) (Plan, error) {
	if err := p.check(); err != nil {
		return Plan{}, err
	}
	all := core.AllCapabilities()
	p.Capabilities = slices.Clone(p.Capabilities)
	slices.SortFunc(p.Capabilities, func(a, b core.Capability) int { return slices.Index(all, a) - slices.Index(all, b) })
	p.Capabilities = slices.Compact(p.Capabilities)
	p.StripePrice = strings.Join(p.Prices(), ",")
	p.CreatedAt, p.UpdatedAt = now, now
	return p, nil
}

// burstSeconds is how many seconds' worth of requests a plan that says nothing of it allows at once: the proportion that
// the server's own limits have.
const burstSeconds = 4

// maxBurstSeconds is how long servers remember at least who has asked, and so the longest that a bucket may take to fill.
const maxBurstSeconds = 3600

// rate is how often accounts with the plan may ask.
func (p Plan) rate() (r core.Rate) {
	if p.RateLimit != nil {
		r = core.Rate{PerSecond: int(*p.RateLimit), Burst: burstSeconds * int(*p.RateLimit)}
	}
	if p.RateBurst != nil {
		r.Burst = int(*p.RateBurst)
	}
	return r
}

// maxLimit keeps sums of limits far from overflow.
const maxLimit = int64(1e15)

func (p Plan) check() error {
	var bad []core.FieldError
	add := func(pointer, detail string) {
		bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
	}
	if !planName.MatchString(p.Name) || p.Name == core.PlanNone {
		add("/name", "Must be 1 to 50 of a-z, 0-9, _ and -, and not none.")
	}
	for _, c := range p.Capabilities {
		if !c.Known() {
			add("/capabilities", "Must be of search, chat, research, memories, favourites, manage and mcp.")
			break
		}
	}
	for _, m := range p.Models {
		if detail := (core.TextRule{Min: 1, Max: 200}).Check(m); detail != "" {
			add("/models", detail)
			break
		}
	}
	if prices := p.Prices(); len(p.StripePrice) > 500 || slices.ContainsFunc(prices, func(id string) bool { return !stripePrice.MatchString(id) }) {
		add("/stripePrice", "Must be ids of prices such as price_1Q2w3E, with commas between them.")
	}
	for pointer, n := range map[string]*int64{
		"/spendCapMicros": p.SpendCap, "/turnCapMicros": p.TurnCap, "/storageLimitBytes": p.StorageLimit, "/priceMicros": &p.Price,
	} {
		if n != nil && (*n < 0 || *n > maxLimit) {
			add(pointer, "Must be a whole number from 0 to 1000000000000000.")
		}
	}
	for pointer, n := range map[string]*int64{"/rateLimit": p.RateLimit, "/rateBurst": p.RateBurst} {
		if n != nil && (*n < 1 || *n > 1_000_000) {
			add(pointer, "Must be a whole number from 1 to 1000000.")
		}
	}
	if r := p.rate(); r.PerSecond > 0 && r.Burst > maxBurstSeconds*r.PerSecond {
		add("/rateBurst", "Must be at most an hour's worth of the rate.")
	}
	if bad != nil {
		slices.SortFunc(bad, func(a, b core.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
		return core.Invalid(bad...)
	}
	return nil
}
