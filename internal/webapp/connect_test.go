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
)

// chosen makes the address of the world's account one that its user chose.
func (w *world) chosen() {
	w.t.Helper()
	for _, address := range []string{"ada@elsewhere.example", email} {
		if _, err := w.accounts.ChangeProfile(w.t.Context(), w.actor(), account.ProfileChange{Email: &address}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) linked(p *provider) bool {
	w.t.Helper()
	_, err := w.db.UserByIdentity(w.t.Context(), upstream.Identity{Issuer: p.srv.URL, Subject: "s-1"})
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		w.t.Fatal(err)
	}
	return err == nil
}

// TestAnAddressThatItsUserChoseIsLinkedWithThePasswordAlone holds off pre-hijacking: an attacker sets another person's
// address on their own account and waits for that person to sign in at the provider.
func TestAnAddressThatItsUserChoseIsLinkedWithThePasswordAlone(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, true)
	p.says(adaThere)
	w.chosen()
	victim := w.visitor()
	victim.goes(victim.get(victim.leave("/sign-in/upstream", "/docs")), "/sign-in/connect")
	page := victim.get("/sign-in/connect")
	for _, want := range []string{"An account with the address <b>" + email + "</b> exists.", "connect it to Example University", `autocomplete="current-password"`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("%q is not on the page: %s", want, page.body)
		}
	}
	if strings.Contains(page.body, "<script") || page.header.Get("Content-Security-Policy") == "" {
		t.Error("the page has a script or no policy")
	}
	for _, wrong := range []string{"", "not the password"} {
		if a := victim.post("/sign-in/connect", "password", wrong); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "password-error") {
			t.Errorf("the password %q: %d", wrong, a.status)
		}
	}
	if victim.isIn() || w.linked(p) {
		t.Fatal("the account of the person who chose the address is open to the person who has it")
	}
	if a := w.visitor().get("/sign-in/connect"); a.status != http.StatusSeeOther {
		t.Errorf("in another browser: %d", a.status)
	}
	victim.goes(victim.post("/sign-in/connect", "password", password, "email", "somebody@example.org"), "/docs")
	if !victim.isIn() || !w.linked(p) {
		t.Error("the right password does not connect the account")
	}
	victim.goes(victim.post("/sign-in/connect", "password", password), "/sign-in") // once
	again := w.visitor()
	again.goes(again.get(again.leave("/sign-in/upstream", "/")), "/")
	var events []audit.Event
	for _, e := range w.events() {
		events = append(events, e.Event)
	}
	if want := []audit.Event{audit.SignedIn, audit.SignedIn, audit.UpstreamLinked, audit.SignInFailed}; len(events) < 4 ||
		events[0] != want[0] || events[1] != want[1] || events[2] != want[2] || events[3] != want[3] {
		t.Errorf("the audit log holds %v", events)
	}
}

func TestConnectingAsksForTheSecondFactorFirst(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, false)
	p.says(adaThere)
	w.chosen()
	device, _ := w.visitor().signIn().enrol()
	w.clock.Advance(time.Minute)
	v := w.visitor()
	v.goes(v.get(v.leave("/sign-in/upstream", "/docs")), "/sign-in/connect")
	v.goes(v.post("/sign-in/connect", "password", password), "/sign-in/code")
	if v.isIn() || w.linked(p) {
		t.Fatal("the password alone is enough")
	}
	if a := v.post("/sign-in/code", "code", "000000"); a.status != http.StatusUnprocessableEntity || w.linked(p) {
		t.Errorf("a wrong code: %d", a.status)
	}
	v.goes(v.post("/sign-in/code", "code", device.code(0)), "/docs")
	if !v.isIn() || !w.linked(p) {
		t.Error("both factors do not connect the account")
	}
}

func TestGuessesWhileConnectingAreLimited(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, false)
	p.says(adaThere)
	w.chosen()
	v := w.visitor()
	v.goes(v.get(v.leave("/sign-in/upstream", "/")), "/sign-in/connect")
	for i := range 10 {
		if a := v.post("/sign-in/connect", "password", "wrong"); a.status != http.StatusUnprocessableEntity {
			t.Fatalf("guess %d: %d", i, a.status)
		}
	}
	if a := v.post("/sign-in/connect", "password", password); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || v.isIn() {
		t.Errorf("the eleventh guess: %d", a.status)
	}
	if a := w.visitor().post("/sign-in", "email", email, "password", password); a.status != http.StatusTooManyRequests {
		t.Errorf("signing in shares the limit: %d", a.status)
	}
}

// TestWhoSetAnAddressDecidesWhetherItIsLinked goes through all who can.
func TestWhoSetAnAddressDecidesWhetherItIsLinked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    func(w *world)
		linked bool
	}{
		"the operator made the account": {func(*world) {}, true},
		"its user changed it":           {func(w *world) { w.chosen() }, false},
		"the operator set it afterwards": {func(w *world) {
			w.chosen()
			address := email
			if _, err := w.accounts.Adjust(w.t.Context(), core.Operator(""), w.user.ID, account.Adjustment{Email: &address}); err != nil {
				w.t.Fatal(err)
			}
		}, true},
		"a member asked for it": {func(w *world) {
			address, member := email, core.RoleMember
			u, err := w.accounts.Create(w.t.Context(), core.Operator(""), account.NewUser{Email: "bert@example.org", Name: "Bert", Password: password, Role: member})
			if err != nil {
				w.t.Fatal(err)
			}
			actor := w.actorOf(member)
			actor.UserID = u.ID
			if _, err := w.accounts.ChangeProfile(w.t.Context(), actor, account.ProfileChange{Email: &address}); err != nil {
				w.t.Fatal(err)
			}
		}, true}, // to the account that has it, not to the one that asked
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := newUpstreamWorld(t, false)
			p.says(adaThere)
			c.set(w)
			v := w.visitor()
			v.get(v.leave("/sign-in/upstream", "/"))
			if v.isIn() != c.linked || w.linked(p) != c.linked {
				t.Errorf("in: %v, linked: %v, want %v", v.isIn(), w.linked(p), c.linked)
			}
		})
	}
}
