package core

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestIDsSortByCreation(t *testing.T) {
	t.Parallel()
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = NewID(PrefixMemory)
	}
	if !slices.IsSorted(ids) {
		t.Error("ids do not sort by creation")
	}
	if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) {
		t.Errorf("%d of %d ids are distinct", n, len(ids))
	}
}

func TestIDsContainTheirTime(t *testing.T) {
	t.Parallel()
	// The first ten digits hold 50 bits: two of padding and the 48 bits of the milliseconds.
	early := encodeID([16]byte{0, 0, 0, 0, 0, 1})
	late := encodeID([16]byte{0, 0, 0, 0, 0, 2})
	if early >= late || len(early) != idLength {
		t.Errorf("%s does not sort before %s", early, late)
	}
	if a, b := newIDBody(time.Now()), newIDBody(time.Now().Add(time.Hour)); a >= b {
		t.Errorf("an id of an hour later, %s, sorts before %s", b, a)
	}
}

func TestIsIDAcceptsValidIDsOnly(t *testing.T) {
	t.Parallel()
	good := NewID(PrefixAgent)
	for id, want := range map[string]bool{
		good:                               true,
		"":                                 false,
		"agt_":                             false,
		good[:len(good)-1]:                 false,
		good + "0":                         false,
		strings.ToUpper(good):              false,
		strings.Replace(good, "_", "-", 1): false,
		"thr" + good[3:]:                   false,
		"agt_" + strings.Repeat("u", 26):   false, // not in the alphabet
		"agt_" + strings.Repeat("é", 13):   false,
		"agt_../../../../../../../../etc":  false,
		good[:10] + "\x00" + good[11:]:     false,
	} {
		if got := IsID(PrefixAgent, id); got != want {
			t.Errorf("IsID(%q) = %v", id, got)
		}
	}
}

func TestSeedDeterminesTheID(t *testing.T) {
	t.Parallel()
	ctx := WithSeed(t.Context(), NewSeed())
	first := NewIDIn(ctx, PrefixThread)
	if again := NewIDIn(ctx, PrefixThread); again != first || !IsID(PrefixThread, first) {
		t.Errorf("got %s, then %s", first, again)
	}
	if a, b := NewIDIn(t.Context(), PrefixThread), NewIDIn(t.Context(), PrefixThread); a == b {
		t.Error("without a seed two ids are the same")
	}
}
