package server

import (
	"math"
	"strconv"
	"sync"
	"time"

	"carrel/internal/core"
)

// policy is a rate limit and its RateLimit-Policy header (draft-ietf-httpapi-ratelimit-headers).
type policy struct {
	core.TokenBucket
	name   string
	quoted string
	header string
}

// newPolicy returns a policy of a burst and a rate. As a quota in the header, it is the burst within the time that the
// bucket takes to fill.
func newPolicy(name string, b core.TokenBucket) *policy {
	window := int(math.Ceil((time.Duration(b.Burst) * b.Every).Seconds()))
	quoted := strconv.Quote(name)
	return &policy{
		TokenBucket: b, name: name, quoted: quoted,
		header: quoted + ";q=" + strconv.Itoa(b.Burst) + ";w=" + strconv.Itoa(window),
	}
}

// perSecond returns the interval between tokens at a rate.
func perSecond(n int) time.Duration { return max(time.Nanosecond, time.Second/time.Duration(n)) }

// verdict is the result of taking a token, with the number of tokens left.
type verdict struct {
	policy  *policy
	allowed bool
	tokens  float64
	// wait is the time until the next token, and full the time until the bucket is full.
	wait, full time.Duration
}

// header returns the RateLimit header: the remaining tokens and the seconds until the bucket is full.
func (v verdict) header() string {
	b := make([]byte, 0, 48)
	b = append(b, v.policy.quoted...)
	b = strconv.AppendInt(append(b, ";r="...), max(0, int64(v.tokens)), 10)
	b = strconv.AppendInt(append(b, ";t="...), int64(math.Ceil(v.full.Seconds())), 10)
	return string(b)
}

// retryAfter returns the time until the next token, in whole seconds and at least one.
func (v verdict) retryAfter() time.Duration {
	return time.Duration(max(1, math.Ceil(v.wait.Seconds()))) * time.Second
}

// Limits of a set of buckets: at most shardCount*2*maxPerGeneration, about 10 MB.
const (
	shardCount       = 16
	maxPerGeneration = 2048
)

// buckets is a bounded set of token buckets. Each shard has two generations. A bucket moves to the young generation
// when it is used; when that is full or old enough, the old one is dropped with all unused buckets. So no goroutine has
// to sweep the set.
type buckets struct {
	policy *policy
	keep   time.Duration
	wake   chan<- struct{} // requests an exchange with the other nodes; nil on a single node
	shards [shardCount]shard
}

// bucket is a token bucket, which is full again at full. Its policy may differ from the policy of the set. The lock of
// its shard guards it.
type bucket struct {
	full   time.Time
	policy *policy
	// taken is the number of tokens that the other nodes have not been told of, and since the time of the first one.
	taken int
	since time.Time
}

type shard struct {
	sync.Mutex
	young, old map[uint64]*bucket
	turned     time.Time
}

func newBuckets(p *policy, keep time.Duration) *buckets {
	return &buckets{policy: p, keep: keep}
}

// take takes a token from the bucket of a key. It creates the bucket if necessary.
func (b *buckets) take(key uint64, now time.Time) verdict {
	return b.takeAs(key, b.policy.TokenBucket, now)
}

// takeAt is take with a custom rate, if own sets one. A bucket whose rate changes keeps its missing tokens, so that
// switching plans does not refill it.
func (b *buckets) takeAt(key uint64, own core.Rate, now time.Time) verdict {
	as := b.policy.TokenBucket
	if own.PerSecond > 0 {
		as.Every = perSecond(own.PerSecond)
	}
	if own.Burst > 0 {
		as.Burst = own.Burst
	}
	return b.takeAs(key, as, now)
}

// takeAs takes a token from the bucket of a key, which gets this limit.
func (b *buckets) takeAs(key uint64, as core.TokenBucket, now time.Time) verdict {
	s := b.shard(key)
	s.Lock()
	defer s.Unlock()
	l := s.find(key, now, b.keep)
	if l == nil {
		l = &bucket{policy: b.policy}
		s.put(key, l, now)
	}
	if l.policy.TokenBucket != as {
		l.change(newPolicy(b.policy.name, as), now)
	}
	return b.takeFrom(l, now)
}

// takeKnown takes a token from the bucket of a key, if the bucket exists.
func (b *buckets) takeKnown(key uint64, now time.Time) (verdict, bool) {
	s := b.shard(key)
	s.Lock()
	defer s.Unlock()
	l := s.find(key, now, b.keep)
	if l == nil {
		return verdict{}, false
	}
	return b.takeFrom(l, now), true
}

// takeFrom takes a token from a bucket, and requests an exchange when a large part of the burst was taken since the
// last one.
func (b *buckets) takeFrom(l *bucket, now time.Time) verdict {
	v := l.take(now)
	if v.allowed && b.wake != nil && l.taken*wakeShare >= l.policy.Burst {
		select {
		case b.wake <- struct{}{}:
		default: // requested already
		}
	}
	return v
}

func (l *bucket) take(now time.Time) verdict {
	v := verdict{policy: l.policy}
	l.full, v.allowed = l.policy.Take(l.full, now)
	if v.allowed {
		if l.taken == 0 {
			l.since = now
		}
		l.taken++
	}
	v.tokens, v.wait, v.full = l.policy.Tokens(l.full, now), l.policy.Wait(l.full, now), l.full.Sub(now)
	return v
}

// change sets another policy. The number of missing tokens stays the same.
func (l *bucket) change(p *policy, now time.Time) {
	missing := math.Ceil(float64(l.policy.Burst) - l.policy.Tokens(l.full, now))
	l.full, l.policy = now.Add(time.Duration(min(missing, float64(p.Burst)))*p.Every), p
}

// shard returns the shard of a key, which is a hash. Shards reduce lock contention.
func (b *buckets) shard(key uint64) *shard { return &b.shards[key%shardCount] }

// find returns the bucket and marks it as used. The shard is locked.
func (s *shard) find(key uint64, now time.Time, keep time.Duration) *bucket {
	if s.turned.IsZero() {
		s.turned = now
	}
	if now.Sub(s.turned) > keep {
		s.turn(now)
	}
	if l := s.young[key]; l != nil {
		return l
	}
	l := s.old[key]
	if l != nil {
		delete(s.old, key)
		s.put(key, l, now)
	}
	return l
}

func (s *shard) put(key uint64, l *bucket, now time.Time) {
	if len(s.young) >= maxPerGeneration {
		s.turn(now)
	}
	if s.young == nil {
		s.young = map[uint64]*bucket{}
	}
	s.young[key] = l
}

func (s *shard) turn(now time.Time) {
	s.old, s.young, s.turned = s.young, nil, now
}
