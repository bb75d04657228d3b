package server

import (
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"carrel/internal/core"
)

// policy is one limit, and how it is told to clients (draft-ietf-httpapi-ratelimit-headers).
type policy struct {
	name   string
	quoted string
	rate   rate.Limit
	burst  int
	header string
}

// newPolicy allows a burst at once and then so many a second. As a quota that is the burst in the time that the
// bucket takes to fill up.
func newPolicy(name string, perSecond float64, burst int) *policy {
	window := int(math.Ceil(float64(burst) / perSecond))
	quoted := strconv.Quote(name)
	return &policy{
		name: name, quoted: quoted, rate: rate.Limit(perSecond), burst: burst,
		header: quoted + ";q=" + strconv.Itoa(burst) + ";w=" + strconv.Itoa(window),
	}
}

// verdict is what a bucket said, and how many tokens it has left.
type verdict struct {
	policy  *policy
	allowed bool
	tokens  float64
}

// header is the RateLimit header: what is left, and the seconds until all of it is back.
func (v verdict) header() string {
	left := max(0, v.tokens)
	full := math.Ceil((float64(v.policy.burst) - left) / float64(v.policy.rate))
	b := make([]byte, 0, 48)
	b = append(b, v.policy.quoted...)
	b = strconv.AppendInt(append(b, ";r="...), int64(left), 10)
	b = strconv.AppendInt(append(b, ";t="...), int64(full), 10)
	return string(b)
}

// retryAfter is the time until the next token, in whole seconds and at least one.
func (v verdict) retryAfter() time.Duration {
	seconds := math.Ceil((1 - v.tokens) / float64(v.policy.rate))
	return time.Duration(max(1, seconds)) * time.Second
}

// The bounds of a set of buckets: at most shardCount*2*maxPerGeneration of them, about 10 MB.
const (
	shardCount       = 16
	maxPerGeneration = 2048
)

// buckets is a bounded set of token buckets. Each shard has two generations: a bucket that is used moves to the
// young one, and when that is full or old enough the other is dropped, with all that was not used meanwhile. So
// there is nothing to sweep, and no goroutine that would.
type buckets struct {
	policy *policy
	keep   time.Duration
	shards [shardCount]shard
}

// bucket has the policy of all of its set, or one of its own.
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

// take asks the bucket of this key for a token, and makes the bucket when there is none.
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

// takeAt is take with a rate of the key's own, as far as it has one. A bucket whose rate is another from now on keeps
// what was taken from it: to change a plan, and back, gives nothing away.
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
	defer s.Unlock() // the policy of a bucket is changed and read
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

// takeKnown asks the bucket of this key for a token, if there is one.
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

// change gives a bucket another policy. A full one stays full; of any other what is missing stays missing.
func (l *bucket) change(p *policy, now time.Time) {
	missing := float64(l.policy.burst) - l.TokensAt(now)
	l.Limiter, l.policy = rate.NewLimiter(p.rate, p.burst), p
	l.AllowN(now, min(p.burst, int(math.Ceil(missing))))
}

// shard spreads the keys, which are hashes, so that requests rarely wait for one another.
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
