package webapp_test

import (
	"net/http"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/signin"
)

// invitationCode creates an invitation by the operator and returns its code.
func (s *site) invitationCode(n signin.NewInvitation) string {
	s.t.Helper()
	_, code, err := s.auth.Invitations.Issue(s.t.Context(), core.Operator(""), n)
	if err != nil {
		s.t.Fatal(err)
	}
	return code
}

func TestInvitedPersonCreatesAnAccount(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	code := site.invitationCode(signin.NewInvitation{Role: core.RoleAdmin})
	page := site.get("/join", nil)
	if page.status != http.StatusOK || !strings.Contains(page.header.Get("Content-Security-Policy"), "script-src 'self'") {
		t.Errorf("the page: %d, %s", page.status, page.header.Get("Content-Security-Policy"))
	}
	join := func(code, name, email, password string) answer {
		return site.post("/join", nil, "code", code, "name", name, "email", email, "password", password)
	}
	const grace = "grace@example.org"
	for name, c := range map[string]struct {
		got  answer
		want string
	}{
		"a wrong code":    {join("0000-0000-0000-0000", "Grace", grace, password), "code-error"},
		"no code":         {join("", "Grace", grace, password), "code-error"},
		"no name":         {join(code, "", grace, password), "name-error"},
		"no address":      {join(code, "Grace", "grace", password), "email-error"},
		"a known address": {join(code, "Grace", email, password), "email-error"},
		"a weak password": {join(code, "Grace", grace, "short"), "password-error"},
	} {
		if c.got.status != http.StatusUnprocessableEntity || !strings.Contains(c.got.body, c.want) || c.got.cookie != nil {
			t.Errorf("%s: %d %s", name, c.got.status, c.got.body)
		}
	}
	if got := join(code, "Grace", email, password); !strings.Contains(got.body, code) {
		t.Error("the code must be typed again after a mistake")
	}
	a := join(strings.ToLower(code), "Grace", grace, password)
	if a.status != http.StatusSeeOther || a.cookie == nil {
		t.Fatalf("joining: %d %s", a.status, a.body)
	}
	u, err := site.accounts.ByEmail(t.Context(), core.Operator(""), grace)
	if err != nil || u.Role != core.RoleAdmin || u.EmailVerified {
		t.Errorf("the account is %+v, %v", u, err)
	}
	if again := join(code, "Eve", "eve@example.org", password); !strings.Contains(again.body, "code-error") {
		t.Errorf("the invitation works twice: %d", again.status)
	}
}

func TestInvitationForAnAddressVerifiesIt(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	code := site.invitationCode(signin.NewInvitation{Email: "grace@example.org", Plan: core.PlanNone})
	join := func(email string) answer {
		return site.post("/join", nil, "code", code, "name", "Grace", "email", email, "password", password)
	}
	if a := join("eve@example.org"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "email-error") ||
		strings.Contains(a.body, "grace@example.org") {
		t.Errorf("another address: %d %s", a.status, a.body)
	}
	if a := join(" Grace@Example.org "); a.status != http.StatusSeeOther {
		t.Fatalf("the address of the invitation: %d %s", a.status, a.body)
	}
	u, err := site.accounts.ByEmail(t.Context(), core.Operator(""), "grace@example.org")
	if err != nil || !u.EmailVerified || u.Plan != core.PlanNone || u.Role != core.RoleMember {
		t.Errorf("the account is %+v, %v", u, err)
	}
}

func TestForgottenPasswordHasAPage(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	if page := site.get("/sign-in", nil); !strings.Contains(page.body, `href="/forgot"`) {
		t.Error("the sign-in page does not link to the help")
	}
	page := site.get("/forgot", nil)
	if page.status != http.StatusOK || !strings.Contains(page.body, "carrel admin user reset") ||
		!strings.Contains(page.body, `href="/reset"`) {
		t.Errorf("the help: %d %s", page.status, page.body)
	}
}

func TestGuessesOfInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	for range 60 {
		a := site.post("/join", nil, "code", "0000-0000-0000-0000", "name", "x", "email", "x@example.org", "password", password)
		if a.status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("60 guesses are accepted")
}
