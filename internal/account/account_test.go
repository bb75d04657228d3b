package account_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

var operator = core.Operator("")

// newService returns a service on an empty database.
func newService(t *testing.T) *account.Service {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return account.NewService(db, testkit.NewClock(), core.PlanOpen)
}

func ada() account.NewUser {
	return account.NewUser{Email: "ada@example.org", Name: "Ada", Password: "correct horse"}
}

func TestAnAccountIsMadeListedAndFound(t *testing.T) {
	t.Parallel()
	s := newService(t)
	n := ada()
	n.Email, n.Name = "  Ada@Example.ORG ", " Ada "
	u, err := s.Create(t.Context(), operator, n)
	if err != nil {
		t.Fatal(err)
	}
	if u.Email != "ada@example.org" || u.Name != "Ada" || u.Role != core.RoleMember || u.Plan != core.PlanOpen || !core.IsID(core.PrefixUser, u.ID) {
		t.Errorf("made %+v", u)
	}
	if found, err := s.ByEmail(t.Context(), operator, "ADA@example.org"); err != nil || found.ID != u.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	if users, err := s.List(t.Context(), operator); err != nil || len(users) != 1 || users[0].ID != u.ID {
		t.Errorf("listed %+v, %v", users, err)
	}
	if _, err := s.Create(t.Context(), operator, ada()); !core.IsKind(err, core.KindConflict) {
		t.Errorf("the same address again: %v", err)
	}
}

func TestABadAccountIsRefusedFieldByField(t *testing.T) {
	t.Parallel()
	s := newService(t)
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
		"a long address":       {func(n *account.NewUser) { n.Email = strings.Repeat("a", 251) + "@b.c" }, []string{"/email"}},
		"no name":              {func(n *account.NewUser) { n.Name = " \t" }, []string{"/name"}},
		"a long name":          {func(n *account.NewUser) { n.Name = strings.Repeat("é", 201) }, []string{"/name"}},
		"a NUL in a name":      {func(n *account.NewUser) { n.Name = "A\x00" }, []string{"/name"}},
		"a short password":     {func(n *account.NewUser) { n.Password = "1234567" }, []string{"/password"}},
		"a blank password":     {func(n *account.NewUser) { n.Password = strings.Repeat(" ", 12) }, []string{"/password"}},
		"a long password":      {func(n *account.NewUser) { n.Password = strings.Repeat("a", 257) }, []string{"/password"}},
		"an unknown role":      {func(n *account.NewUser) { n.Role = "root" }, []string{"/role"}},
		"an unknown plan":      {func(n *account.NewUser) { n.Plan = "Gold!" }, []string{"/plan"}},
		"nothing right":        {func(n *account.NewUser) { *n = account.NewUser{Role: "x", Plan: "Y!"} }, []string{"/email", "/name", "/password", "/role", "/plan"}},
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
		t.Errorf("there are %d accounts, %v", len(users), err)
	}
}

func TestCapAndEndOfAnAccount(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
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
		t.Errorf("it is %+v, %v", now, err)
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
		"a cap for nobody":         {s.SetSpendCap(ctx, operator, "usr_none", nil), core.KindNotFound},
		"an end of nobody":         {s.Disable(ctx, operator, "usr_none"), core.KindNotFound},
		"somebody with no account": {second(s.ByEmail(ctx, operator, "no@example.org")), core.KindNotFound},
	} {
		if !core.IsKind(c.err, c.kind) {
			t.Errorf("%s: %v, want %s", name, c.err, c.kind)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestOnlyWhoRunsTheInstallationManagesAccounts(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	member := core.Actor{UserID: "usr_x", Plan: core.PlanOpen, Credential: core.CredentialSession, Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage, core.ScopeAccount}}
	for name, err := range map[string]error{
		"Create": second(s.Create(ctx, member, ada())), "ByEmail": second(s.ByEmail(ctx, member, "x@y.z")), "List": second(s.List(ctx, member)),
		"Disable": s.Disable(ctx, member, "u"), "SetSpendCap": s.SetSpendCap(ctx, member, "u", nil),
	} {
		if !core.IsKind(err, core.KindForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPasswordIsKnownByItsHashAlone(t *testing.T) {
	t.Parallel()
	const password = "correct horse 😀"
	hash, err := account.HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	again, err := account.HashPassword(password)
	if err != nil || again == hash || strings.Contains(hash, "correct") || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hashes are %s and %s, %v", hash, again, err)
	}
	if !account.CheckPassword(hash, password) || !account.CheckPassword(again, password) {
		t.Error("the password does not match its hash")
	}
	if account.CheckPassword(hash, password+" ") || account.CheckPassword(hash, "") {
		t.Error("another password matches")
	}
	parts := strings.Split(hash, "$")
	replaced := func(i int, with string) string {
		p := slices.Clone(parts)
		p[i] = with
		return strings.Join(p, "$")
	}
	for _, bad := range []string{
		"", "none", "$", "$$$$$", hash[:len(hash)-4], hash + "$", replaced(1, "argon2i"), replaced(2, "v=16"), replaced(3, "m=19456,t=0,p=1"),
		replaced(3, "m=19456,t=2,p=0"), replaced(3, "x"), replaced(4, "***"), replaced(5, "***"), replaced(5, ""), replaced(3, "m=8,t=1,p=1"),
	} {
		if account.CheckPassword(bad, password) {
			t.Errorf("the hash %q matches", bad)
		}
	}
}
