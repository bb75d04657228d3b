package account_test

import (
	"fmt"
	"slices"
	"testing"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/testkit"
)

// TestAdjustmentRules has one case for each combination of actor, target and field that the rules treat differently.
func TestAdjustmentRules(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	owner, admin := f.user(t, "owner@example.org", core.RoleOwner), f.user(t, "admin@example.org", core.RoleAdmin)
	other, member := f.user(t, "other@example.org", core.RoleAdmin), f.user(t, "ada@example.org", core.RoleMember)
	role := account.Adjustment{Role: new(core.RoleMember)}
	promote := account.Adjustment{Role: new(core.RoleAdmin)}
	disable := account.Adjustment{Disabled: new(true)}
	spendCap := new(int64(5))
	limit := account.Adjustment{SpendCap: &spendCap}
	address := func(email string) account.Adjustment { return account.Adjustment{Email: &email} }
	for name, c := range map[string]struct {
		actor  core.Actor
		target account.User
		change account.Adjustment
		want   core.Kind
	}{
		"an administrator demotes the owner":      {f.session(admin), owner, role, core.KindConflict},
		"an administrator disables the owner":     {f.session(admin), owner, disable, core.KindConflict},
		"the owner changes their own role":        {f.session(owner), owner, role, core.KindConflict},
		"an administrator changes their own role": {f.session(admin), admin, role, core.KindConflict},
		"an administrator disables themselves":    {f.session(admin), admin, disable, core.KindConflict},
		"an administrator sets their own address": {
			f.session(admin), admin, address("x@example.org"), core.KindConflict,
		},
		"an administrator promotes a member": {f.session(admin), member, promote, core.KindForbidden},
		"an administrator demotes another":   {f.session(admin), other, role, core.KindForbidden},
		"an administrator disables another":  {f.session(admin), other, disable, core.KindForbidden},
		"an administrator sets the address of another": {
			f.session(admin), other, address("x@example.org"), core.KindForbidden,
		},
		"a member adjusts":               {f.session(member), other, limit, core.KindForbidden},
		"the operator demotes the owner": {operator, owner, role, core.KindConflict},
		"an unknown role": {
			f.session(owner), member, account.Adjustment{Role: new(core.RoleOwner)}, core.KindInvalid,
		},
		"an invalid address": {f.session(owner), member, address("x"), core.KindInvalid},
		"an address in use": {
			f.session(owner), member, address("other@example.org"), core.KindConflict,
		},
		"a missing user": {
			f.session(owner), account.User{ID: "usr_none"}, limit, core.KindNotFound,
		},
	} {
		if _, err := f.Adjust(ctx, c.actor, c.target.ID, c.change); !core.IsKind(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	negative := new(int64(-1))
	_, err := f.Adjust(ctx, f.session(owner), member.ID, account.Adjustment{SpendCap: &negative})
	if !core.IsKind(err, core.KindInvalid) {
		t.Errorf("a negative cap: %v", err)
	}
	for _, u := range []account.User{owner, admin, other, member} {
		if events := f.events(t, u.ID); len(events) != 0 {
			t.Errorf("rejected adjustments of %s are recorded: %v", u.Email, events)
		}
	}
}

func TestAdjustmentIsStoredAndRecorded(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	owner, member := f.user(t, "owner@example.org", core.RoleOwner), f.user(t, "ada@example.org", core.RoleMember)
	adjust := func(a account.Adjustment) account.User {
		t.Helper()
		u, err := f.Adjust(ctx, f.session(owner), member.ID, a)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := f.Get(ctx, f.session(owner), member.ID)
		if err != nil || stored.Email != u.Email || stored.Role != u.Role ||
			(stored.DisabledAt == nil) != (u.DisabledAt == nil) {
			t.Errorf("stored %+v, returned %+v, %v", stored, u, err)
		}
		return u
	}
	request := account.ProfileChange{Email: new("new@example.org")}
	if _, err := f.ChangeProfile(ctx, f.session(member), request); err != nil {
		t.Fatal(err)
	}
	u := adjust(account.Adjustment{Email: new(" New@example.org")})
	if u.Email != "new@example.org" || u.PendingEmail != "" || !u.EmailVerified {
		t.Errorf("approved address: %+v", u)
	}
	spendCap := new(int64(5))
	u = adjust(account.Adjustment{Role: new(core.RoleAdmin), SpendCap: &spendCap, Disabled: new(true)})
	if u.Role != core.RoleAdmin || u.SpendCap == nil || *u.SpendCap != 5 || u.DisabledAt == nil {
		t.Errorf("adjusted to %+v", u)
	}
	spendCap = nil
	u = adjust(account.Adjustment{SpendCap: &spendCap, Disabled: new(false)})
	if u.SpendCap != nil || u.DisabledAt != nil {
		t.Errorf("reverted to %+v", u)
	}
	want := []audit.Event{
		audit.EmailRequested, audit.EmailChanged,
		audit.RoleChanged, audit.CapChanged, audit.UserDisabled, audit.CapChanged, audit.UserEnabled,
	}
	if got := f.events(t, member.ID); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestRolesAndAddressesNeedAFreshSession(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	owner, member := f.user(t, "owner@example.org", core.RoleOwner), f.user(t, "ada@example.org", core.RoleMember)
	stale := f.session(owner)
	key := stale
	key.Credential = core.CredentialKey
	f.clock.Advance(core.ProofLife)
	for name, actor := range map[string]core.Actor{"an API key": key, "a stale session": stale} {
		for field, a := range map[string]account.Adjustment{
			"role": {Role: new(core.RoleAdmin)}, "address": {Email: new("x@example.org")},
		} {
			if _, err := f.Adjust(ctx, actor, member.ID, a); !core.IsKind(err, core.KindForbidden) {
				t.Errorf("%s changes the %s: %v", name, field, err)
			}
		}
	}
}

func TestAccountsAreSearchedInPages(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	var want []string
	for i := range 5 {
		want = append(want, f.user(t, fmt.Sprintf("match%d@example.org", i), core.RoleMember).ID)
	}
	f.user(t, "other@example.net", core.RoleMember)
	slices.Reverse(want) // newest first
	var got []string
	for _, u := range testkit.AllPages(t, 2, func(p core.Page) ([]account.User, string, error) {
		return f.Search(ctx, operator, " MATCH ", p)
	}) {
		got = append(got, u.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if users, _, err := f.Search(ctx, operator, "%", core.Page{}); err != nil || len(users) != 0 {
		t.Errorf("a wildcard finds %d users, %v", len(users), err)
	}
	if _, _, err := f.Search(ctx, operator, "", core.Page{Cursor: "x"}); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("an invalid cursor: %v", err)
	}
	if _, _, err := f.Search(ctx, core.Actor{}, "", core.Page{}); err == nil {
		t.Error("the zero actor searches accounts")
	}
}

// TestOnlyTheOwnerCreatesAndResetsAdministrators covers the rules that keep an administrator from taking over another
// account.
func TestOnlyTheOwnerCreatesAndResetsAdministrators(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	owner, admin := f.user(t, "owner@example.org", core.RoleOwner), f.user(t, "admin@example.org", core.RoleAdmin)
	other, member := f.user(t, "other@example.org", core.RoleAdmin), f.user(t, "ada@example.org", core.RoleMember)
	for name, c := range map[string]struct {
		actor  core.Actor
		target account.User
		want   core.Kind
	}{
		"an administrator, the owner":  {f.session(admin), owner, core.KindConflict},
		"an administrator, another":    {f.session(admin), other, core.KindForbidden},
		"an administrator, themselves": {f.session(admin), admin, core.KindConflict},
		"the owner, themselves":        {f.session(owner), owner, core.KindConflict},
		"a member":                     {f.session(member), other, core.KindForbidden},
		"a missing user":               {f.session(owner), account.User{ID: "usr_none"}, core.KindNotFound},
	} {
		if _, err := f.ForReset(ctx, c.actor, c.target.ID); !core.IsKind(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for actor, target := range map[*core.Actor]account.User{
		new(f.session(admin)): member, new(f.session(owner)): admin, new(operator): owner,
	} {
		if _, err := f.ForReset(ctx, *actor, target.ID); err != nil {
			t.Errorf("%s: %v", target.Email, err)
		}
	}
	create := func(actor core.Actor, email string, role core.Role) error {
		_, err := f.CreateWithoutPassword(ctx, actor, account.NewUser{Email: email, Name: "New", Role: role})
		return err
	}
	if err := create(f.session(admin), "a@example.org", core.RoleAdmin); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("an administrator creates another: %v", err)
	}
	if err := create(f.session(owner), "a@example.org", core.RoleOwner); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("the owner creates an owner: %v", err)
	}
	if err := create(f.session(owner), "a@example.org", core.RoleAdmin); err != nil {
		t.Errorf("the owner creates an administrator: %v", err)
	}
	if err := create(f.session(admin), "b@example.org", ""); err != nil {
		t.Errorf("an administrator creates a member: %v", err)
	}
	if err := create(f.session(admin), "b@example.org", ""); !core.IsKind(err, core.KindConflict) {
		t.Errorf("an address in use: %v", err)
	}
}
