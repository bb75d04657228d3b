package billing

import (
	"context"
	"fmt"
	"slices"

	"carrel/internal/core"
)

// Declare stores the plans of the settings and replaces existing plans with the same names. A plan that is no longer
// declared keeps its values and becomes editable. It returns an error for the operator if the plans conflict or the
// default plan does not exist.
func (p *Plans) Declare(ctx context.Context, actor core.Actor, plans []Plan) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	present, err := p.store.Plans(ctx)
	if err != nil {
		return err
	}
	for i, plan := range plans {
		if plans[i], err = plan.normalize(p.clock.Now()); err != nil {
			return fmt.Errorf("plan %s in the settings: %w", plan.Name, err)
		}
		plans[i].Declared = true
		present = slices.DeleteFunc(present, func(other Plan) bool { return other.Name == plan.Name })
	}
	present = append(present, plans...)
	for i, plan := range present {
		for _, other := range present[:i] {
			if plan.sharesPrice(other) {
				return fmt.Errorf("plans %s and %s have the same Stripe price; a price can belong to one plan only",
					other.Name, plan.Name)
			}
		}
	}
	isDefault := func(plan Plan) bool { return plan.Name == p.defaultPlan }
	if p.defaultPlan != core.PlanNone && !slices.ContainsFunc(present, isDefault) {
		return fmt.Errorf("default-plan is %s, but there is no such plan; declare it in the settings "+
			"or create it with: carrel admin plan put", p.defaultPlan)
	}
	return p.store.DeclarePlans(ctx, plans)
}
