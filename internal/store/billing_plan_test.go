package store_test

import (
	"slices"
	"time"

	"carrel/internal/account"
	"carrel/internal/billing"
	"carrel/internal/core"
)

// has returns a person's entitlement.
func (w *fixture) has(p person) billing.Entitlement {
	w.t.Helper()
	e, err := w.db.Entitlement(w.ctx, p.id)
	w.must(err)
	return e
}

// plan stores a plan with a unique name.
func (w *fixture) plan(change func(*billing.Plan)) billing.Plan {
	w.t.Helper()
	p := billing.Plan{Name: w.ada.id, Capabilities: []core.Capability{core.CapSearch}, CreatedAt: w.now, UpdatedAt: w.now}
	if change != nil {
		change(&p)
	}
	w.must(w.db.PutPlan(w.ctx, p))
	return p
}

// wantCaps fails the test unless the person's credentials have these caps.
func (w *fixture) wantCaps(p person, month string, want ...billing.CredentialCap) {
	w.t.Helper()
	got, err := w.db.CredentialCaps(w.ctx, p.id, month)
	w.must(err)
	w.same("caps", got, append([]billing.CredentialCap{}, want...))
}

var planTests = []test{
	{"PlanRoundTrips", func(w *fixture) {
		full := w.plan(func(p *billing.Plan) {
			p.Models, p.StripePrice, p.Price = []string{"a", `b"c`}, "price_1", 5
			p.SpendCap, p.TurnCap, p.RateLimit, p.RateBurst, p.StorageLimit = new(int64(1)), new(int64(2)), new(int64(3)), new(int64(4)), new(int64(5))
		})
		got, err := w.db.Plan(w.ctx, full.Name)
		w.must(err)
		w.same("read", got, full)
		changed := billing.Plan{Name: full.Name, CreatedAt: w.after(5), UpdatedAt: w.after(5)}
		w.must(w.db.PutPlan(w.ctx, changed))
		changed.CreatedAt = full.CreatedAt
		got, err = w.db.Plan(w.ctx, full.Name)
		w.must(err)
		w.same("changed", got, changed)
		_, err = w.db.Plan(w.ctx, "nothing")
		w.wantMissing(err, "plan")
	}},
	{"OpenPlanExistsAndIncludesEverything", func(w *fixture) {
		p, err := w.db.Plan(w.ctx, core.PlanOpen)
		w.must(err)
		w.same("capabilities", p.Capabilities, core.AllCapabilities())
		w.same("capped", p.SpendCap == nil && p.TurnCap == nil && p.StorageLimit == nil && p.Models == nil, true)
	}},
	{"PlanInUseCannotBeDeleted", func(w *fixture) {
		p := w.plan(nil)
		w.must(w.db.SetPlan(w.ctx, w.ada.id, p.Name))
		w.wantKind(w.db.DeletePlan(w.ctx, p.Name), core.KindConflict, "")
		w.must(w.db.SetPlan(w.ctx, w.ada.id, core.PlanOpen))
		w.must(w.db.PutSubscription(w.ctx, billing.Subscription{UserID: w.bert.id, Plan: p.Name, Status: billing.SubscriptionEnded, StartsAt: w.now, EventAt: w.now, UpdatedAt: w.now}))
		w.wantKind(w.db.DeletePlan(w.ctx, p.Name), core.KindConflict, "")
		w.must(w.db.SetPlan(w.ctx, w.bert.id, core.PlanOpen))
		w.must(w.db.DeletePlan(w.ctx, p.Name))
		w.wantMissing(w.db.DeletePlan(w.ctx, p.Name), "plan")
	}},
	{"SubscriptionReplacesThePlanUntilAPlanIsSet", func(w *fixture) {
		open, err := w.db.Plan(w.ctx, core.PlanOpen)
		w.must(err)
		w.same("at first", w.has(w.ada), billing.Entitlement{Plan: &open})
		p := w.plan(nil)
		end, grace := w.after(1000), w.after(2000)
		s := billing.Subscription{
			UserID: w.ada.id, Plan: p.Name, Status: billing.SubscriptionTrial, StartsAt: w.now, EndsAt: &end, GraceUntil: &grace,
			CancelAtEnd: true, Source: billing.SubscriptionByAdmin, ExternalID: "sub_1", EventAt: w.now, UpdatedAt: w.now.Add(time.Minute),
		}
		w.must(w.db.PutSubscription(w.ctx, s))
		w.same("subscribed", w.has(w.ada), billing.Entitlement{Plan: &p, Subscription: &s})
		s.Status, s.EndsAt, s.GraceUntil, s.CancelAtEnd = billing.SubscriptionActive, nil, nil, false
		w.must(w.db.PutSubscription(w.ctx, s))
		got, err := w.db.Subscription(w.ctx, w.ada.id)
		w.must(err)
		w.same("changed", got, s)
		w.must(w.db.SetPlan(w.ctx, w.ada.id, core.PlanNone))
		w.same("with none", w.has(w.ada), billing.Entitlement{})
		_, err = w.db.Subscription(w.ctx, w.ada.id)
		w.wantMissing(err, "subscription")
	}},
	{"SubscriptionNeedsItsUser", func(w *fixture) {
		w.wantMissing(w.db.PutSubscription(w.ctx, billing.Subscription{UserID: "usr_none", Plan: core.PlanOpen, Status: billing.SubscriptionActive}), "user")
		w.wantMissing(w.db.SetPlan(w.ctx, "usr_none", core.PlanOpen), "user")
		_, err := w.db.Entitlement(w.ctx, "usr_none")
		w.wantMissing(err, "user")
	}},
	{"CredentialCapIsHiddenFromOtherUsers", func(w *fixture) {
		w.must(w.db.SetCredentialCap(w.ctx, w.ada.id, "crd_"+w.ada.id, new(int64(1))))
		w.wantMissing(w.db.SetCredentialCap(w.ctx, w.bert.id, "crd_"+w.ada.id, new(int64(9))), "credential")
		w.must(w.db.SetCredentialCap(w.ctx, w.bert.id, "crd_"+w.ada.id, nil))
		w.wantKind(w.reserve(w.with("crd_"+w.ada.id), 2), core.KindPaymentRequired, "")
		w.must(w.reserve(w.with("crd_"+w.ada.id), 1))
		month := core.Month(w.now)
		w.wantCaps(w.ada, month, billing.CredentialCap{CredentialID: "crd_" + w.ada.id, Cap: 1, Used: 1})
		w.wantCaps(w.ada, "2020-01", billing.CredentialCap{CredentialID: "crd_" + w.ada.id, Cap: 1})
		w.wantCaps(w.bert, month)
	}},
	{"UsersAreFoundByPartsOfTheirNameAndAddress", func(w *fixture) {
		for words, want := range map[string]bool{"": true, w.bert.user.Email: true, "BERT": true, "be%t": false, "be_t": false, `\`: false} {
			users, err := w.db.UsersBefore(w.ctx, words, "", 1000)
			w.must(err)
			got := slices.ContainsFunc(users, func(u account.User) bool { return u.ID == w.bert.id })
			w.same("found by "+words, got, want)
		}
	}},
	{"SizeAndRunningNodesAreReported", func(w *fixture) {
		kind, bytes, err := w.db.Size(w.ctx)
		w.must(err)
		if kind != "sqlite" && kind != "postgres" || bytes < 4096 {
			w.t.Errorf("%s of %d bytes", kind, bytes)
		}
		alive, dead := core.NewID("node"), core.NewID("node")
		lease := time.Hour
		if kind == "sqlite" {
			lease = -time.Hour // a single node does not renew its lease
		}
		w.must(w.db.JoinNode(w.ctx, alive, "1.2", lease, false))
		w.must(w.db.JoinNode(w.ctx, dead, "1.1", -time.Second, false))
		nodes, err := w.db.Nodes(w.ctx)
		w.must(err)
		found := map[string]string{}
		for _, n := range nodes {
			found[n.ID] = n.Version
		}
		if found[alive] != "1.2" || kind == "postgres" && found[dead] != "" {
			w.t.Errorf("the nodes are %v", nodes)
		}
		w.must(w.db.LeaveNode(w.ctx, alive))
		w.must(w.db.LeaveNode(w.ctx, dead))
	}},
}
