package signin_test

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/signin"
)

func TestPasswordMatchesOnlyItsOwnHash(t *testing.T) {
	t.Parallel()
	const password = "correct horse 😀"
	hash, err := signin.HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	again, err := signin.HashPassword(password)
	if err != nil || again == hash || strings.Contains(hash, "correct") ||
		!strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hashes %s and %s, error %v", hash, again, err)
	}
	if !signin.CheckPassword(hash, password) || !signin.CheckPassword(again, password) {
		t.Error("the password does not match its hash")
	}
	if signin.CheckPassword(hash, password+" ") || signin.CheckPassword(hash, "") {
		t.Error("another password matches")
	}
	parts := strings.Split(hash, "$")
	replaced := func(i int, with string) string {
		p := slices.Clone(parts)
		p[i] = with
		return strings.Join(p, "$")
	}
	for _, bad := range []string{
		"", "none", "$", "$$$$$", hash[:len(hash)-4], hash + "$", replaced(1, "argon2i"), replaced(2, "v=16"), replaced(3, "m=19456,t=0,p=1"),
		replaced(3, "m=19456,t=2,p=0"), replaced(3, "x"), replaced(4, "***"), replaced(5, "***"), replaced(5, ""), replaced(3, "m=8,t=1,p=1"),
	} {
		if signin.CheckPassword(bad, password) {
			t.Errorf("malformed hash %q matches", bad)
		}
	}
}
