package webapp_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/signin"
)

// authenticator is an authenticator app. It implements RFC 6238 independently, so that it does not share a bug with the
// server.
type authenticator struct {
	site   *site
	secret []byte
}

func (s *site) authenticator(key string) authenticator {
	s.t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil || len(secret) != 20 {
		s.t.Fatalf("%q is no secret: %v", key, err)
	}
	return authenticator{s, secret}
}

// code returns the code that the app shows this many steps from now.
func (a authenticator) code(steps int64) string {
	mac := hmac.New(sha1.New, a.secret)
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(a.site.clock.Now().Unix()/30+steps))
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	at := int(sum[19] & 15)
	return fmt.Sprintf("%06d", (int(sum[at])&127<<24|int(sum[at+1])<<16|int(sum[at+2])<<8|int(sum[at+3]))%1000000)
}

var (
	keyOnPage  = regexp.MustCompile(`class="key">([A-Z2-7]+)<`)
	codeOnPage = regexp.MustCompile(`<li><code>([0-9A-Z-]+)</code>`)
)

// enrol sets an app up through the pages.
func (v *visitor) enrol() (authenticator, []string) {
	v.site.t.Helper()
	v.wantRedirect(v.post("/security/totp"), "/security/totp")
	page := v.get("/security/totp")
	key := keyOnPage.FindStringSubmatch(page.body)
	if key == nil || !strings.Contains(page.body, `<svg class="qr"`) {
		v.site.t.Fatalf("%d %s", page.status, page.body)
	}
	device := v.site.authenticator(key[1])
	if a := v.post("/security/totp/confirm", "code", device.code(-2)); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, key[1]) {
		v.site.t.Fatalf("an old code: %d", a.status)
	}
	shown := v.post("/security/totp/confirm", "code", device.code(0))
	codes := codesOn(shown)
	if shown.status != http.StatusOK || len(codes) != 10 {
		v.site.t.Fatalf("confirmed: %d with %d codes: %s", shown.status, len(codes), shown.body)
	}
	return device, codes
}

func codesOn(a answer) []string {
	var codes []string
	for _, m := range codeOnPage.FindAllStringSubmatch(a.body, -1) {
		codes = append(codes, m[1])
	}
	return codes
}

// enterPassword signs in with the password and stops at the page for the second factor.
func (s *site) enterPassword() *visitor {
	s.t.Helper()
	v := s.visitor()
	v.wantRedirect(v.post("/sign-in", "email", email, "password", password, "return", "/docs"), "/sign-in/code")
	return v
}

func TestTOTPCodeIsRequiredAndWorksOnce(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	authenticator, _ := site.visitor().signIn().enrol()
	v := site.enterPassword()
	if v.isSignedIn() {
		t.Fatal("signed in with the password only")
	}
	if a := v.get("/sign-in/code"); a.status != http.StatusOK ||
		!strings.Contains(a.body, `autocomplete="one-time-code"`) {
		t.Errorf("the page: %d", a.status)
	}
	// The code that turned the app on is used, and codes of other time steps are refused.
	for name, code := range map[string]string{
		"none": "", "the one before": authenticator.code(0),
		"an old one": authenticator.code(-1), "a later one": authenticator.code(2), "junk": "abc",
	} {
		if a := v.post("/sign-in/code", "code", code); a.status != http.StatusUnprocessableEntity ||
			!strings.Contains(a.body, "code-error") || v.isSignedIn() {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	site.clock.Advance(time.Minute)
	code := authenticator.code(0)
	v.wantRedirect(v.post("/sign-in/code", "code", code[:3]+" "+code[3:]), "/docs")
	if !v.isSignedIn() {
		t.Error("not signed in")
	}
	again := site.enterPassword()
	if a := again.post("/sign-in/code", "code", code); a.status != http.StatusUnprocessableEntity ||
		again.isSignedIn() {
		t.Errorf("the same code once more: %d", a.status)
	}
	again.wantRedirect(again.post("/sign-in/code", "code", authenticator.code(1)),
		"/docs") // a phone whose clock is fast
	if details := fmt.Sprint(site.events()); !strings.Contains(details, "password and code") ||
		!strings.Contains(details, "wrong code") || strings.Contains(details, code) {
		t.Errorf("the audit log: %s", details)
	}
}

func TestPartialSignInIsBoundToItsBrowserAndExpires(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	authenticator, codes := site.visitor().signIn().enrol()
	site.clock.Advance(time.Minute)
	site.enterPassword()
	stranger := site.visitor()
	stranger.wantRedirect(stranger.get("/sign-in/code"), "/sign-in")
	stranger.wantRedirect(stranger.post("/sign-in/code", "code", authenticator.code(0)), "/sign-in")
	late := site.enterPassword()
	site.clock.Advance(signin.PendingLife)
	late.wantRedirect(late.post("/sign-in/code", "code", authenticator.code(0)), "/sign-in")
	if late.isSignedIn() || stranger.isSignedIn() {
		t.Error("signed in with an expired or foreign partial sign-in")
	}
	v := site.enterPassword()
	v.wantRedirect(v.post("/sign-in/code", "code", strings.ToLower(codes[0])), "/docs")
	v.wantRedirect(v.post("/sign-in/code", "code", codes[1]), "/sign-in") // already completed
	used := site.enterPassword().post("/sign-in/code", "code", codes[0])
	if used.status != http.StatusUnprocessableEntity {
		t.Errorf("a recovery code once more: %d", used.status)
	}
	status, err := site.auth.Factors.Status(t.Context(), site.actor())
	if err != nil || status.RecoveryCodes != 9 || status.Since == nil {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestTOTPAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	authenticator, _ := site.visitor().signIn().enrol()
	site.clock.Advance(time.Minute)
	v := site.enterPassword()
	for i := range 12 {
		a := v.post("/sign-in/code", "code", "000000")
		if a.status == http.StatusTooManyRequests {
			break
		}
		if i == 11 {
			t.Fatal("twelve guesses are not too many")
		}
	}
	if a := v.post("/sign-in/code", "code", authenticator.code(0)); a.status != http.StatusTooManyRequests ||
		a.header.Get("Retry-After") == "" || v.isSignedIn() {
		t.Errorf("the right code then: %d", a.status)
	}
}

// With only the password a thief could turn the second factor off.
func TestStepUpRequiresBothFactors(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	v := site.visitor().signIn()
	authenticator, _ := v.enrol()
	site.clock.Advance(core.ProofLife)
	v.wantRedirect(v.get("/security"), stepUpRedirect)
	if a := v.get("/step-up"); !strings.Contains(a.body, `id="code"`) {
		t.Errorf("the page does not ask for the code: %s", a.body)
	}
	for _, code := range []string{"", "000000", authenticator.code(-5)} {
		if a := v.post("/step-up", "password", password, "code", code); a.status != http.StatusUnprocessableEntity ||
			!strings.Contains(a.body, "code-error") {
			t.Errorf("%q: %d", code, a.status)
		}
	}
	a := v.post("/step-up", "password", "wrong", "code", authenticator.code(0))
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("the code without the password: %d", a.status)
	}
	v.wantRedirect(v.post("/step-up", "password", password, "code", authenticator.code(0), "return", "/security"),
		"/security")
	renewed := codesOn(v.post("/security/totp/codes"))
	if len(slices.Compact(slices.Sorted(slices.Values(renewed)))) != 10 {
		t.Errorf("new codes: %v", renewed)
	}
	if a := v.post("/security/totp"); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "An authenticator app is already set up.") {
		t.Errorf("a second app: %d", a.status)
	}
	v.wantRedirect(v.post("/security/totp/remove"), "/security")
	if site.visitor().signIn().get("/security").status != http.StatusOK {
		t.Error("the code is still required")
	}
}

func TestResetCanRemoveTheSecondFactor(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	site.visitor().signIn().enrol()
	for _, clears := range []bool{false, true} {
		_, code, err := site.auth.Resets.Issue(t.Context(), core.Operator(""), site.user.ID, clears)
		if err != nil {
			t.Fatal(err)
		}
		site.post("/reset", nil, "code", code, "password", password)
		want := "/sign-in/code"
		if clears {
			want = "/"
		}
		v := site.visitor()
		v.wantRedirect(v.post("/sign-in", "email", email, "password", password), want)
	}
}
