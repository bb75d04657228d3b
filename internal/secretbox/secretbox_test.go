package secretbox

import (
	"bytes"
	"errors"
	"testing"
)

func newBox(t *testing.T, secret, purpose string) *Box {
	t.Helper()
	b, err := New([]byte(secret), purpose)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSealedSecretCanBeOpened(t *testing.T) {
	t.Parallel()
	box := newBox(t, "secret", "test")
	for _, plain := range []string{"", "a", "a longer text, with \x00 and é"} {
		sealed := box.Seal([]byte(plain), "here")
		if len(plain) > 1 && bytes.Contains(sealed, []byte(plain)) {
			t.Errorf("%q can be read in %q", plain, sealed)
		}
		// A new box with the same secret, like after a restart.
		got, err := newBox(t, "secret", "test").Open(sealed, "here")
		if err != nil || string(got) != plain {
			t.Errorf("opened %q (%v), want %q", got, err, plain)
		}
	}
	if bytes.Equal(box.Seal([]byte("a"), "here"), box.Seal([]byte("a"), "here")) {
		t.Error("the same text is sealed alike twice, which tells that it is the same")
	}
}

func TestOpenNeedsTheRightKeyPurposeAndPlace(t *testing.T) {
	t.Parallel()
	sealed := newBox(t, "secret", "test").Seal([]byte("text"), "here")
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, try := range map[string]struct {
		box    *Box
		sealed []byte
		place  string
	}{
		"another secret":  {newBox(t, "other", "test"), sealed, "here"},
		"another purpose": {newBox(t, "secret", "other"), sealed, "here"},
		"another place":   {newBox(t, "secret", "test"), sealed, "there"},
		"a changed text":  {newBox(t, "secret", "test"), changed, "here"},
		"half a text":     {newBox(t, "secret", "test"), sealed[:10], "here"},
		"nothing":         {newBox(t, "secret", "test"), nil, "here"},
	} {
		if got, err := try.box.Open(try.sealed, try.place); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %q (%v)", name, got, err)
		}
	}
}
