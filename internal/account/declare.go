package account

import (
	"context"
	"fmt"
	"slices"

	"carrel/internal/core"
)

// Declare takes over the plans that the settings declare, in place of those of the same names. One that was declared and
// is no more stays as it is and can be changed again. It fails, with a sentence for the operator, when the settings do
// not fit together or when the plan of new accounts is not there.
func (p *Plans) Declare(ctx context.Context, actor core.Actor, plans []Plan) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	present, err := p.store.Plans(ctx)
	if err != nil {
		return err
	}
	for i, plan := range plans {
		if plans[i], err = plan.checked(p.clock.Now()); err != nil {
			return fmt.Errorf("the plan %s of the settings: %w", plan.Name, err)
		}
		plans[i].Declared = true
		present = slices.DeleteFunc(present, func(other Plan) bool { return other.Name == plan.Name })
	}
	present = append(present, plans...)
	for i, plan := range present {
		for _, other := range present[:i] {
			if plan.sharesPrice(other) {
				return fmt.Errorf("the plans %s and %s have the same Stripe price; a price pays for one plan", other.Name, plan.Name)
			}
		}
	}
	if p.standard != core.PlanNone && !slices.ContainsFunc(present, func(plan Plan) bool { return plan.Name == p.standard }) {
		return fmt.Errorf("default-plan is %s, and there is no such plan; declare it in the settings, or make it with: carrel admin plan put", p.standard)
	}
	return p.store.DeclarePlans(ctx, plans)
}
