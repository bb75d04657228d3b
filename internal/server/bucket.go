package server

import (
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"carrel/internal/core"
)

// policy is a rate limit and its RateLimit-Policy header (draft-ietf-httpapi-ratelimit-headers).
type policy struct {
	name   string
	quoted string
	rate   rate.Limit
	burst  int
	header string
}

// newPolicy returns a policy of a burst and a rate. As a quota in the header, it is the burst within the time that the
// bucket takes to fill.
func newPolicy(name string, perSecond float64, burst int) *policy {
	window := int(math.Ceil(float64(burst) / perSecond))
	quoted := strconv.Quote(name)
	return &policy{
		name: name, quoted: quoted, rate: rate.Limit(perSecond), burst: burst,
		header: quoted + ";q=" + strconv.Itoa(burst) + ";w=" + strconv.Itoa(window),
	}
}

// verdict is the result of taking a token, with the number of tokens left.
type verdict struct {
	policy  *policy
	allowed bool
	tokens  float64
}

// header returns the RateLimit header: the remaining tokens and the seconds until the bucket is full.
func (v verdict) header() string {
	left := max(0, v.tokens)
	full := math.Ceil((float64(v.policy.burst) - left) / float64(v.policy.rate))
	b := make([]byte, 0, 48)
	b = append(b, v.policy.quoted...)
	b = strconv.AppendInt(append(b, ";r="...), int64(left), 10)
	b = strconv.AppendInt(append(b, ";t="...), int64(full), 10)
	return string(b)
}

// retryAfter returns the time until the next token, in whole seconds and at least one.
func (v verdict) retryAfter() time.Duration {
	seconds := math.Ceil((1 - v.tokens) / float64(v.policy.rate))
	return time.Duration(max(1, seconds)) * time.Second
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
	shards [shardCount]shard
}

// bucket is a token bucket. Its policy may differ from the policy of the set.
type bucket struct {
	*rate.Limiter
	policy *policy
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
	s := b.shard(key)
	s.Lock()
	l := s.find(key, now, b.keep)
	if l == nil {
		l = newBucket(b.policy)
		s.put(key, l, now)
	}
	s.Unlock()
	return l.take(now)
}

// takeAt is take with a custom rate, if own sets one. A bucket whose rate changes keeps its missing tokens, so that
// switching plans does not refill it.
func (b *buckets) takeAt(key uint64, own core.Rate, now time.Time) verdict {
	perSecond, burst := b.policy.rate, b.policy.burst
	if own.PerSecond > 0 {
		perSecond = rate.Limit(own.PerSecond)
	}
	if own.Burst > 0 {
		burst = own.Burst
	}
	s := b.shard(key)
	s.Lock()
	defer s.Unlock() // held to the end, because change replaces the policy
	l := s.find(key, now, b.keep)
	if l == nil {
		l = newBucket(b.policy)
		s.put(key, l, now)
	}
	if l.policy.rate != perSecond || l.policy.burst != burst {
		l.change(newPolicy(b.policy.name, float64(perSecond), burst), now)
	}
	return l.take(now)
}

// takeKnown takes a token from the bucket of a key, if the bucket exists.
func (b *buckets) takeKnown(key uint64, now time.Time) (verdict, bool) {
	s := b.shard(key)
	s.Lock()
	l := s.find(key, now, b.keep)
	s.Unlock()
	if l == nil {
		return verdict{}, false
	}
	return l.take(now), true
}

func newBucket(p *policy) *bucket { return &bucket{rate.NewLimiter(p.rate, p.burst), p} }

func (l *bucket) take(now time.Time) verdict {
	allowed := l.AllowN(now, 1)
	return verdict{policy: l.policy, allowed: allowed, tokens: l.TokensAt(now)}
}

// change sets another policy. The number of missing tokens stays the same.
func (l *bucket) change(p *policy, now time.Time) {
	missing := float64(l.policy.burst) - l.TokensAt(now)
	l.Limiter, l.policy = rate.NewLimiter(p.rate, p.burst), p
	l.AllowN(now, min(p.burst, int(math.Ceil(missing))))
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
