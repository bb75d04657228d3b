package webapp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin/upstream"
	"carrel/internal/testkit/oidcfake"
)

// chooseOwnAddress changes the account's address to another one and back, as its user.
func (s *site) chooseOwnAddress() {
	s.t.Helper()
	for _, address := range []string{"ada@elsewhere.example", email} {
		if _, err := s.accounts.ChangeProfile(s.t.Context(), s.actor(), account.ProfileChange{Email: &address}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) linked(p *oidcfake.Provider) bool {
	s.t.Helper()
	_, err := s.db.UserByIdentity(s.t.Context(), upstream.Identity{Issuer: p.URL, Subject: "s-1"})
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		s.t.Fatal(err)
	}
	return err == nil
}

// An attacker could set another person's address on their own account and wait for that person to sign in with the
// provider (account pre-hijacking).
func TestSelfChosenAddressIsLinkedOnlyWithThePassword(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, true)
	p.SetClaims(adaClaims)
	site.chooseOwnAddress()
	victim := site.visitor()
	victim.wantRedirect(victim.get(victim.goToProvider("/sign-in/upstream", "/docs")), "/sign-in/connect")
	page := victim.get("/sign-in/connect")
	for _, want := range []string{
		"An account with the address <b>" + email + "</b> already exists.",
		"connect it to Example University", `autocomplete="current-password"`,
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %q: %s", want, page.body)
		}
	}
	if strings.Contains(page.body, "<script") || page.header.Get("Content-Security-Policy") == "" {
		t.Error("the page has a script or no policy")
	}
	for _, wrong := range []string{"", "not the password"} {
		if a := victim.post("/sign-in/connect", "password", wrong); a.status != http.StatusUnprocessableEntity ||
			!strings.Contains(a.body, "password-error") {
			t.Errorf("the password %q: %d", wrong, a.status)
		}
	}
	if victim.isSignedIn() || site.linked(p) {
		t.Fatal("signed in to, or linked with, an account whose user chose the address")
	}
	if a := site.visitor().get("/sign-in/connect"); a.status != http.StatusSeeOther {
		t.Errorf("in another browser: %d", a.status)
	}
	victim.wantRedirect(victim.post("/sign-in/connect", "password", password, "email", "other@example.org"), "/docs")
	if !victim.isSignedIn() || !site.linked(p) {
		t.Error("the right password does not link the account")
	}
	victim.wantRedirect(victim.post("/sign-in/connect", "password", password), "/sign-in") // it works once
	again := site.visitor()
	again.wantRedirect(again.get(again.goToProvider("/sign-in/upstream", "/")), "/")
	var events []audit.Event
	for _, e := range site.events() {
		events = append(events, e.Event)
	}
	if want := []audit.Event{
		audit.SignedIn, audit.SignedIn, audit.UpstreamLinked,
		audit.SignInFailed,
	}; len(events) < 4 ||
		events[0] != want[0] || events[1] != want[1] || events[2] != want[2] || events[3] != want[3] {
		t.Errorf("the audit log holds %v", events)
	}
}

func TestLinkingRequiresTheSecondFactor(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, false)
	p.SetClaims(adaClaims)
	site.chooseOwnAddress()
	device, _ := site.visitor().signIn().enrol()
	site.clock.Advance(time.Minute)
	v := site.visitor()
	v.wantRedirect(v.get(v.goToProvider("/sign-in/upstream", "/docs")), "/sign-in/connect")
	v.wantRedirect(v.post("/sign-in/connect", "password", password), "/sign-in/code")
	if v.isSignedIn() || site.linked(p) {
		t.Fatal("signed in with the password only")
	}
	if a := v.post("/sign-in/code", "code", "000000"); a.status != http.StatusUnprocessableEntity || site.linked(p) {
		t.Errorf("a wrong code: %d", a.status)
	}
	v.wantRedirect(v.post("/sign-in/code", "code", device.code(0)), "/docs")
	if !v.isSignedIn() || !site.linked(p) {
		t.Error("both factors do not link the account")
	}
}

func TestLinkingAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, false)
	p.SetClaims(adaClaims)
	site.chooseOwnAddress()
	v := site.visitor()
	v.wantRedirect(v.get(v.goToProvider("/sign-in/upstream", "/")), "/sign-in/connect")
	for i := range 10 {
		if a := v.post("/sign-in/connect", "password", "wrong"); a.status != http.StatusUnprocessableEntity {
			t.Fatalf("guess %d: %d", i, a.status)
		}
	}
	if a := v.post("/sign-in/connect", "password", password); a.status != http.StatusTooManyRequests ||
		a.header.Get("Retry-After") == "" || v.isSignedIn() {
		t.Errorf("the eleventh guess: %d", a.status)
	}
	a := site.visitor().post("/sign-in", "email", email, "password", password)
	if a.status != http.StatusTooManyRequests {
		t.Errorf("the sign-in page does not share the limit: %d", a.status)
	}
}

func TestOnlyAddressesSetByAnAdministratorAreLinked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    func(site *site)
		linked bool
	}{
		"the operator made the account": {func(*site) {}, true},
		"its user changed it":           {func(site *site) { site.chooseOwnAddress() }, false},
		"the operator set it afterwards": {func(site *site) {
			site.chooseOwnAddress()
			address := email
			_, err := site.accounts.Adjust(site.t.Context(), core.Operator(""),
				site.user.ID, account.Adjustment{Email: &address})
			if err != nil {
				site.t.Fatal(err)
			}
		}, true},
		"a member requested it": {func(site *site) {
			address, member := email, core.RoleMember
			u, err := site.accounts.Create(site.t.Context(), core.Operator(""),
				account.NewUser{Email: "bert@example.org", Name: "Bert", Password: password, Role: member})
			if err != nil {
				site.t.Fatal(err)
			}
			actor := site.actorOf(member)
			actor.UserID = u.ID
			_, err = site.accounts.ChangeProfile(site.t.Context(), actor,
				account.ProfileChange{Email: &address})
			if err != nil {
				site.t.Fatal(err)
			}
		}, true}, // the account that has the address is linked, not the one that requested it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site, p := newUpstreamSite(t, false)
			p.SetClaims(adaClaims)
			c.set(site)
			v := site.visitor()
			v.get(v.goToProvider("/sign-in/upstream", "/"))
			if v.isSignedIn() != c.linked || site.linked(p) != c.linked {
				t.Errorf("in: %v, linked: %v, want %v", v.isSignedIn(), site.linked(p), c.linked)
			}
		})
	}
}
