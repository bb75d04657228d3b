package server

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestBucketsAreBoundedWhateverComes(t *testing.T) {
	t.Parallel()
	b := newBuckets(newPolicy("x", 1, 2), time.Minute)
	now := time.Now()
	for range 100_000 {
		b.take(rand.Uint64(), now)
	}
	if got, limit := b.size(), shardCount*2*maxPerGeneration; got > limit || got < limit/4 {
		t.Errorf("%d buckets are kept, the bound is %d", got, limit)
	}
}

func TestABucketInUseOutlivesAFloodOfOthers(t *testing.T) {
	t.Parallel()
	b := newBuckets(newPolicy("x", 1.0/3600, 1), time.Minute)
	now := time.Now()
	const key = 7
	if !b.take(key, now).allowed {
		t.Fatal("the first was refused")
	}
	for i := range 70_000 {
		b.take(rand.Uint64(), now)
		if i%100 == 0 && b.take(key, now).allowed {
			t.Fatalf("the bucket was forgotten after %d others", i)
		}
	}
}

func TestUnusedBucketsAreForgotten(t *testing.T) {
	t.Parallel()
	b := newBuckets(newPolicy("x", 1, 2), time.Minute)
	now := time.Now()
	for key := range uint64(1000) {
		b.take(key, now)
	}
	// Each shard forgets when it is next used, after two generations.
	for _, later := range []time.Duration{2 * time.Minute, 4 * time.Minute} {
		for key := range uint64(shardCount) {
			b.take(key, now.Add(later))
		}
	}
	if got := b.size(); got != shardCount {
		t.Errorf("%d are left", got)
	}
}

func TestABucketIsNotForgottenBeforeItIsFullAgain(t *testing.T) {
	t.Parallel()
	l := newLimiter(nil, "")
	for _, b := range []*buckets{l.addresses, l.signIns, l.credentials, l.users} {
		refill := time.Duration(float64(b.policy.burst) / float64(b.policy.rate) * float64(time.Second))
		if b.keep < refill {
			t.Errorf("%s is kept %v and takes %v to fill up", b.policy.name, b.keep, refill)
		}
	}
}
