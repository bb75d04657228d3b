package billing

import (
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
)

var stripePrice = lazyregexp.New(`^[A-Za-z0-9_.-]{1,100}$`)

// Prices returns the Stripe price ids that include the plan. New subscriptions use the first.
func (p Plan) Prices() []string {
	var ids []string
	for id := range strings.SplitSeq(p.StripePrice, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// sharesPrice reports whether the plans have a Stripe price in common. A subscription could then mean either of them.
func (p Plan) sharesPrice(other Plan) bool {
	return slices.ContainsFunc(p.Prices(), func(id string) bool { return slices.Contains(other.Prices(), id) })
}

// normalize validates the plan and returns it in stored form: sorted capabilities without duplicates, timestamps set.
func (p Plan) normalize(now time.Time) (Plan, error) {
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

// burstSeconds is the default burst in seconds of the rate, the same ratio as the server's own limits.
const burstSeconds = 4

// maxBurstSeconds is the longest time a rate limit bucket may take to fill: servers forget idle buckets after it.
const maxBurstSeconds = 3600

// rate returns the request rate limit, the zero Rate for none.
func (p Plan) rate() (r core.Rate) {
	if p.RateLimit != nil {
		r = core.Rate{PerSecond: int(*p.RateLimit), Burst: burstSeconds * int(*p.RateLimit)}
	}
	if p.RateBurst != nil {
		r.Burst = int(*p.RateBurst)
	}
	return r
}

// maxLimit keeps sums of limits from overflowing int64.
const maxLimit = int64(1e15)

func (p Plan) check() error {
	var bad []core.FieldError
	add := func(pointer, detail string) {
		bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
	}
	if !core.ValidPlanName(p.Name) || p.Name == core.PlanNone {
		add("/name", "Must be 1 to 50 characters from a-z, 0-9, _ and -, starting with a letter or digit. "+
			"The name none is reserved.")
	}
	for _, c := range p.Capabilities {
		if !c.Known() {
			add("/capabilities", "Must be a list of search, chat, research, memories, favourites, manage, share and mcp.")
			break
		}
	}
	for _, m := range p.Models {
		if detail := (core.TextRule{Min: 1, Max: 200}).Check(m); detail != "" {
			add("/models", detail)
			break
		}
	}
	invalidPrice := func(id string) bool { return !stripePrice.MatchString(id) }
	if len(p.StripePrice) > 500 || slices.ContainsFunc(p.Prices(), invalidPrice) {
		add("/stripePrice", "Must be Stripe price ids such as price_1Q2w3E, separated by commas.")
	}
	for pointer, n := range map[string]*int64{
		"/spendCapMicros": p.SpendCap, "/turnCapMicros": p.TurnCap, "/storageLimitBytes": p.StorageLimit,
		"/priceMicros": &p.Price,
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
		add("/rateBurst", "Must be at most 3600 times the rate limit.")
	}
	if bad != nil {
		slices.SortFunc(bad, func(a, b core.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
		return core.Invalid(bad...)
	}
	return nil
}
