package account_test

import (
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

func TestPlansOfTheSettingsAreReadOnly(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, price string) error {
		_, err := o.Put(ctx, operator, account.Plan{Name: name, StripePrice: price})
		return err
	}
	must(put("reader", ""))
	must(put("other", "price_2, price_1"))
	must(o.Declare(ctx, operator, []account.Plan{{Name: "reader", Capabilities: []core.Capability{core.CapChat, core.CapSearch}, Price: 9, StripePrice: "price_3"}}))
	got, err := o.Get(ctx, operator, "reader")
	if err != nil || !got.Declared || got.Price != 9 || got.Capabilities[0] != core.CapSearch {
		t.Errorf("taken over as %+v, %v", got, err)
	}
	for name, err := range map[string]error{"changing": put("reader", ""), "deleting": o.Delete(ctx, operator, "reader")} {
		if !core.IsKind(err, core.KindConflict) || !strings.Contains(err.Error(), "settings") {
			t.Errorf("%s a declared plan: %v", name, err)
		}
	}
	if err := put("third", "price_0,price_3"); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("the price of another plan: %v", err)
	}
	if err := put("third", "price 0"); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("no price: %v", err)
	}
	for want, plans := range map[string][]account.Plan{
		"same Stripe price": {{Name: "reader", StripePrice: "price_1"}},
		"plan fly":          {{Name: "fly", Capabilities: []core.Capability{"fly"}}},
	} {
		if err := o.Declare(ctx, operator, plans); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	must(o.Declare(ctx, operator, nil))
	must(put("reader", "price_4"))
	must(o.Delete(ctx, operator, "reader"))
}

func TestNewAccountsGetThePlanOfTheSettings(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	clock, ctx := testkit.NewClock(), t.Context()
	plans := account.NewPlans(db, clock, &notes{}, "free")
	if err := plans.Declare(ctx, operator, nil); err == nil || !strings.Contains(err.Error(), "default-plan is free") {
		t.Errorf("without such a plan: %v", err)
	}
	if err := plans.Declare(ctx, operator, []account.Plan{{Name: "free"}}); err != nil {
		t.Fatal(err)
	}
	if err := plans.Declare(ctx, operator, nil); err != nil {
		t.Fatal(err)
	}
	if err := plans.Delete(ctx, operator, "free"); !core.IsKind(err, core.KindConflict) {
		t.Errorf("deleting the plan of new accounts: %v", err)
	}
	for standard, want := range map[string]string{"free": "free", core.PlanNone: core.PlanNone} {
		u, err := account.NewService(db, clock, standard).Create(ctx, operator, account.NewUser{Email: standard + "@example.org", Name: "N", Password: "correct horse"})
		if err != nil || u.Plan != want {
			t.Errorf("with %s: %+v, %v", standard, u, err)
		}
	}
}
