package account_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/secretbox"
	"carrel/internal/signin"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

var operator = core.Operator("")

// testService is the service on an empty database.
type testService struct {
	*account.Service
	clock *testkit.Clock
	audit *audit.Log
	deps  account.Deps
}

func newTestService(t *testing.T) *testService {
	t.Helper()
	db := fixture.OpenStore(t)
	f := &testService{clock: testkit.NewClock()}
	f.audit = audit.New(audit.Deps{Store: db, Clock: f.clock, Log: slog.New(slog.DiscardHandler)})
	key := make([]byte, 32)
	sealer, err := secretbox.New(key, "test")
	if err != nil {
		t.Fatal(err)
	}
	signIn := signin.NewService(signin.Deps{
		Store: db, Clock: f.clock, Audit: f.audit, Sealer: sealer, Key: key,
		Sessions: credential.NewSessions(credential.SessionDeps{Store: db, Clock: f.clock, Audit: f.audit, HashKey: key}),
	})
	f.deps = account.Deps{
		Store:       db,
		Clock:       f.clock,
		Audit:       f.audit,
		Passwords:   signIn.Passwords,
		DefaultPlan: core.PlanOpen,
	}
	f.Service = account.NewService(f.deps)
	return f
}

func TestMain(m *testing.M) { testkit.Main(m) }

func ada() account.NewUser {
	return account.NewUser{Email: "ada@example.org", Name: "Ada", Password: "correct horse"}
}

func TestAccountIsCreatedListedAndFound(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	n := ada()
	n.Email, n.Name = "  Ada@Example.ORG ", " Ada "
	u, err := s.Create(t.Context(), operator, n)
	if err != nil {
		t.Fatal(err)
	}
	if u.Email != "ada@example.org" || u.Name != "Ada" || u.Role != core.RoleMember || u.Plan != core.PlanOpen ||
		!core.IsID(core.PrefixUser, u.ID) {
		t.Errorf("created %+v", u)
	}
	if found, err := s.ByEmail(t.Context(), operator, "ADA@example.org"); err != nil || found.ID != u.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	if users, err := s.List(t.Context(), operator); err != nil || len(users) != 1 || users[0].ID != u.ID {
		t.Errorf("listed %+v, %v", users, err)
	}
	if _, err := s.Create(t.Context(), operator, ada()); !core.IsKind(err, core.KindConflict) {
		t.Errorf("duplicate address: %v", err)
	}
}

func TestInvalidAccountIsRejectedWithAllFields(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	for name, c := range map[string]struct {
		change func(*account.NewUser)
		fields []string
	}{
		"no address":           {func(n *account.NewUser) { n.Email = "" }, []string{"/email"}},
		"no domain":            {func(n *account.NewUser) { n.Email = "ada" }, []string{"/email"}},
		"a name with address":  {func(n *account.NewUser) { n.Email = "Ada <ada@example.org>" }, []string{"/email"}},
		"two addresses":        {func(n *account.NewUser) { n.Email = "a@b.c, d@e.f" }, []string{"/email"}},
		"a line in an address": {func(n *account.NewUser) { n.Email = "a@b.c\nBcc: x@y.z" }, []string{"/email"}},
		"a NUL in an address":  {func(n *account.NewUser) { n.Email = "a\x00@b.c" }, []string{"/email"}},
		"a long address": {
			func(n *account.NewUser) { n.Email = strings.Repeat("a", 251) + "@b.c" }, []string{"/email"},
		},
		"no name":          {func(n *account.NewUser) { n.Name = " \t" }, []string{"/name"}},
		"a long name":      {func(n *account.NewUser) { n.Name = strings.Repeat("é", 201) }, []string{"/name"}},
		"a NUL in a name":  {func(n *account.NewUser) { n.Name = "A\x00" }, []string{"/name"}},
		"a short password": {func(n *account.NewUser) { n.Password = "1234567" }, []string{"/password"}},
		"a blank password": {func(n *account.NewUser) { n.Password = strings.Repeat(" ", 12) }, []string{"/password"}},
		"a long password":  {func(n *account.NewUser) { n.Password = strings.Repeat("a", 257) }, []string{"/password"}},
		"an unknown role":  {func(n *account.NewUser) { n.Role = "root" }, []string{"/role"}},
		"an unknown plan":  {func(n *account.NewUser) { n.Plan = "Gold!" }, []string{"/plan"}},
		"all invalid": {
			func(n *account.NewUser) { *n = account.NewUser{Role: "x", Plan: "Y!"} },
			[]string{"/email", "/name", "/password", "/role", "/plan"},
		},
	} {
		n := ada()
		c.change(&n)
		_, err := s.Create(t.Context(), operator, n)
		var fields []string
		for _, f := range core.AsError(err).Fields {
			fields = append(fields, f.Pointer)
		}
		if !core.IsKind(err, core.KindInvalid) || !slices.Equal(fields, c.fields) {
			t.Errorf("%s: %v about %v, want %v", name, err, fields, c.fields)
		}
	}
	if users, err := s.List(t.Context(), operator); err != nil || len(users) != 0 {
		t.Errorf("%d accounts were stored, error %v", len(users), err)
	}
}

func TestSpendCapAndDisable(t *testing.T) {
	t.Parallel()
	s, ctx := newTestService(t), t.Context()
	u, err := s.Create(ctx, operator, ada())
	if err != nil {
		t.Fatal(err)
	}
	limit, negative := int64(12_500_000), int64(-1)
	for name, err := range map[string]error{
		"cap": s.SetSpendCap(ctx, operator, u.ID, &limit), "disable": s.Disable(ctx, operator, u.ID),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	now, err := s.ByEmail(ctx, operator, u.Email)
	if err != nil || now.SpendCap == nil || *now.SpendCap != limit || now.DisabledAt == nil {
		t.Errorf("account %+v, error %v", now, err)
	}
	if err := s.SetSpendCap(ctx, operator, u.ID, nil); err != nil {
		t.Error(err)
	}
	if now, err := s.ByEmail(ctx, operator, u.Email); err != nil || now.SpendCap != nil {
		t.Errorf("the cap is %v, %v", now.SpendCap, err)
	}
	for name, c := range map[string]struct {
		err  error
		kind core.Kind
	}{
		"a negative cap":           {s.SetSpendCap(ctx, operator, u.ID, &negative), core.KindInvalid},
		"a cap for a missing user": {s.SetSpendCap(ctx, operator, "usr_none", nil), core.KindNotFound},
		"disabling a missing user": {s.Disable(ctx, operator, "usr_none"), core.KindNotFound},
		"an unknown address":       {second(s.ByEmail(ctx, operator, "no@example.org")), core.KindNotFound},
	} {
		if !core.IsKind(c.err, c.kind) {
			t.Errorf("%s: %v, want %s", name, c.err, c.kind)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestMembersCannotManageAccounts(t *testing.T) {
	t.Parallel()
	s, ctx := newTestService(t), t.Context()
	member := core.Actor{
		UserID:     "usr_x",
		Plan:       core.PlanOpen,
		Credential: core.CredentialSession,
		Scopes:     []core.Scope{core.ScopeAgents, core.ScopeManage, core.ScopeAccount},
	}
	for name, err := range map[string]error{
		"Create": second(s.Create(ctx, member, ada())), "ByEmail": second(s.ByEmail(ctx, member, "x@y.z")),
		"List":    second(s.List(ctx, member)),
		"Disable": s.Disable(ctx, member, "u"), "SetSpendCap": s.SetSpendCap(ctx, member, "u", nil),
	} {
		if !core.IsKind(err, core.KindForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNewAccountsGetTheDefaultPlan(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	for _, plan := range []string{"free", core.PlanNone} {
		deps := f.deps
		deps.DefaultPlan = plan
		n := ada()
		n.Email = plan + "@example.org"
		if u, err := account.NewService(deps).Create(t.Context(), operator, n); err != nil || u.Plan != plan {
			t.Errorf("default %s: %+v, %v", plan, u, err)
		}
	}
}

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	testkit.RequiresDeps(t, newTestService(t).deps, func(d account.Deps) { account.NewService(d) })
}
