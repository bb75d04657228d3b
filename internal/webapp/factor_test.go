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

// phone is an authenticator app, written from RFC 6238 once more so that it does not share a mistake.
type phone struct {
	w      *world
	secret []byte
}

func (w *world) phone(key string) phone {
	w.t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil || len(secret) != 20 {
		w.t.Fatalf("%q is no secret: %v", key, err)
	}
	return phone{w, secret}
}

// code is what the app shows that many steps from now.
func (a phone) code(steps int64) string {
	mac := hmac.New(sha1.New, a.secret)
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(a.w.clock.Now().Unix()/30+steps))
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
func (v *visitor) enrol() (phone, []string) {
	v.w.t.Helper()
	v.goes(v.post("/security/totp"), "/security/totp")
	page := v.get("/security/totp")
	key := keyOnPage.FindStringSubmatch(page.body)
	if key == nil || !strings.Contains(page.body, `<svg class="qr"`) {
		v.w.t.Fatalf("%d %s", page.status, page.body)
	}
	device := v.w.phone(key[1])
	if a := v.post("/security/totp/confirm", "code", device.code(-2)); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, key[1]) {
		v.w.t.Fatalf("an old code: %d", a.status)
	}
	shown := v.post("/security/totp/confirm", "code", device.code(0))
	codes := codesOn(shown)
	if shown.status != http.StatusOK || len(codes) != 10 {
		v.w.t.Fatalf("confirmed: %d with %d codes: %s", shown.status, len(codes), shown.body)
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

// halfway types the password and stands before the second factor.
func (w *world) halfway() *visitor {
	w.t.Helper()
	v := w.visitor()
	v.goes(v.post("/sign-in", "email", email, "password", password, "return", "/docs"), "/sign-in/code")
	return v
}

func TestPoint12TheSecondFactorIsAskedForAndTakenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	phone, _ := w.visitor().signIn().enrol()
	v := w.halfway()
	if v.isIn() {
		t.Fatal("the password alone is enough")
	}
	if a := v.get("/sign-in/code"); a.status != http.StatusOK || !strings.Contains(a.body, `autocomplete="one-time-code"`) {
		t.Errorf("the page: %d", a.status)
	}
	// The code that turned it on is used up, and so is none of the neighbours that were not shown yet.
	for name, code := range map[string]string{"none": "", "the one before": phone.code(0), "an old one": phone.code(-1), "a later one": phone.code(2), "junk": "abc"} {
		if a := v.post("/sign-in/code", "code", code); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "code-error") || v.isIn() {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	w.clock.Advance(time.Minute)
	code := phone.code(0)
	v.goes(v.post("/sign-in/code", "code", code[:3]+" "+code[3:]), "/docs")
	if !v.isIn() {
		t.Error("not signed in")
	}
	again := w.halfway()
	if a := again.post("/sign-in/code", "code", code); a.status != http.StatusUnprocessableEntity || again.isIn() {
		t.Errorf("the same code once more: %d", a.status)
	}
	again.goes(again.post("/sign-in/code", "code", phone.code(1)), "/docs") // a phone whose clock is fast
	if details := fmt.Sprint(w.events()); !strings.Contains(details, "password and code") || !strings.Contains(details, "wrong code") || strings.Contains(details, code) {
		t.Errorf("the audit log: %s", details)
	}
}

func TestPoint12HalfASignInBelongsToItsBrowserAndEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	phone, codes := w.visitor().signIn().enrol()
	w.clock.Advance(time.Minute)
	w.halfway()
	stranger := w.visitor()
	stranger.goes(stranger.get("/sign-in/code"), "/sign-in")
	stranger.goes(stranger.post("/sign-in/code", "code", phone.code(0)), "/sign-in")
	late := w.halfway()
	w.clock.Advance(signin.PendingLife)
	late.goes(late.post("/sign-in/code", "code", phone.code(0)), "/sign-in")
	if late.isIn() || stranger.isIn() {
		t.Error("signed in all the same")
	}
	v := w.halfway()
	v.goes(v.post("/sign-in/code", "code", strings.ToLower(codes[0])), "/docs")
	v.goes(v.post("/sign-in/code", "code", codes[1]), "/sign-in") // it is finished
	if used := w.halfway().post("/sign-in/code", "code", codes[0]); used.status != http.StatusUnprocessableEntity {
		t.Errorf("a recovery code once more: %d", used.status)
	}
	status, err := w.auth.Factors.Status(t.Context(), w.actor())
	if err != nil || status.RecoveryCodes != 9 || status.Since == nil {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestPoint12GuessesOfCodesAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	phone, _ := w.visitor().signIn().enrol()
	w.clock.Advance(time.Minute)
	v := w.halfway()
	for i := range 12 {
		a := v.post("/sign-in/code", "code", "000000")
		if a.status == http.StatusTooManyRequests {
			break
		}
		if i == 11 {
			t.Fatal("twelve guesses are not too many")
		}
	}
	if a := v.post("/sign-in/code", "code", phone.code(0)); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || v.isIn() {
		t.Errorf("the right code then: %d", a.status)
	}
}

// TestPoint11AProofNeedsBothFactors: whoever could do with the password alone could also turn the second factor off.
func TestPoint11AProofNeedsBothFactors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.visitor().signIn()
	phone, _ := v.enrol()
	w.clock.Advance(core.ProofLife)
	v.goes(v.get("/security"), askedAgain)
	if a := v.get("/step-up"); !strings.Contains(a.body, `id="code"`) {
		t.Errorf("the page does not ask for the code: %s", a.body)
	}
	for _, code := range []string{"", "000000", phone.code(-5)} {
		if a := v.post("/step-up", "password", password, "code", code); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "code-error") {
			t.Errorf("%q: %d", code, a.status)
		}
	}
	if a := v.post("/step-up", "password", "wrong", "code", phone.code(0)); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the code alone: %d", a.status)
	}
	v.goes(v.post("/step-up", "password", password, "code", phone.code(0), "return", "/security"), "/security")
	renewed := codesOn(v.post("/security/totp/codes"))
	if len(slices.Compact(slices.Sorted(slices.Values(renewed)))) != 10 {
		t.Errorf("new codes: %v", renewed)
	}
	if a := v.post("/security/totp"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "There is an authenticator app already.") {
		t.Errorf("a second app: %d", a.status)
	}
	v.goes(v.post("/security/totp/remove"), "/security")
	if w.visitor().signIn().get("/security").status != http.StatusOK {
		t.Error("the app is still asked for")
	}
}

func TestPoint12AResetMayClearALostFactor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.visitor().signIn().enrol()
	for _, clears := range []bool{false, true} {
		_, code, err := w.auth.Resets.Issue(t.Context(), core.Operator(""), w.user.ID, clears)
		if err != nil {
			t.Fatal(err)
		}
		w.post("/reset", nil, "code", code, "password", password)
		want := "/sign-in/code"
		if clears {
			want = "/"
		}
		v := w.visitor()
		v.goes(v.post("/sign-in", "email", email, "password", password), want)
	}
}
