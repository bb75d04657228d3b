package audit_test

import (
	"context"
	"errors"
	"log/slog"
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

// interruptedRows deletes seven entries at a time, and fails after a number of deletions.
type interruptedRows struct {
	audit.Store
	left int
}

var errInterrupted = errors.New("interrupted")

func (r *interruptedRows) PruneAudit(
	ctx context.Context, before time.Time, _ int, next func(head, pruned audit.Head) audit.Entry,
) (bool, error) {
	if r.left == 0 {
		return false, errInterrupted
	}
	r.left--
	return r.Store.PruneAudit(ctx, before, 7, next)
}

func TestInterruptedPruningLeavesAVerifiableLog(t *testing.T) {
	t.Parallel()
	for deletions, first := range map[int]int64{1: 8, 2: 15, 3: 22, 4: 29} {
		f := newFixture(t)
		f.fill(30)
		f.redact("usr_1") // entry 31, which accounts for entries that are pruned in part
		f.fill(1)
		rows := &interruptedRows{f.rows, deletions}
		log := audit.New(audit.Deps{Store: rows, Clock: f.clock, Log: slog.New(slog.DiscardHandler)})
		cut := f.clock.Now()
		if err := log.Prune(t.Context(), cut); !errors.Is(err, errInterrupted) {
			t.Fatal(err)
		}
		if got := f.all()[0].Seq; got != first {
			t.Errorf("after %d deletions the log starts at %d, want %d", deletions, got, first)
		}
		if _, err := f.Verify(t.Context(), nil); err != nil {
			t.Errorf("after %d deletions: %v", deletions, err)
		}
		// The next run continues, and leaves only the records of deletions.
		rows.left = 100
		f.must(log.Prune(t.Context(), cut))
		for _, e := range f.all() {
			if e.Event != audit.LogPruned {
				t.Errorf("entry %d is left: %s", e.Seq, e.Event)
			}
		}
		if _, err := f.Verify(t.Context(), nil); err != nil {
			t.Errorf("after all deletions: %v", err)
		}
	}
}
