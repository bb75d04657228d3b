package server

import (
	"math/rand/v2"
	"testing"
	"time"

	"carrel/internal/core"
)

func TestNumberOfBucketsIsBounded(t *testing.T) {
	t.Parallel()
	b := newBuckets(newPolicy("x", core.TokenBucket{Burst: 2, Every: time.Second}), time.Minute)
	now := time.Now()
	for range 100_000 {
		b.take(rand.Uint64(), now)
	}
	if got, limit := b.size(), shardCount*2*maxPerGeneration; got > limit || got < limit/4 {
		t.Errorf("%d buckets, the limit is %d", got, limit)
	}
}

func TestBucketInUseIsNotDropped(t *testing.T) {
	t.Parallel()
	b := newBuckets(newPolicy("x", core.TokenBucket{Burst: 1, Every: time.Hour}), time.Minute)
	now := time.Now()
	const key = 7
	if !b.take(key, now).allowed {
		t.Fatal("the first request was refused")
	}
	for i := range 70_000 {
		b.take(rand.Uint64(), now)
		if i%100 == 0 && b.take(key, now).allowed {
			t.Fatalf("the bucket was dropped after %d others", i)
		}
	}
}

func TestUnusedBucketsAreDropped(t *testing.T) {
	t.Parallel()
	b := newBuckets(newPolicy("x", core.TokenBucket{Burst: 2, Every: time.Second}), time.Minute)
	now := time.Now()
	for key := range uint64(1000) {
		b.take(key, now)
	}
	// A shard drops buckets when it is used, after two generations.
	for _, later := range []time.Duration{2 * time.Minute, 4 * time.Minute} {
		for key := range uint64(shardCount) {
			b.take(key, now.Add(later))
		}
	}
	if got := b.size(); got != shardCount {
		t.Errorf("%d are left", got)
	}
}

func TestBucketIsKeptUntilItIsFull(t *testing.T) {
	t.Parallel()
	l := newLimiter(nil, "", nil)
	for _, b := range []*buckets{l.addresses, l.signIns, l.credentials, l.users} {
		refill := time.Duration(b.policy.Burst) * b.policy.Every
		if b.keep < refill {
			t.Errorf("%s is kept %v and takes %v to fill", b.policy.name, b.keep, refill)
		}
	}
}
