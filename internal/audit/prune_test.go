package audit_test

import (
	"errors"
	"testing"
	"time"

	"carrel/internal/audit"
)

func TestPrunedLogStaysVerifiable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(20)
	entries := f.all()
	cut := f.clock.Now().Add(-5 * time.Minute) // the last five entries stay
	f.must(f.Prune(t.Context(), cut))
	left := f.all()
	if len(left) != 6 || left[0].Seq != 16 || left[5].Event != audit.LogPruned {
		t.Fatalf("left %+v", left)
	}
	head, err := f.Verify(t.Context(), nil)
	if err != nil || head.Seq != 21 {
		t.Errorf("head %+v, %v", head, err)
	}
	// A noted head that was kept is compared; one that was pruned is not.
	for i, wrong := range []bool{false, false, true} {
		noted := audit.Head{Seq: entries[9+5*i].Seq, Hash: []byte("another hash")}
		if i == 2 {
			noted.Seq = entries[17].Seq
		}
		if i == 1 {
			noted.Hash = entries[14].Hash // the anchor
		}
		if _, err := f.Verify(t.Context(), &noted); (err != nil) != wrong {
			t.Errorf("noted %d: %v", noted.Seq, err)
		}
	}
	f.must(f.Prune(t.Context(), cut))
	if again := f.all(); len(again) != len(left) {
		t.Errorf("pruned twice: %d entries", len(again))
	}
}

func TestLogCutOffElsewhereIsDetected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(20)
	entries := f.all()
	f.must(f.Prune(t.Context(), f.clock.Now().Add(-10*time.Minute)))
	// An attacker deletes two more entries and moves the anchor.
	f.rows.anchor = &audit.Head{Seq: entries[11].Seq, Hash: entries[11].Hash}
	f.rows.change = func(rows []audit.Entry) []audit.Entry { return rows[2:] }
	_, err := f.Verify(t.Context(), nil)
	var broken *audit.BrokenError
	if !errors.As(err, &broken) || broken.Seq != 12 {
		t.Errorf("got %v", err)
	}
}
