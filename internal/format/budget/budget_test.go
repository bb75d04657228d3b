package budget_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"carrel/internal/format/budget"
)

var small = budget.Limits{Unpacked: 1 << 20, Entries: 3, Depth: 2, Work: 1000e6, Memory: 64 << 20, Time: time.Hour}

// over spends and returns the exceeded limit.
func over(t *testing.T, b *budget.Budget, spend func(b *budget.Budget)) *budget.Exceeded {
	t.Helper()
	err := budget.Catch(func() error {
		spend(b)
		return nil
	})
	if err == nil {
		return &budget.Exceeded{}
	}
	exceeded, is := errors.AsType[*budget.Exceeded](err)
	if !is {
		t.Fatal(err)
	}
	return exceeded
}

func TestEveryLimitNamesItsValueAndItsSetting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spend           func(b *budget.Budget)
		reason, setting string
		document        bool
	}{
		"unpacked": {func(b *budget.Budget) {
			_, _ = io.Copy(io.Discard, b.Reader(strings.NewReader(strings.Repeat("x", 2<<20))))
		}, "unpacks to more than 1 MiB", "import-unpacked-mib", false},
		"entries": {func(b *budget.Budget) { b.Entries(4) }, "holds more than 3 files", "import-entries", false},
		"depth": {func(b *budget.Budget) {
			b.Enter()
			b.Enter()
			b.Enter()
		}, "nested deeper than 2 levels", "import-depth", false},
		"work": {func(b *budget.Budget) { b.Work(1e9 + 1) }, "more than 1,000 million steps", "import-work", false},
		"memory": {func(b *budget.Budget) {
			b.Hold(65 << 20)
		}, "more than 64 MiB of memory", "import-memory-mib", true},
		"time": {func(b *budget.Budget) {
			b.Check()
		}, "takes longer than 1ns", "import-time", false},
		"nothing": {func(b *budget.Budget) {
			for range 10 {
				b.Enter()()
				b.Hold(60 << 20)
				b.Release(60 << 20)
			}
			b.Entries(3)
		}, "", "", false},
	} {
		limits := small
		if name == "time" {
			limits.Time = time.Nanosecond
		}
		got := over(t, budget.New(t.Context(), limits, 0, nil), c.spend)
		if got.Setting != c.setting || !strings.Contains(got.Reason, c.reason) || got.Document != c.document {
			t.Errorf("%s: %+v", name, got)
		}
		if c.setting != "" && !strings.HasSuffix(got.Error(), "raise the setting "+c.setting) {
			t.Errorf("%s: %q does not say what to do", name, got.Error())
		}
	}
}

func TestLimitsGrowWithTheUploadAndWithItsText(t *testing.T) {
	t.Parallel()
	large := budget.New(t.Context(), small, 10<<20, nil)
	if got := over(t, large, func(b *budget.Budget) {
		b.Unpack(200 << 20)
		b.Work(1080e6)
	}); got.Setting != "" {
		t.Errorf("a large upload: %v", got)
	}
	tiny := budget.New(t.Context(), small, 1000, nil)
	tiny.Progress(1 << 20) // earns no more than its size allows: a million units
	if got := over(t, tiny, func(b *budget.Budget) { b.Work(1001e6) }); got.Setting != "" {
		t.Errorf("after some text: %v", got)
	}
	if got := over(t, tiny, func(b *budget.Budget) { b.Work(1e6) }); got.Setting != "import-work" {
		t.Errorf("after all of it: %v", got)
	}
}

func TestADocumentWaitsForTheMemoryItMayNeed(t *testing.T) {
	t.Parallel()
	pool := budget.NewPool(64 << 20)
	first, second := budget.New(t.Context(), small, 0, pool), budget.New(t.Context(), small, 0, pool)
	err := first.Document(0, func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		waiting := budget.New(ctx, small, 0, pool)
		if err := waiting.Document(
			0, func() { t.Error("two documents share memory for one") },
		); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting ended with %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	read := false
	if err := second.Document(0, func() { read = true }); err != nil || !read {
		t.Errorf("after the first: %v", err)
	}
}

func TestReadAllHoldsLittleMoreThanItReturns(t *testing.T) {
	t.Parallel()
	b := budget.New(t.Context(), small, 0, nil)
	data, err := b.ReadAll(strings.NewReader(strings.Repeat("x", 20<<20)), 30<<20, 0)
	if err != nil || len(data) != 20<<20 || b.Used().Memory > 56<<20 {
		t.Errorf("%d bytes, %d held (%v)", len(data), b.Used().Memory, err)
	}
	if data, err = b.ReadAll(strings.NewReader("too long"), 3, 0); err != nil || len(data) != 4 {
		t.Errorf("%q (%v)", data, err)
	}
}
