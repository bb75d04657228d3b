package signin

import (
	"strings"
	"testing"
	"time"
)

// rfcSecret is the key of RFC 6238's test vectors for SHA-1.
var rfcSecret = []byte("12345678901234567890")

func TestPoint12CodesAreThoseOfRFC6238(t *testing.T) {
	t.Parallel()
	// Appendix B has eight digits; six are the last ones.
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		if got := totpCode(rfcSecret, at/totpPeriod); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

func TestPoint12ACodeIsGoodInItsStepAndTheNeighbours(t *testing.T) {
	t.Parallel()
	now := time.Unix(1111111109, 0)
	present := now.Unix() / totpPeriod
	for step, want := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		got, ok := totpStep(rfcSecret, totpCode(rfcSecret, present+step), now)
		if ok != want || ok && got != present+step {
			t.Errorf("%d steps off: %v, step %d of %d", step, ok, got, present)
		}
	}
	for _, junk := range []string{"", "08180", "0818040", "８１８０４０", strings.Repeat("0", 1000)} {
		if _, ok := totpStep(rfcSecret, junk, now); ok {
			t.Errorf("%q is taken", junk)
		}
	}
}

func TestAppsReadTheAddressOfASecret(t *testing.T) {
	t.Parallel()
	const want = "otpauth://totp/Carrel:ada+x@example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Carrel"
	if got := totpURI("Carrel", "ada+x@example.org", rfcSecret); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCodesAreReadAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	code := newCode()
	if len(code) != 19 || code == newCode() || !wellFormedCode(PlainCode(code)) {
		t.Errorf("a code is %s", code)
	}
	if got := PlainCode(" 7xkm-2qrt 9wpo-l1i0\t"); got != "7XKM2QRT9WP01110" {
		t.Errorf("read as %s", got)
	}
	for _, junk := range []string{"", "7XKM2QRT9WP0111", "7XKM2QRT9WP01110A", "7XKM2QRT9WPU1110", "7XKM2QRT9WP0111é"} {
		if wellFormedCode(junk) {
			t.Errorf("%q passes for a code", junk)
		}
	}
	a, b := hashCode([]byte("key"), "reset", "X"), hashCode([]byte("key"), "recovery", "X")
	if string(a) == string(b) || string(a) == string(hashCode([]byte("other"), "reset", "X")) {
		t.Error("a hash does not depend on key and purpose")
	}
}

func FuzzTypedCodes(f *testing.F) {
	for _, seed := range []string{"", "7XKM-2QRT-9WPA-4HJD", "287 082", "\x00\xff", "ılıİ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		plain := PlainCode(typed)
		if wellFormedCode(plain) && PlainCode(plain) != plain {
			t.Errorf("%q is read as %q and that as %q", typed, plain, PlainCode(plain))
		}
		totpStep(rfcSecret, plainDigits(typed), time.Unix(59, 0))
	})
}
