package account_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

// notes is a recorder that remembers.
type notes struct{ records []audit.Record }

// Note implements account.Recorder.
func (n *notes) Note(_ context.Context, r audit.Record) { n.records = append(n.records, r) }

// office is where plans are made, with one account.
type office struct {
	*account.Plans
	notes notes
	clock *testkit.Clock
	user  string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	o := &office{clock: testkit.NewClock(), user: "usr"}
	o.Plans = account.NewPlans(db, o.clock, &o.notes, core.PlanOpen)
	if err := db.InsertUser(t.Context(), account.User{ID: o.user, Email: "u@example.org", Plan: core.PlanOpen, CreatedAt: o.clock.Now()}, "none"); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *office) plan(t *testing.T) string {
	t.Helper()
	e, err := o.Of(t.Context(), operator, o.user)
	if err != nil {
		t.Fatal(err)
	}
	if p := e.Now(o.clock.Now()); p != nil {
		return p.Name
	}
	return core.PlanNone
}

func TestAnAccountHasTheOpenPlanUntilSomebodyChangesThat(t *testing.T) {
	t.Parallel()
	o, ctx := newOffice(t), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := o.plan(t); got != core.PlanOpen {
		t.Errorf("at first it has %s", got)
	}
	p, err := o.Put(ctx, operator, account.Plan{Name: "reader", Capabilities: []core.Capability{core.CapChat, core.CapSearch, core.CapChat}})
	must(err)
	if len(p.Capabilities) != 2 || p.Capabilities[0] != core.CapSearch {
		t.Errorf("capabilities are %v", p.Capabilities)
	}
	must(o.Assign(ctx, operator, o.user, "reader"))
	if got := o.plan(t); got != "reader" {
		t.Errorf("it has %s", got)
	}
	end := core.AddMonths(o.clock.Now(), 1)
	_, err = o.Subscribe(ctx, operator, o.user, account.NewSubscription{Plan: core.PlanOpen, EndsAt: &end, Grace: 24 * time.Hour, Trial: true})
	must(err)
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{end.Sub(o.clock.Now()) - time.Millisecond, core.PlanOpen}, {time.Millisecond, core.PlanOpen}, {24 * time.Hour, core.PlanNone},
	} {
		o.clock.Advance(step.after)
		if got := o.plan(t); got != step.want {
			t.Errorf("at %s it has %s, want %s", o.clock.Now(), got, step.want)
		}
	}
	_, err = o.Subscribe(ctx, operator, o.user, account.NewSubscription{Plan: "reader"})
	must(err)
	if _, err = o.Cancel(ctx, operator, o.user, false); err != nil || o.plan(t) != core.PlanNone {
		t.Errorf("one without an end is cancelled at once: %v, %s", err, o.plan(t))
	}
	must(o.Assign(ctx, operator, o.user, core.PlanOpen))
	must(o.Delete(ctx, operator, "reader"))
	want := []audit.Event{
		audit.PlanChanged, audit.PlanAssigned, audit.SubscriptionChanged, audit.SubscriptionChanged, audit.SubscriptionChanged, audit.PlanAssigned, audit.PlanDeleted,
	}
	for i, r := range o.notes.records {
		if i >= len(want) || r.Event != want[i] || r.Actor != "operator" {
			t.Errorf("note %d is %+v", i, r)
		}
	}
}

func TestPlansThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	o, ctx := newOffice(t), t.Context()
	now, negative, zero, much := o.clock.Now(), int64(-1), int64(0), int64(2_000_000)
	put := func(p account.Plan) error { _, err := o.Put(ctx, operator, p); return err }
	subscribe := func(userID string, n account.NewSubscription) error {
		_, err := o.Subscribe(ctx, operator, userID, n)
		return err
	}
	cancel := func() error { _, err := o.Cancel(ctx, operator, o.user, true); return err }
	for name, c := range map[string]struct {
		err  error
		kind core.Kind
	}{
		"no name":                    {put(account.Plan{}), core.KindInvalid},
		"the name of no plan":        {put(account.Plan{Name: core.PlanNone}), core.KindInvalid},
		"a name that is a path":      {put(account.Plan{Name: "a/b"}), core.KindInvalid},
		"an unknown capability":      {put(account.Plan{Name: "p", Capabilities: []core.Capability{"fly"}}), core.KindInvalid},
		"a model without a name":     {put(account.Plan{Name: "p", Models: []string{""}}), core.KindInvalid},
		"a negative cap":             {put(account.Plan{Name: "p", SpendCap: &negative}), core.KindInvalid},
		"a rate of nothing":          {put(account.Plan{Name: "p", RateLimit: &zero}), core.KindInvalid},
		"a rate without a bound":     {put(account.Plan{Name: "p", RateBurst: &much}), core.KindInvalid},
		"an unknown plan":            {o.Assign(ctx, operator, o.user, "gold"), core.KindInvalid},
		"a plan for nobody":          {o.Assign(ctx, operator, "usr_none", core.PlanOpen), core.KindNotFound},
		"the end of the default":     {o.Delete(ctx, operator, core.PlanOpen), core.KindConflict},
		"the end of what is not":     {o.Delete(ctx, operator, "gold"), core.KindNotFound},
		"a subscription to nothing":  {subscribe(o.user, account.NewSubscription{Plan: "gold"}), core.KindInvalid},
		"a subscription for nobody":  {subscribe("usr_none", account.NewSubscription{Plan: core.PlanOpen}), core.KindNotFound},
		"an end before the start":    {subscribe(o.user, account.NewSubscription{Plan: core.PlanOpen, EndsAt: &now}), core.KindInvalid},
		"a grace without an end":     {subscribe(o.user, account.NewSubscription{Plan: core.PlanOpen, Grace: time.Hour}), core.KindInvalid},
		"the end of no subscription": {cancel(), core.KindNotFound},
		"a negative cap of a key":    {o.CapCredential(ctx, core.Operator(o.user), "crd", &negative), core.KindInvalid},
	} {
		if !core.IsKind(c.err, c.kind) {
			t.Errorf("%s: %v, want %s", name, c.err, c.kind)
		}
	}
}

func TestPlansAreForAdmins(t *testing.T) {
	t.Parallel()
	o, ctx := newOffice(t), t.Context()
	member := core.Actor{UserID: o.user, Role: core.RoleMember, Plan: core.PlanOpen, Credential: core.CredentialSession, Scopes: core.RoleMember.Scopes()}
	for name, call := range map[string]func() error{
		"List":   func() error { _, err := o.List(ctx, member); return err },
		"Get":    func() error { _, err := o.Get(ctx, member, core.PlanOpen); return err },
		"Put":    func() error { _, err := o.Put(ctx, member, account.Plan{Name: "p"}); return err },
		"Delete": func() error { return o.Delete(ctx, member, "p") },
		"Assign": func() error { return o.Assign(ctx, member, o.user, core.PlanOpen) },
		"Of":     func() error { _, err := o.Of(ctx, member, o.user); return err },
		"Subscribe": func() error {
			_, err := o.Subscribe(ctx, member, o.user, account.NewSubscription{Plan: core.PlanOpen})
			return err
		},
		"Cancel": func() error { _, err := o.Cancel(ctx, member, o.user, true); return err },
	} {
		if err := call(); core.AsError(err).Code != "insufficient_scope" {
			t.Errorf("%s: %v", name, err)
		}
	}
	minted := core.Actor{UserID: o.user, Plan: core.PlanOpen, Credential: core.CredentialMinted, Scopes: core.RoleMember.Scopes()}
	if _, err := o.Own(ctx, minted); core.AsError(err).Code != "insufficient_scope" {
		t.Errorf("a minted key sees what is paid: %v", err)
	}
	if e, err := o.Own(ctx, member); err != nil || e.Plan.Name != core.PlanOpen {
		t.Errorf("one's own: %+v, %v", e, err)
	}
}
