package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

func openRateLimits(t *testing.T) *DB {
	t.Helper()
	return open(t, Options{URL: testkit.Postgres(t)})
}

func TestUseOfABucketIsAddedUp(t *testing.T) {
	t.Parallel()
	db := openRateLimits(t)
	share := func(u core.BucketUse) time.Duration {
		t.Helper()
		u.Key = "b"
		missing, err := db.ShareUse(t.Context(), []core.BucketUse{{Key: "z", Taken: 1}, u, {Key: "a", Taken: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return missing[1].Round(time.Hour)
	}
	const h = time.Hour
	for i, step := range []struct {
		use  core.BucketUse
		want time.Duration
	}{
		{core.BucketUse{Taken: 5 * h, Age: 20 * h}, 0}, // regained since
		{core.BucketUse{Taken: 30 * h, Age: h, Missing: 29 * h}, 30 * h},
		{core.BucketUse{Taken: 3 * h, Missing: 3 * h}, 33 * h},            // of another node
		{core.BucketUse{Taken: h, Age: 100 * h, Missing: 90 * h}, 90 * h}, // the table was lost
	} {
		if got := share(step.use); got != step.want {
			t.Errorf("step %d: full in %s, want %s", i, got, step.want)
		}
	}
	var rows int
	count := func(want int) {
		t.Helper()
		if err := get(t.Context(), db.read, `SELECT count(*) FROM rate_limit`, nil, &rows); err != nil || rows != want {
			t.Errorf("%d rows, want %d: %v", rows, want, err)
		}
	}
	count(3)
	for before, left := range map[time.Duration]int{-h: 3, h: 1} {
		if err := db.PruneRateLimits(t.Context(), time.Now().Add(before)); err != nil {
			t.Fatal(err)
		}
		if before > 0 {
			count(left)
		}
	}
}

func TestConcurrentUsesAreAllCounted(t *testing.T) {
	t.Parallel()
	db := openRateLimits(t)
	const nodes, buckets, rounds = 8, 50, 10
	testkit.Concurrently(nodes, func(node int) {
		for range rounds {
			uses := make([]core.BucketUse, buckets)
			for i := range uses {
				uses[i] = core.BucketUse{Key: fmt.Sprint("bucket ", (i+node*7)%buckets), Taken: time.Hour}
			}
			if _, err := db.ShareUse(t.Context(), uses); err != nil {
				t.Error(err)
			}
		}
	})
	missing, err := db.ShareUse(t.Context(), []core.BucketUse{{Key: "bucket 0"}, {Key: "bucket 49"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range missing {
		missing[i] = missing[i].Round(time.Hour)
	}
	if want := nodes * rounds * time.Hour; !slices.Equal(missing, []time.Duration{want, want}) {
		t.Errorf("full in %v, want %s", missing, want)
	}
}
