package billing_test

import (
	"context"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

// notes is a recorder that keeps its records.
type notes struct{ records []audit.Record }

// Note implements audit.Recorder.
func (n *notes) Note(_ context.Context, r audit.Record) { n.records = append(n.records, r) }

var operator = core.Operator("")

func TestMain(m *testing.M) { testkit.Main(m) }

// testService is the plan service on a database with one account.
type testService struct {
	*billing.Plans
	notes notes
	clock *testkit.Clock
	user  string
}

func newTestService(t *testing.T) *testService {
	t.Helper()
	db := fixture.OpenStore(t)
	f := &testService{clock: testkit.NewClock(), user: "usr"}
	deps := billing.Deps{Store: db, Clock: f.clock, Audit: &f.notes, DefaultPlan: core.PlanOpen}
	f.Plans = billing.NewService(deps).Plans
	u := account.User{ID: f.user, Email: "u@example.org", Plan: core.PlanOpen, CreatedAt: f.clock.Now()}
	if err := db.InsertUser(t.Context(), u, "none"); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *testService) plan(t *testing.T) string {
	t.Helper()
	e, err := f.Of(t.Context(), operator, f.user)
	if err != nil {
		t.Fatal(err)
	}
	if p := e.Now(f.clock.Now()); p != nil {
		return p.Name
	}
	return core.PlanNone
}

func TestAssignedPlanAndSubscriptionsTakeEffect(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := f.plan(t); got != core.PlanOpen {
		t.Errorf("initial plan %s", got)
	}
	p, err := f.Put(
		ctx,
		operator,
		billing.Plan{Name: "reader", Capabilities: []core.Capability{core.CapChat, core.CapSearch, core.CapChat}},
	)
	must(err)
	if len(p.Capabilities) != 2 || p.Capabilities[0] != core.CapSearch {
		t.Errorf("capabilities are %v", p.Capabilities)
	}
	must(f.Assign(ctx, operator, f.user, "reader"))
	if got := f.plan(t); got != "reader" {
		t.Errorf("assigned plan %s", got)
	}
	end := core.AddMonths(f.clock.Now(), 1)
	_, err = f.Subscribe(
		ctx,
		operator,
		f.user,
		billing.NewSubscription{Plan: core.PlanOpen, EndsAt: &end, Grace: 24 * time.Hour, Trial: true},
	)
	must(err)
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{end.Sub(f.clock.Now()) - time.Millisecond, core.PlanOpen},
		{time.Millisecond, core.PlanOpen},
		{24 * time.Hour, core.PlanNone},
	} {
		f.clock.Advance(step.after)
		if got := f.plan(t); got != step.want {
			t.Errorf("at %s the plan is %s, want %s", f.clock.Now(), got, step.want)
		}
	}
	_, err = f.Subscribe(ctx, operator, f.user, billing.NewSubscription{Plan: "reader"})
	must(err)
	if _, err = f.Cancel(ctx, operator, f.user, false); err != nil || f.plan(t) != core.PlanNone {
		t.Errorf("cancelling a subscription without an end: %v, plan %s", err, f.plan(t))
	}
	must(f.Assign(ctx, operator, f.user, core.PlanOpen))
	must(f.Delete(ctx, operator, "reader"))
	want := []audit.Event{
		audit.PlanChanged,
		audit.PlanAssigned,
		audit.SubscriptionChanged,
		audit.SubscriptionChanged,
		audit.SubscriptionChanged,
		audit.PlanAssigned,
		audit.PlanDeleted,
	}
	for i, r := range f.notes.records {
		if i >= len(want) || r.Event != want[i] || r.Actor != "operator" {
			t.Errorf("audit record %d is %+v", i, r)
		}
	}
}

func TestInvalidPlansAndSubscriptionsAreRejected(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	now, negative, zero, much := f.clock.Now(), int64(-1), int64(0), int64(2_000_000)
	put := func(p billing.Plan) error { _, err := f.Put(ctx, operator, p); return err }
	subscribe := func(userID string, n billing.NewSubscription) error {
		_, err := f.Subscribe(ctx, operator, userID, n)
		return err
	}
	cancel := func() error { _, err := f.Cancel(ctx, operator, f.user, true); return err }
	for name, c := range map[string]struct {
		err  error
		kind core.Kind
	}{
		"no name":                 {put(billing.Plan{}), core.KindInvalid},
		"the reserved name":       {put(billing.Plan{Name: core.PlanNone}), core.KindInvalid},
		"a name that is a path":   {put(billing.Plan{Name: "a/b"}), core.KindInvalid},
		"an unknown capability":   {put(billing.Plan{Name: "p", Capabilities: []core.Capability{"fly"}}), core.KindInvalid},
		"a model without a name":  {put(billing.Plan{Name: "p", Models: []string{""}}), core.KindInvalid},
		"a negative cap":          {put(billing.Plan{Name: "p", SpendCap: &negative}), core.KindInvalid},
		"a rate of zero":          {put(billing.Plan{Name: "p", RateLimit: &zero}), core.KindInvalid},
		"an excessive burst":      {put(billing.Plan{Name: "p", RateBurst: &much}), core.KindInvalid},
		"an unknown plan":         {f.Assign(ctx, operator, f.user, "gold"), core.KindInvalid},
		"for a missing user":      {f.Assign(ctx, operator, "usr_none", core.PlanOpen), core.KindNotFound},
		"deleting the default":    {f.Delete(ctx, operator, core.PlanOpen), core.KindConflict},
		"deleting a missing plan": {f.Delete(ctx, operator, "gold"), core.KindNotFound},
		"subscription, no plan":   {subscribe(f.user, billing.NewSubscription{Plan: "gold"}), core.KindInvalid},
		"subscription, no user":   {subscribe("usr_none", billing.NewSubscription{Plan: core.PlanOpen}), core.KindNotFound},
		"an end before the start": {
			subscribe(f.user, billing.NewSubscription{Plan: core.PlanOpen, EndsAt: &now}), core.KindInvalid,
		},
		"a grace without an end": {
			subscribe(f.user, billing.NewSubscription{Plan: core.PlanOpen, Grace: time.Hour}), core.KindInvalid,
		},
		"nothing to cancel":         {cancel(), core.KindNotFound},
		"a negative credential cap": {f.CapCredential(ctx, core.Operator(f.user), "crd", &negative), core.KindInvalid},
	} {
		if !core.IsKind(c.err, c.kind) {
			t.Errorf("%s: %v, want %s", name, c.err, c.kind)
		}
	}
}

func TestOnlyAdministratorsManagePlans(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	member := core.Actor{
		UserID:     f.user,
		Role:       core.RoleMember,
		Plan:       core.PlanOpen,
		Credential: core.CredentialSession,
		Scopes:     core.RoleMember.Scopes(),
	}
	for name, call := range map[string]func() error{
		"List":   func() error { _, err := f.List(ctx, member); return err },
		"Get":    func() error { _, err := f.Get(ctx, member, core.PlanOpen); return err },
		"Put":    func() error { _, err := f.Put(ctx, member, billing.Plan{Name: "p"}); return err },
		"Delete": func() error { return f.Delete(ctx, member, "p") },
		"Assign": func() error { return f.Assign(ctx, member, f.user, core.PlanOpen) },
		"Of":     func() error { _, err := f.Of(ctx, member, f.user); return err },
		"Subscribe": func() error {
			_, err := f.Subscribe(ctx, member, f.user, billing.NewSubscription{Plan: core.PlanOpen})
			return err
		},
		"Cancel": func() error { _, err := f.Cancel(ctx, member, f.user, true); return err },
	} {
		if err := call(); core.AsError(err).Code != "insufficient_scope" {
			t.Errorf("%s: %v", name, err)
		}
	}
	minted := core.Actor{
		UserID:     f.user,
		Plan:       core.PlanOpen,
		Credential: core.CredentialMinted,
		Scopes:     core.RoleMember.Scopes(),
	}
	if _, err := f.Own(ctx, minted); core.AsError(err).Code != "insufficient_scope" {
		t.Errorf("a minted key reads the subscription: %v", err)
	}
	if e, err := f.Own(ctx, member); err != nil || e.Plan.Name != core.PlanOpen {
		t.Errorf("own entitlement: %+v, %v", e, err)
	}
}
