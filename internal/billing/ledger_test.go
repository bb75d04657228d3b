package billing_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

// ledger is the billing service on a database with two members, "ada" and "bob". Each has two keys, "ada1" and so on.
// The clock starts at noon of 15 June 2025.
type ledger struct {
	*billing.Service
	t     *testing.T
	db    *store.DB
	clock *testkit.Clock
	notes notes
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	db := fixture.OpenStore(t)
	l := &ledger{t: t, db: db, clock: testkit.NewClock()}
	l.clock.Set(time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC))
	l.Service = billing.NewService(billing.Deps{
		Store: db, Clock: l.clock, Audit: &l.notes, DefaultPlan: core.PlanOpen,
	})
	for _, id := range []string{"ada", "bob"} {
		u := account.User{
			ID: id, Email: id + "@example.org", Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: l.clock.Now(),
		}
		l.must(db.InsertUser(t.Context(), u, "none"))
		for _, n := range []string{"1", "2"} {
			k := credential.Key{ID: id + n, UserID: id, Kind: core.CredentialKey, Name: id + n, CreatedAt: l.clock.Now()}
			l.must(db.InsertKey(t.Context(), k, []byte(id+n)))
		}
	}
	return l
}

func (l *ledger) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// session returns the actor of a member's session.
func session(userID string) core.Actor {
	return core.Actor{
		UserID: userID, Role: core.RoleMember, Plan: core.PlanOpen, CredentialID: "ses", Credential: core.CredentialSession,
		Scopes: core.RoleMember.Scopes(),
	}
}

// hold reserves the cost of a search with a key.
func (l *ledger) hold(key string, micros int64) (string, error) {
	return l.Spending.Hold(l.t.Context(), billing.Purchase{
		UserID: key[:3], CredentialID: key, AgentID: "agt_" + key[:3], Kind: billing.MeteredSearch, Model: "exa",
		Micros: micros,
	})
}

// buy holds and settles the cost of a search.
func (l *ledger) buy(key string, micros int64) {
	l.t.Helper()
	id, err := l.hold(key, micros)
	l.must(err)
	l.must(l.Spending.SettleHold(l.t.Context(), id, micros, false))
}

// used checks the amount a user has spent and reserved this month.
func (l *ledger) used(userID string, want int64) {
	l.t.Helper()
	if got, err := l.Spending.Spend(l.t.Context(), userID); err != nil || got.Used != want {
		l.t.Errorf("%s has used %d (%v), want %d", userID, got.Used, err, want)
	}
}

// total returns the usage of all accounts of this month in one row.
func (l *ledger) total() billing.Usage {
	l.t.Helper()
	r, err := l.Usage.Of(l.t.Context(), operator, "", billing.UsageQuery{})
	l.must(err)
	var sum billing.Usage
	for _, row := range r.Rows {
		sum.Calls += row.Calls
		sum.Spent += row.Spent
		sum.Estimated += row.Estimated
		sum.Reserved += row.Reserved
	}
	return sum
}

// balanced checks that the monthly totals are the sums of the rows.
func (l *ledger) balanced() {
	l.t.Helper()
	if found, err := l.Spending.Check(l.t.Context(), operator); err != nil || len(found) > 0 {
		l.t.Errorf("totals differ from their rows: %+v, %v", found, err)
	}
}

func TestHoldIsReplacedByTheActualCostOnce(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	id, err := l.hold("ada1", 50)
	l.must(err)
	l.used("ada", 50)
	for _, micros := range []int64{20, 99, 0} {
		l.must(l.Spending.SettleHold(t.Context(), id, micros, false))
		l.used("ada", 20)
	}
	more, err := l.hold("ada1", 50)
	l.must(err)
	l.must(l.Spending.SettleHold(t.Context(), more, 80, true)) // it cost more than the maximum
	l.used("ada", 100)
	if got, want := l.total(), (billing.Usage{Calls: 2, Spent: 100, Estimated: 80}); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	l.must(l.Spending.SettleHold(t.Context(), "spd_unknown", 5, false))
	l.used("ada", 100)
	l.used("bob", 0)
	l.balanced()
}

// A negative price must not give money back.
func TestNegativeAmountsCountAsZero(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.buy("ada1", 30)
	id, err := l.hold("ada1", -100)
	l.must(err)
	l.used("ada", 30)
	l.must(l.Spending.SettleHold(t.Context(), id, -100, false))
	l.used("ada", 30)
	l.balanced()
}

func TestConcurrentHoldsStayBelowTheCap(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.must(l.db.SetSpendCap(t.Context(), "ada", new(int64(100))))
	var accepted, refused atomic.Int32
	testkit.Concurrently(20, func(i int) {
		_, err := l.hold([]string{"ada1", "ada2"}[i%2], 15)
		switch {
		case err == nil:
			accepted.Add(1)
		case core.AsError(err).Code == "spend_cap_reached":
			refused.Add(1)
		default:
			t.Error(err)
		}
	})
	if accepted.Load() != 6 || refused.Load() != 14 {
		t.Errorf("%d holds of 15 below a cap of 100, %d refused", accepted.Load(), refused.Load())
	}
	l.used("ada", 90)
	if _, err := l.hold("ada1", 10); err != nil {
		t.Errorf("exactly at the cap: %v", err)
	}
	if _, err := l.hold("bob1", 1000); err != nil {
		t.Errorf("the cap of another user: %v", err)
	}
	l.balanced()
}

// A process that crashes leaves its holds open. The service may have charged for them.
func TestAbandonedHoldCountsAsSpentAfterAnHour(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	id, err := l.hold("ada1", 30)
	l.must(err)
	reconcile := func() {
		t.Helper()
		if found, err := l.Spending.Reconcile(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("differences %+v, %v", found, err)
		}
	}
	for _, step := range []struct {
		after time.Duration
		want  billing.Usage
	}{
		{59 * time.Minute, billing.Usage{Calls: 1, Reserved: 30}},
		{2 * time.Minute, billing.Usage{Calls: 1, Spent: 30, Estimated: 30}},
	} {
		l.clock.Advance(step.after)
		reconcile()
		if got := l.total(); got != step.want {
			t.Errorf("usage %+v, want %+v", got, step.want)
		}
		l.used("ada", 30)
	}
	l.must(l.Spending.SettleHold(t.Context(), id, 12, false)) // the process was only slow
	if got, want := l.total(), (billing.Usage{Calls: 1, Spent: 12}); got != want {
		t.Errorf("after settling, usage %+v, want %+v", got, want)
	}
	reconcile()
	if _, err := l.Spending.Check(t.Context(), session("ada")); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a member checks the ledger: %v", err)
	}
}

func TestCredentialCapLimitsOneCredential(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	ctx, ada := t.Context(), session("ada")
	l.must(l.Plans.CapCredential(ctx, ada, "ada1", new(int64(100))))
	l.buy("ada1", 70)
	_, err := l.hold("ada1", 31)
	if e := core.AsError(err); e.Code != "spend_cap_reached" {
		t.Errorf("above the cap: %v", err)
	}
	l.buy("ada2", 500)
	caps := func(want ...billing.CredentialCap) {
		t.Helper()
		if got, err := l.Plans.Caps(ctx, ada); err != nil || !slices.Equal(got, want) {
			t.Errorf("caps %+v, %v, want %+v", got, err, want)
		}
	}
	caps(billing.CredentialCap{CredentialID: "ada1", Cap: 100, Used: 70})
	l.must(l.Plans.CapCredential(ctx, ada, "ada2", new(int64(0))))
	if _, err := l.hold("ada2", 1); core.AsError(err).Code != "spend_cap_reached" {
		t.Errorf("a cap of zero: %v", err)
	}
	l.clock.Set(time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC))
	caps(billing.CredentialCap{CredentialID: "ada1", Cap: 100}, billing.CredentialCap{CredentialID: "ada2"})
	l.buy("ada1", 100)
	l.must(l.Plans.CapCredential(ctx, ada, "ada1", nil))
	caps(billing.CredentialCap{CredentialID: "ada2"})
	l.buy("ada1", 1000)
	for i, r := range l.notes.records {
		if r.Event != audit.CapChanged || r.UserID != "ada" || r.Actor != "ses" {
			t.Errorf("audit record %d is %+v", i, r)
		}
	}
	if len(l.notes.records) != 3 {
		t.Errorf("%d audit records, want 3", len(l.notes.records))
	}
	l.balanced()
}

func TestCapsAreChangedOnlyByTheOwnerWithoutACap(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	capped, limited := session("ada"), session("ada")
	capped.CredentialSpend = core.Spend{Of: core.SpendOfCredential, Capped: true, Cap: 5}
	limited.Scopes = []core.Scope{core.ScopeAgents, core.ScopeManage}
	for name, tc := range map[string]struct {
		actor  core.Actor
		key    string
		micros int64
		kind   core.Kind
	}{
		"a credential with a cap":        {capped, "ada1", 10, core.KindForbidden},
		"a credential without the scope": {limited, "ada1", 10, core.KindForbidden},
		"a negative cap":                 {session("ada"), "ada1", -1, core.KindInvalid},
		"the key of another user":        {session("ada"), "bob1", 10, core.KindNotFound},
		"a key that does not exist":      {session("ada"), "ada3", 10, core.KindNotFound},
	} {
		if err := l.Plans.CapCredential(t.Context(), tc.actor, tc.key, &tc.micros); !core.IsKind(err, tc.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(l.notes.records) != 0 {
		t.Errorf("recorded %+v", l.notes.records)
	}
	for _, user := range []string{"ada", "bob"} {
		if caps, err := l.Plans.Caps(t.Context(), session(user)); err != nil || len(caps) != 0 {
			t.Errorf("%s has the caps %+v, %v", user, caps, err)
		}
	}
	if _, err := l.Plans.Caps(t.Context(), limited); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("listing caps without the scope: %v", err)
	}
}

// fill buys searches on the last days of May and in June, and holds one.
func (l *ledger) fill() {
	l.t.Helper()
	buy := func(day time.Time, key string, kind billing.Metered, model string, micros int64, estimated bool) {
		l.t.Helper()
		l.clock.Set(day)
		id, err := l.Spending.Hold(l.t.Context(), billing.Purchase{
			UserID: key[:3], CredentialID: key, AgentID: "agt_" + key[:3], Kind: kind, Model: model, Micros: 2 * micros,
		})
		l.must(err)
		l.must(l.Spending.SettleHold(l.t.Context(), id, micros, estimated))
	}
	june := func(day, hour int) time.Time { return time.Date(2025, 6, day, hour, 0, 0, 0, time.UTC) }
	buy(june(1, 0).Add(-time.Millisecond), "ada1", billing.MeteredSearch, "exa", 1, false) // 31 May
	buy(june(1, 0), "ada1", billing.MeteredSearch, "exa", 10, false)
	buy(june(1, 23), "ada2", billing.MeteredSearch, "exa", 20, true)
	buy(june(2, 12), "ada1", billing.MeteredEmbedding, "=cmd()", 1_500_000, false)
	buy(june(2, 12), "ada1", billing.MeteredEmbedding, "=cmd()", 1, false)
	buy(june(2, 12), "bob1", billing.MeteredSearch, "exa", 7000, false)
	l.clock.Set(june(15, 12))
	_, err := l.hold("ada2", 40)
	l.must(err)
	l.must(l.db.AddSearches(l.t.Context(), []source.Searches{
		{UserID: "ada", Day: "2025-05-31", Count: 100},
		{UserID: "ada", Day: "2025-06-02", Count: 3},
		{UserID: "bob", Day: "2025-06-02", Count: 50},
	}))
}

func TestUsageIsGroupedByEveryDimension(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.fill()
	first := billing.Usage{Calls: 2, Spent: 30, Estimated: 20}
	second := billing.Usage{Calls: 2, Spent: 1_500_001}
	held := billing.Usage{Calls: 1, Reserved: 40}
	named := func(u billing.Usage, name string) billing.Usage { u.Name = name; return u }
	for by, want := range map[billing.UsageBy][]billing.Usage{
		"": {named(first, "2025-06-01"), named(second, "2025-06-02"), named(held, "2025-06-15")},
		billing.UsageByAgent: {
			{Name: "agt_ada", Calls: 5, Spent: 1_500_031, Estimated: 20, Reserved: 40},
		},
		billing.UsageByCredential: {
			{Name: "ada1", Calls: 3, Spent: 1_500_011}, {Name: "ada2", Calls: 2, Spent: 20, Estimated: 20, Reserved: 40},
		},
		billing.UsageByModel: {
			named(second, "=cmd()"), {Name: "exa", Calls: 3, Spent: 30, Estimated: 20, Reserved: 40},
		},
	} {
		r, err := l.Usage.Own(t.Context(), session("ada"), billing.UsageQuery{By: by})
		if err != nil || !slices.Equal(r.Rows, want) {
			t.Errorf("by %q: %+v, %v, want %+v", by, r.Rows, err, want)
		}
		if r.From != "2025-06-01" || r.To != "2025-06-15" || r.Searches != 3 || r.Spend.Used != 1_500_071 {
			t.Errorf("by %q: %+v", by, r)
		}
	}
	all, err := l.Usage.Of(t.Context(), operator, "", billing.UsageQuery{By: billing.UsageByUser})
	want := []billing.Usage{
		{Name: "ada", Calls: 5, Spent: 1_500_031, Estimated: 20, Reserved: 40}, {Name: "bob", Calls: 1, Spent: 7000},
	}
	if err != nil || !slices.Equal(all.Rows, want) || all.Searches != 53 || all.Spend != (core.Spend{}) {
		t.Errorf("of all users: %+v, %v", all, err)
	}
	bob, err := l.Usage.Of(t.Context(), operator, "bob", billing.UsageQuery{})
	if err != nil || len(bob.Rows) != 1 || bob.Rows[0].Spent != 7000 || bob.Searches != 50 || bob.Spend.Used != 7000 {
		t.Errorf("of one user: %+v, %v", bob, err)
	}
}

func TestUsageRangeIncludesBothDays(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.fill()
	for query, want := range map[billing.UsageQuery]int64{
		{From: "2025-05-31", To: "2025-05-31"}: 1,
		{From: "2025-05-31", To: "2025-06-01"}: 31,
		{From: "2025-06-02"}:                   1_500_001,
		{To: "2025-06-01"}:                     30,
		{To: "2025-05-31"}:                     1, // from the first of May
		{From: "2024-06-15"}:                   1_500_032,
		{From: "2025-06-03", To: "2025-06-14"}: 0,
	} {
		r, err := l.Usage.Own(t.Context(), session("ada"), query)
		if err != nil {
			t.Errorf("%+v: %v", query, err)
		}
		spent := int64(0)
		for _, row := range r.Rows {
			spent += row.Spent
		}
		if spent != want {
			t.Errorf("%+v: %d spent, want %d", query, spent, want)
		}
	}
}

func TestInvalidUsageQueriesAreRefused(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	for query, field := range map[billing.UsageQuery]string{
		{By: "month"}:                          "by",
		{By: billing.UsageByUser}:              "by", // for administrators
		{To: "tomorrow"}:                       "to",
		{To: "2025-02-30"}:                     "to",
		{To: "2025-6-1"}:                       "to",
		{From: "2025-06-31"}:                   "from",
		{From: "2025-06-16"}:                   "from",
		{From: "2025-06-02", To: "2025-06-01"}: "from",
		{From: "2024-06-14"}:                   "from", // 367 days
		{From: "2025-06-01T00:00:00Z"}:         "from",
	} {
		_, err := l.Usage.Own(t.Context(), session("ada"), query)
		e := core.AsError(err)
		if !core.IsKind(err, core.KindInvalid) || len(e.Fields) != 1 || e.Fields[0].Pointer != field {
			t.Errorf("%+v: %v %+v", query, err, e.Fields)
		}
		if query.By == billing.UsageByUser {
			continue
		}
		if err := l.Usage.WriteOwnCSV(t.Context(), session("ada"), query, io.Discard); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("as CSV, %+v: %v", query, err)
		}
	}
}

func TestUsageIsShownToTheOwnerAndToAdministrators(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	limited := session("ada")
	limited.Scopes = []core.Scope{core.ScopeAgents, core.ScopeManage}
	for name, read := range map[string]func() error{
		"own without the scope": func() error {
			_, err := l.Usage.Own(t.Context(), limited, billing.UsageQuery{})
			return err
		},
		"CSV without the scope": func() error {
			return l.Usage.WriteOwnCSV(t.Context(), limited, billing.UsageQuery{}, io.Discard)
		},
		"all as a member": func() error {
			_, err := l.Usage.Of(t.Context(), session("ada"), "", billing.UsageQuery{})
			return err
		},
		"own as if an administrator": func() error {
			_, err := l.Usage.Of(t.Context(), session("ada"), "ada", billing.UsageQuery{})
			return err
		},
		"storage without the scope": func() error {
			_, err := l.Plans.Storage(t.Context(), limited)
			return err
		},
	} {
		if err := read(); !core.IsKind(err, core.KindForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.Usage.Of(t.Context(), operator, "nobody", billing.UsageQuery{}); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("of an account that does not exist: %v", err)
	}
}

func TestUsageIsExportedAsCSV(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.fill()
	var out strings.Builder
	l.must(l.Usage.WriteOwnCSV(t.Context(), session("ada"), billing.UsageQuery{From: "2025-05-31"}, &out))
	// A model name that begins like a formula must not be evaluated by a spreadsheet.
	const want = `day,agent,credential,kind,model,calls,spent_usd,estimated_usd,reserved_usd
2025-05-31,agt_ada,ada1,search,exa,1,0.000001,0.000000,0.000000
2025-06-01,agt_ada,ada1,search,exa,1,0.000010,0.000000,0.000000
2025-06-01,agt_ada,ada2,search,exa,1,0.000020,0.000020,0.000000
2025-06-02,agt_ada,ada1,embedding,'=cmd(),2,1.500001,0.000000,0.000000
2025-06-15,agt_ada,ada2,search,exa,1,0.000000,0.000000,0.000040
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	err := l.Usage.WriteOwnCSV(t.Context(), session("ada"), billing.UsageQuery{}, brokenPipe{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("to a client that has gone: %v", err)
	}
}

// brokenPipe fails every write.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStorageLimitIsThatOfThePlan(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	if got, err := l.Plans.Storage(t.Context(), session("ada")); err != nil || got != (core.Storage{}) {
		t.Errorf("open plan: %+v, %v", got, err)
	}
	for _, tc := range []struct {
		plan  string
		limit *int64
		want  core.Storage
	}{
		{"small", new(int64(1000)), core.Storage{Limited: true, Limit: 1000}},
		{"unlimited", nil, core.Storage{}},
	} {
		_, err := l.Plans.Put(t.Context(), operator, billing.Plan{Name: tc.plan, StorageLimit: tc.limit})
		l.must(err)
		l.must(l.Plans.Assign(t.Context(), operator, "ada", tc.plan))
		if got, err := l.Plans.Storage(t.Context(), session("ada")); err != nil || got != tc.want {
			t.Errorf("plan %s: %+v, %v, want %+v", tc.plan, got, err, tc.want)
		}
	}
}
