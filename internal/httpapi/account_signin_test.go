package httpapi_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/secretbox"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
)

func TestSignInMethods(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"KeysCannotChangeSignInMethods", keysCannotChangeSignIn},
		{"StepUpAllowsSensitiveChanges", stepUpAllowsChanges},
		{"PasswordChangeEndsOtherSessions", newPassword},
		{"AuthenticatorAppIsAddedUsedAndRemoved", authenticatorAppLifecycle},
		{"CeremonyIsBoundToItsSessionAndUsedOnce", ceremonies},
	})
}

// signIn holds the sign-in services.
type signIn struct {
	*signin.Service
	accounts *account.Service
	passkeys *passkey.Service
}

func newSignIn(t testing.TB, w *testServer, secret []byte) signIn {
	t.Helper()
	box, err := secretbox.New(secret, "authenticator apps")
	if err != nil {
		t.Fatal(err)
	}
	s := signIn{Service: signin.NewService(signin.Deps{
		Store: w.db, Clock: w.clock, Audit: w.audit, Sessions: w.sessions, Sealer: box,
		Key: secret, Issuer: "Carrel", OfferTOTP: true, LimitAttempts: true,
	})}
	s.accounts = account.NewService(account.Deps{
		Store: w.db, Clock: w.clock, Audit: w.audit, Passwords: s.Passwords, DefaultPlan: core.PlanOpen,
	})
	s.passkeys, err = passkey.New(passkey.Deps{
		Store: w.db, Pending: s.Pending, Clock: w.clock, Audit: w.audit, BaseURL: baseURL,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const password = "correct horse battery"

// withPassword returns a user with a password.
func (w *testServer) withPassword(t *testing.T) *testUser {
	t.Helper()
	p := w.user(t, core.PlanOpen)
	if err := w.signIn.Passwords.Set(t.Context(), core.Operator(""), p.id, password, ""); err != nil {
		t.Fatal(err)
	}
	return p
}

// expireProof makes the proof of a session too old. It does not move the clock, which other tests share.
func (b *browser) expireProof() {
	b.t.Helper()
	if err := b.w.db.StepUpSession(b.t.Context(), b.session.ID, b.w.clock.Now().Add(-core.ProofLife)); err != nil {
		b.t.Fatal(err)
	}
}

// signInCalls are the operations on sign-in methods, which need a session.
func signInCalls() map[string][2]string {
	const none = "/api/account/passkeys/crd_none"
	return map[string][2]string{
		"changePassword": {"POST /api/account/password", `{"newPassword": "another password"}`},
		"stepUp":         {"POST /api/account/step-up", `{"password": "x"}`},
		"beginStepUp":    {"POST /api/account/step-up/options", ""},
		"listPasskeys":   {"GET /api/account/passkeys", ""},
		"beginPasskey":   {"POST /api/account/passkeys/options", ""},
		"addPasskey":     {"POST /api/account/passkeys", `{"ceremony": "x", "name": "x", "answer": {}}`},
		"renamePasskey":  {"PATCH " + none, `{"name": "x"}`},
		"removePasskey":  {"DELETE " + none, ""},
		"getTotp":        {"GET /api/account/totp", ""},
		"beginTotp":      {"POST /api/account/totp", ""},
		"removeTotp":     {"DELETE /api/account/totp", ""},
		"confirmTotp":    {"POST /api/account/totp/confirm", `{"code": "123456"}`},
		"renewCodes":     {"POST /api/account/totp/recovery-codes", ""},
	}
}

func keysCannotChangeSignIn(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	all, b := p.accountKey(), p.signedIn()
	b.expireProof()
	needProof := []string{
		"changePassword", "beginPasskey", "addPasskey", "removePasskey", "beginTotp", "removeTotp", "confirmTotp",
		"renewCodes",
	}
	for name, c := range signInCalls() {
		method, path, _ := strings.Cut(c[0], " ")
		p.send(method, path, c[1]).refused(t, 403, "insufficient_scope")
		all.send(method, path, c[1]).refused(t, 403, "session_required")
		if slices.Contains(needProof, name) {
			b.send(method, path, c[1]).refused(t, 403, "step_up_required")
		}
	}
}

func stepUpAllowsChanges(t *testing.T, w *testServer) {
	p := w.withPassword(t)
	b, other := p.signedIn(), p.signedIn()
	b.expireProof()
	b.post("/api/account/step-up", object{"password": "wrong"}).refused(t, 403, "proof_failed")
	b.post("/api/account/step-up", object{}).refused(t, 403, "proof_failed")
	b.post("/api/account/password", object{"newPassword": "another password"}).refused(t, 403, "step_up_required")
	until := b.post("/api/account/step-up", object{"password": password}).ok(t).str("provedUntil")
	if want := w.clock.Now().Add(core.ProofLife).UTC().Format("2006-01-02T15:04:05.000Z"); until != want {
		t.Errorf("proved until %s, want %s", until, want)
	}
	b.post("/api/account/password", object{"newPassword": "another password"}).ok(t)
	other.get("/api/account").refused(t, 401, "invalid_credential")
	entries, err := w.audit.List(t.Context(), p.id, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var events []audit.Event
	for _, e := range entries {
		events = append(events, e.Event)
	}
	want := []audit.Event{audit.PasswordChanged, audit.SteppedUp, audit.StepUpFailed, audit.StepUpFailed}
	if !slices.Equal(events[:4], want) {
		t.Errorf("the audit log holds %v", events)
	}
}

func newPassword(t *testing.T, w *testServer) {
	p := w.withPassword(t)
	b, other := p.signedIn(), p.signedIn()
	a := b.post("/api/account/password", object{"newPassword": "short"})
	a.refused(t, 400, "invalid_request")
	if !strings.Contains(string(a.body), `"/newPassword"`) {
		t.Errorf("the error points elsewhere: %s", a.body)
	}
	for _, weak := range []string{"password", "Carrel-2026", p.id} {
		got := b.post("/api/account/password", object{"newPassword": weak}).refused(t, 400, "invalid_request").pointers()
		if !slices.Equal(got, []string{"/newPassword"}) {
			t.Errorf("the problem of a guessable password is in %v", got)
		}
	}
	other.get("/api/account").ok(t)
	b.post("/api/account/password", object{"newPassword": "another password"}).ok(t)
	b.get("/api/account").ok(t)
	other.get("/api/account").refused(t, 401, "invalid_credential")
	if _, _, err := w.signIn.Passwords.Verify(t.Context(), p.id+"@example.org", "another password"); err != nil {
		t.Error(err)
	}
}

// totp returns the current code of an authenticator app.
func totp(t *testing.T, key string, now time.Time) string {
	t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, now.Unix()/30)
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1000000)
}

func authenticatorAppLifecycle(t *testing.T, w *testServer) {
	p := w.withPassword(t)
	b := p.signedIn()
	const path = "/api/account/totp"
	b.post(path+"/confirm", object{"code": "123456"}).refused(t, 409, "conflict")
	b.post(path+"/recovery-codes", "").refused(t, 409, "conflict")
	b.send(http.MethodDelete, path, "").refused(t, 404, "not_found")
	a := b.get(path).ok(t)
	if !strings.Contains(string(a.body), `"offered":true`) || strings.Contains(string(a.body), "since") {
		t.Errorf("before: %s", a.body)
	}
	begun := b.post(path, "").ok(t)
	key := begun.str("secret")
	uri := begun.str("uri")
	if !strings.HasPrefix(uri, "otpauth://totp/Carrel:") || !strings.Contains(uri, "secret="+key) {
		t.Errorf("the address for apps is %s", uri)
	}
	b.post(path+"/confirm", object{"code": "abc"}).refused(t, 400, "invalid_request")
	codes := b.post(path+"/confirm", object{"code": totp(t, key, w.clock.Now())}).ok(t)
	if got := codes.value("recoveryCodes").([]any); len(got) != 10 || codes.header.Get("Cache-Control") != "no-store" {
		t.Errorf("recovery codes: %v", got)
	}
	b.post(path, "").refused(t, 409, "conflict")
	b.post(path+"/confirm", object{"code": "123456"}).refused(t, 409, "conflict")
	b.expireProof()
	b.post("/api/account/step-up", object{"password": password}).refused(t, 400, "invalid_request")
	b.post("/api/account/step-up", object{"password": password, "code": "000000"}).refused(t, 400, "invalid_request")
	b.post("/api/account/step-up", object{
		"password": password, "code": totp(t, key, w.clock.Now().Add(30*time.Second)),
	}).ok(t)
	b.post(path+"/recovery-codes", "").ok(t)
	if a := b.get(path).ok(t); !strings.Contains(string(a.body), `"recoveryCodesLeft":10`) ||
		!strings.Contains(string(a.body), "since") {
		t.Errorf("with an app: %s", a.body)
	}
	b.send(http.MethodDelete, path, "").ok(t)
	if needed, err := w.signIn.Factors.Needed(t.Context(), p.id); err != nil || needed {
		t.Errorf("it is still asked for: %v", err)
	}
}

func ceremonies(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	b, other := p.signedIn(), p.signedIn()
	const path = "/api/account/passkeys"
	b.post("/api/account/step-up/options", "").refused(t, 409, "conflict") // the user has no passkey
	begun := b.post(path+"/options", "").ok(t)
	id := begun.str("options", "rp", "id")
	if id != "carrel.test" || begun.str("options", "authenticatorSelection", "userVerification") != "required" {
		t.Errorf("the options are %s", begun.body)
	}
	body := object{"ceremony": begun.str("ceremony"), "name": "Laptop", "answer": object{"id": "x"}}
	other.post(path, body).refused(t, 409, "expired")
	b.post(path, body).refused(t, 409, "expired") // a failed attempt consumes the ceremony
	body["ceremony"] = b.post(path+"/options", "").ok(t).str("ceremony")
	// The ceremony is of another kind.
	b.post("/api/account/step-up", object{
		"ceremony": body["ceremony"], "answer": object{"id": "x"},
	}).refused(t, 409, "expired")
	b.post(path, body).refused(t, 403, "proof_failed")
	body["name"] = "  "
	b.post(path, body).refused(t, 400, "invalid_request")
	if a := b.get(path).ok(t); string(a.body) != `{"passkeys":[],"available":true}` {
		t.Errorf("listed: %s", a.body)
	}
	b.send(http.MethodPatch, path+"/crd_none", `{"name": "x"}`).refused(t, 404, "not_found")
	b.send(http.MethodDelete, path+"/crd_none", "").refused(t, 404, "not_found")
}
