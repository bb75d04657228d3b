package billing_test

import (
	"strings"
	"testing"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestDeclaredPlansAreReadOnly(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, price string) error {
		_, err := f.Put(ctx, operator, billing.Plan{Name: name, StripePrice: price})
		return err
	}
	must(put("reader", ""))
	must(put("other", "price_2, price_1"))
	must(
		f.Declare(
			ctx,
			operator,
			[]billing.Plan{
				{Name: "reader", Capabilities: []core.Capability{core.CapChat, core.CapSearch}, Price: 9, StripePrice: "price_3"},
			},
		),
	)
	got, err := f.Get(ctx, operator, "reader")
	if err != nil || !got.Declared || got.Price != 9 || got.Capabilities[0] != core.CapSearch {
		t.Errorf("declared as %+v, %v", got, err)
	}
	for name, err := range map[string]error{"changing": put("reader", ""), "deleting": f.Delete(ctx, operator, "reader")} {
		if !core.IsKind(err, core.KindConflict) || !strings.Contains(err.Error(), "settings") {
			t.Errorf("%s a declared plan: %v", name, err)
		}
	}
	if err := put("third", "price_0,price_3"); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("the price of another plan: %v", err)
	}
	if err := put("third", "price 0"); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("invalid price: %v", err)
	}
	for want, plans := range map[string][]billing.Plan{
		"same Stripe price": {{Name: "reader", StripePrice: "price_1"}},
		"plan fly":          {{Name: "fly", Capabilities: []core.Capability{"fly"}}},
	} {
		if err := f.Declare(ctx, operator, plans); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	must(f.Declare(ctx, operator, nil))
	must(put("reader", "price_4"))
	must(f.Delete(ctx, operator, "reader"))
}

func TestDefaultPlanMustExistAndCannotBeDeleted(t *testing.T) {
	t.Parallel()
	db := fixture.OpenStore(t)
	clock, ctx := testkit.NewClock(), t.Context()
	plans := billing.NewService(billing.Deps{Store: db, Clock: clock, Audit: &notes{}, DefaultPlan: "free"}).Plans
	if err := plans.Declare(ctx, operator, nil); err == nil || !strings.Contains(err.Error(), "default-plan is free") {
		t.Errorf("without the plan: %v", err)
	}
	if err := plans.Declare(ctx, operator, []billing.Plan{{Name: "free"}}); err != nil {
		t.Fatal(err)
	}
	if err := plans.Declare(ctx, operator, nil); err != nil {
		t.Fatal(err)
	}
	if err := plans.Delete(ctx, operator, "free"); !core.IsKind(err, core.KindConflict) {
		t.Errorf("deleting the default plan: %v", err)
	}
}
