package webapp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/signin"
)

const stepUpRedirect = "/step-up?return=%2Fsecurity"

func TestSecurityChangesRequireAStepUp(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	v := site.visitor().signIn()
	if a := v.get("/security"); a.status != http.StatusOK || !strings.Contains(a.body, "Change password") {
		t.Fatalf("just signed in: %d %s", a.status, a.body)
	}
	site.clock.Advance(core.ProofLife)
	v.wantRedirect(v.get("/security"), stepUpRedirect)
	for _, act := range []string{
		"password", "passkeys", "passkeys/finish", "passkeys/remove", "totp", "totp/confirm",
		"totp/codes", "totp/remove",
	} {
		v.wantRedirect(v.post("/security/"+act, "password", "another password", "code", "123456", "name", "Phone"),
			stepUpRedirect)
	}
	if _, _, err := site.auth.Passwords.Verify(t.Context(), email, password); err != nil {
		t.Fatal("the password was changed without a step-up")
	}
	a := v.post("/step-up", "password", "wrong", "return", "/security")
	if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `id="password-error">Wrong password.`) {
		t.Errorf("a wrong password: %d %s", a.status, a.body)
	}
	v.wantRedirect(v.get("/security"), stepUpRedirect)
	v.wantRedirect(v.post("/step-up", "password", password, "return", "/security"), "/security")
	if a := v.post("/security/password", "password", "another password"); a.status != http.StatusOK ||
		!strings.Contains(a.body, "Password changed.") {
		t.Errorf("after the step-up: %d %s", a.status, a.body)
	}
	v.wantRedirect(v.post("/step-up", "password", "another password", "return", "//evil.example"), "/")
	var got []string
	for _, e := range site.events() {
		got = append(got, string(e.Event))
	}
	if s := strings.Join(got, " "); s != "step_up password_changed step_up step_up_failed sign_in" {
		t.Errorf("the audit log holds %s", s)
	}
}

func TestStepUpIsValidForItsSessionOnly(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	one, other := site.visitor().signIn(), site.visitor().signIn()
	site.clock.Advance(core.ProofLife)
	one.wantRedirect(one.post("/step-up", "password", password, "return", "/security"), "/security")
	if a := one.get("/security"); a.status != http.StatusOK {
		t.Errorf("the session with the step-up: %d", a.status)
	}
	other.wantRedirect(other.get("/security"), stepUpRedirect)
	stranger := site.visitor()
	stranger.wantRedirect(stranger.get("/security"), "/sign-in?return=%2Fsecurity")
	stranger.wantRedirect(stranger.post("/step-up", "password", password), "/sign-in?return=%2Fsecurity")
	stranger.wantRedirect(stranger.post("/security/password", "password", "another password"),
		"/sign-in?return=%2Fsecurity")
}

func TestStepUpAttemptsAreLimitedPerSession(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	v, other := site.visitor().signIn(), site.visitor().signIn()
	for range 10 {
		v.post("/step-up", "password", "wrong")
	}
	if a := v.post("/step-up", "password", password); a.status != http.StatusTooManyRequests ||
		a.header.Get("Retry-After") != "60" {
		t.Errorf("the eleventh guess: %d %s", a.status, a.header.Get("Retry-After"))
	}
	other.wantRedirect(other.post("/step-up", "password", password, "return", "/security"), "/security")
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	v, other := site.visitor().signIn(), site.visitor().signIn()
	if a := v.post("/security/password", "password", "short"); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "password-error") || strings.Contains(a.body, "short") {
		t.Errorf("a short one: %d %s", a.status, a.body)
	}
	if !other.isSignedIn() {
		t.Fatal("the other session ended too early")
	}
	v.post("/security/password", "password", "another password")
	if !v.isSignedIn() || other.isSignedIn() {
		t.Errorf("signed in: %v, other session: %v", v.isSignedIn(), other.isSignedIn())
	}
	a := site.post("/sign-in", nil, "email", email, "password", password)
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("the old password: %d", a.status)
	}
	a = site.post("/sign-in", nil, "email", email, "password", "another password")
	if a.status != http.StatusSeeOther {
		t.Errorf("the new password: %d", a.status)
	}
}

func TestResetCodeSetsANewPassword(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	v := site.visitor().signIn()
	_, replaced, err := site.auth.Resets.Issue(t.Context(), core.Operator(""), site.user.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	_, code, err := site.auth.Resets.Issue(t.Context(), core.Operator(""), site.user.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	page := site.get("/reset", nil)
	if page.status != http.StatusOK || !strings.Contains(page.body, `autocomplete="one-time-code"`) {
		t.Errorf("the page: %d", page.status)
	}
	for name, bad := range map[string]string{
		"none": "", "junk": "wrong", "an unknown one": "0000-0000-0000-0000",
		"a replaced one": replaced,
	} {
		a := site.post("/reset", nil, "code", bad, "password", "another password")
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "code-error") {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if a := site.post("/reset", nil, "code", code, "password", "short"); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "password-error") {
		t.Errorf("a short password: %d", a.status)
	}
	typed := strings.ToLower(strings.ReplaceAll(code, "-", " "))
	if a := site.post("/reset", nil, "code", typed, "password", "another password"); a.status != http.StatusOK ||
		!strings.Contains(a.body, "Password changed") || a.cookie != nil {
		t.Fatalf("the code as people type it: %d %s", a.status, a.body)
	}
	if v.isSignedIn() {
		t.Error("a session outlives the reset")
	}
	a := site.post("/reset", nil, "code", code, "password", "a third password")
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("the code used again: %d", a.status)
	}
	if _, _, err := site.auth.Passwords.Verify(t.Context(), email, "another password"); err != nil {
		t.Error(err)
	}
	for _, e := range site.events() {
		if strings.Contains(e.Detail, signin.PlainCode(code)) || strings.Contains(e.Detail, code) {
			t.Errorf("the audit log holds the code: %+v", e)
		}
	}
}

func TestResetCodeExpiresAfterADayAndAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	_, code, err := site.auth.Resets.Issue(t.Context(), core.Operator(""), site.user.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	site.clock.Advance(signin.ResetLife)
	a := site.post("/reset", nil, "code", code, "password", "another password")
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("after a day: %d", a.status)
	}
	status := 0
	for range 60 {
		status = site.post("/reset", nil, "code", "0000-0000-0000-0000", "password", "another password").status
		if status == http.StatusTooManyRequests {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Error("guesses are not limited")
	}
	_, _, err = site.auth.Resets.Issue(t.Context(), site.actorOf(core.RoleMember), site.user.ID, false)
	if !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a member can issue a reset code: %v", err)
	}
}

// actorOf is actor with another role.
func (s *site) actorOf(role core.Role) core.Actor {
	a := s.actor()
	a.Role, a.Scopes = role, role.Scopes()
	return a
}

// With these operations a leaked key would be enough to take the account over.
func TestAPIKeyCannotChangeSignInSettings(t *testing.T) {
	t.Parallel()
	site := newSite(t, onLocalhost)
	key := site.actor()
	key.Credential = core.CredentialKey
	ctx := t.Context()
	for name, act := range map[string]func() error{
		"password":     func() error { return site.auth.Passwords.Change(ctx, key, "another password") },
		"app":          func() error { _, err := site.auth.Factors.Begin(ctx, key); return err },
		"confirm":      func() error { _, err := site.auth.Factors.Confirm(ctx, key, "123456"); return err },
		"codes":        func() error { _, err := site.auth.Factors.Renew(ctx, key); return err },
		"remove app":   func() error { return site.auth.Factors.Remove(ctx, key) },
		"status":       func() error { _, err := site.auth.Factors.Status(ctx, key); return err },
		"passkey":      func() error { _, err := site.passkeys.BeginEnrol(ctx, key); return err },
		"new passkey":  func() error { _, err := site.passkeys.FinishEnrol(ctx, key, "", "x", nil); return err },
		"proof":        func() error { _, err := site.passkeys.BeginProof(ctx, key); return err },
		"rename":       func() error { _, err := site.passkeys.Rename(ctx, key, "x", "y"); return err },
		"remove":       func() error { return site.passkeys.Remove(ctx, key, "x") },
		"list":         func() error { _, err := site.passkeys.List(ctx, key); return err },
		"finish proof": func() error { return site.passkeys.FinishProof(ctx, key, "", nil) },
	} {
		if err := act(); core.AsError(err).Code != "session_required" {
			t.Errorf("%s: %v", name, err)
		}
	}
	stale := site.actor()
	site.clock.Advance(core.ProofLife + time.Second)
	for name, err := range map[string]error{
		"password": site.auth.Passwords.Change(ctx, stale, "another password"),
		"remove":   site.passkeys.Remove(ctx, stale, "x"),
		"app":      site.auth.Factors.Remove(ctx, stale),
	} {
		if core.AsError(err).Code != "step_up_required" {
			t.Errorf("%s without a step-up: %v", name, err)
		}
	}
	if len(site.events()) != 0 {
		t.Errorf("%+v", site.events())
	}
}
