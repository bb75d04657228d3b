package webapp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/signin"
)

const askedAgain = "/step-up?return=%2Fsecurity"

func TestPoint11WhatIsSensitiveNeedsAFreshProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.visitor().signIn()
	if a := v.get("/security"); a.status != http.StatusOK || !strings.Contains(a.body, "Change the password") {
		t.Fatalf("just signed in: %d %s", a.status, a.body)
	}
	w.clock.Advance(core.ProofLife)
	v.goes(v.get("/security"), askedAgain)
	for _, act := range []string{"password", "passkeys", "passkeys/finish", "passkeys/remove", "totp", "totp/confirm", "totp/codes", "totp/remove"} {
		v.goes(v.post("/security/"+act, "password", "another password", "code", "123456", "name", "Phone"), askedAgain)
	}
	if _, _, err := w.auth.Passwords.Verify(t.Context(), email, password); err != nil {
		t.Fatal("the password was changed without a proof")
	}
	if a := v.post("/step-up", "password", "wrong", "return", "/security"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `id="password-error">The password is not right.`) {
		t.Errorf("a wrong password: %d %s", a.status, a.body)
	}
	v.goes(v.get("/security"), askedAgain)
	v.goes(v.post("/step-up", "password", password, "return", "/security"), "/security")
	if a := v.post("/security/password", "password", "another password"); a.status != http.StatusOK || !strings.Contains(a.body, "Your password is changed.") {
		t.Errorf("after the proof: %d %s", a.status, a.body)
	}
	v.goes(v.post("/step-up", "password", "another password", "return", "//evil.example"), "/")
	var got []string
	for _, e := range w.events() {
		got = append(got, string(e.Event))
	}
	if s := strings.Join(got, " "); s != "step_up password_changed step_up step_up_failed sign_in" {
		t.Errorf("the audit log holds %s", s)
	}
}

func TestPoint11AProofIsForItsSessionAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, other := w.visitor().signIn(), w.visitor().signIn()
	w.clock.Advance(core.ProofLife)
	one.goes(one.post("/step-up", "password", password, "return", "/security"), "/security")
	if a := one.get("/security"); a.status != http.StatusOK {
		t.Errorf("the one that proved it: %d", a.status)
	}
	other.goes(other.get("/security"), askedAgain)
	stranger := w.visitor()
	stranger.goes(stranger.get("/security"), "/sign-in?return=%2Fsecurity")
	stranger.goes(stranger.post("/step-up", "password", password), "/sign-in?return=%2Fsecurity")
	stranger.goes(stranger.post("/security/password", "password", "another password"), "/sign-in?return=%2Fsecurity")
}

func TestPoint11ProofsAreLimitedByTheirSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v, other := w.visitor().signIn(), w.visitor().signIn()
	for range 10 {
		v.post("/step-up", "password", "wrong")
	}
	if a := v.post("/step-up", "password", password); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "60" {
		t.Errorf("the eleventh guess: %d %s", a.status, a.header.Get("Retry-After"))
	}
	other.goes(other.post("/step-up", "password", password, "return", "/security"), "/security")
}

func TestPoint12ANewPasswordEndsAllOtherSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v, other := w.visitor().signIn(), w.visitor().signIn()
	if a := v.post("/security/password", "password", "short"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "password-error") || strings.Contains(a.body, "short") {
		t.Errorf("a short one: %d %s", a.status, a.body)
	}
	if !other.isIn() {
		t.Fatal("the other session ended too early")
	}
	v.post("/security/password", "password", "another password")
	if !v.isIn() || other.isIn() {
		t.Errorf("in: %v, the other one: %v", v.isIn(), other.isIn())
	}
	if a := w.post("/sign-in", nil, "email", email, "password", password); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the old password: %d", a.status)
	}
	if a := w.post("/sign-in", nil, "email", email, "password", "another password"); a.status != http.StatusSeeOther {
		t.Errorf("the new password: %d", a.status)
	}
}

func TestPoint12AForgottenPasswordIsChosenAnewWithACode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.visitor().signIn()
	_, replaced, err := w.auth.Resets.Issue(t.Context(), core.Operator(""), w.user.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	_, code, err := w.auth.Resets.Issue(t.Context(), core.Operator(""), w.user.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	page := w.get("/reset", nil)
	if page.status != http.StatusOK || !strings.Contains(page.body, `autocomplete="one-time-code"`) {
		t.Errorf("the page: %d", page.status)
	}
	for name, bad := range map[string]string{"none": "", "junk": "wrong", "an unknown one": "0000-0000-0000-0000", "the one before": replaced} {
		if a := w.post("/reset", nil, "code", bad, "password", "another password"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "code-error") {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if a := w.post("/reset", nil, "code", code, "password", "short"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "password-error") {
		t.Errorf("a short password: %d", a.status)
	}
	typed := strings.ToLower(strings.ReplaceAll(code, "-", " "))
	if a := w.post("/reset", nil, "code", typed, "password", "another password"); a.status != http.StatusOK || !strings.Contains(a.body, "Your password is changed") || a.cookie != nil {
		t.Fatalf("the code as people type it: %d %s", a.status, a.body)
	}
	if v.isIn() {
		t.Error("a session outlives the reset")
	}
	if a := w.post("/reset", nil, "code", code, "password", "a third password"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the code once more: %d", a.status)
	}
	if _, _, err := w.auth.Passwords.Verify(t.Context(), email, "another password"); err != nil {
		t.Error(err)
	}
	for _, e := range w.events() {
		if strings.Contains(e.Detail, signin.PlainCode(code)) || strings.Contains(e.Detail, code) {
			t.Errorf("the audit log holds the code: %+v", e)
		}
	}
}

func TestPoint12ACodeForANewPasswordEndsAfterADayAndGuessesAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, code, err := w.auth.Resets.Issue(t.Context(), core.Operator(""), w.user.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(signin.ResetLife)
	if a := w.post("/reset", nil, "code", code, "password", "another password"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("after a day: %d", a.status)
	}
	status := 0
	for range 60 {
		if status = w.post("/reset", nil, "code", "0000-0000-0000-0000", "password", "another password").status; status == http.StatusTooManyRequests {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Error("guesses are not limited")
	}
	if _, _, err := w.auth.Resets.Issue(t.Context(), w.actorOf(core.RoleMember), w.user.ID, false); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a member makes a code: %v", err)
	}
}

// actorOf is the world's user in a session, with another role.
func (w *world) actorOf(role core.Role) core.Actor {
	a := w.actor()
	a.Role, a.Scopes = role, role.Scopes()
	return a
}

// TestPoint11AKeyNeverChangesHowOneSignsIn holds a key with all scopes off: whoever found it could take the account over.
func TestPoint11AKeyNeverChangesHowOneSignsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, named)
	key := w.actor()
	key.Credential = core.CredentialKey
	ctx := t.Context()
	for name, act := range map[string]func() error{
		"password":     func() error { return w.auth.Passwords.Change(ctx, key, "another password") },
		"app":          func() error { _, err := w.auth.Factors.Begin(ctx, key); return err },
		"confirm":      func() error { _, err := w.auth.Factors.Confirm(ctx, key, "123456"); return err },
		"codes":        func() error { _, err := w.auth.Factors.Renew(ctx, key); return err },
		"remove app":   func() error { return w.auth.Factors.Remove(ctx, key) },
		"status":       func() error { _, err := w.auth.Factors.Status(ctx, key); return err },
		"passkey":      func() error { _, err := w.passkeys.BeginEnrol(ctx, key); return err },
		"new passkey":  func() error { _, err := w.passkeys.FinishEnrol(ctx, key, "", "x", nil); return err },
		"proof":        func() error { _, err := w.passkeys.BeginProof(ctx, key); return err },
		"rename":       func() error { _, err := w.passkeys.Rename(ctx, key, "x", "y"); return err },
		"remove":       func() error { return w.passkeys.Remove(ctx, key, "x") },
		"list":         func() error { _, err := w.passkeys.List(ctx, key); return err },
		"finish proof": func() error { return w.passkeys.FinishProof(ctx, key, "", nil) },
	} {
		if err := act(); core.AsError(err).Code != "session_required" {
			t.Errorf("%s: %v", name, err)
		}
	}
	stale := w.actor()
	w.clock.Advance(core.ProofLife + time.Second)
	for name, err := range map[string]error{
		"password": w.auth.Passwords.Change(ctx, stale, "another password"),
		"remove":   w.passkeys.Remove(ctx, stale, "x"),
		"app":      w.auth.Factors.Remove(ctx, stale),
	} {
		if core.AsError(err).Code != "step_up_required" {
			t.Errorf("%s without a proof: %v", name, err)
		}
	}
	if len(w.events()) != 0 {
		t.Errorf("%+v", w.events())
	}
}
