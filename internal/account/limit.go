package account

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"carrel/internal/core"
)

// Limits bound how often secrets can be guessed: from one network whatever the account, and for one account from
// wherever. The second leaves room enough that a stranger who fails on purpose does not shut the owner out for long.
// All ways of proving who one is share them, so that nobody gets more guesses by trying each.
type Limits struct {
	on        bool
	seed      maphash.Seed
	addresses *throttle
	accounts  *throttle
}

// NewLimits returns limits; with on = false they never refuse.
func NewLimits(on bool) *Limits {
	return &Limits{
		on: on, seed: maphash.MakeSeed(),
		addresses: &throttle{burst: 40, every: 3 * time.Second},
		accounts:  &throttle{burst: 10, every: time.Minute},
	}
}

// FromAddress counts an attempt from a network. Beyond the limit it returns the error to answer with.
func (l *Limits) FromAddress(addr netip.Addr, now time.Time) error {
	if !l.on {
		return nil
	}
	b := addr.As16() // the zero address is one too
	if addr.Is6() {
		clear(b[8:]) // a whole /64 is one subscriber's
	}
	return tooMany("from your network", l.addresses.take(maphash.Bytes(l.seed, b[:]), now))
}

// Attempt counts an attempt on an account from a network, whether there is such an account or not.
func (l *Limits) Attempt(addr netip.Addr, email string, now time.Time) error {
	if !l.on {
		return nil
	}
	if err := l.FromAddress(addr, now); err != nil {
		return err
	}
	return tooMany("on this account", l.accounts.take(l.account(email), now))
}

// Forgive gives back what an attempt that succeeded has cost its account.
func (l *Limits) Forgive(email string) { l.accounts.giveBack(l.account(email)) }

func (l *Limits) account(email string) uint64 { return maphash.String(l.seed, NormalEmail(email)) }

// tooMany is the answer to one attempt too many, or nil if there is nothing to wait for.
func tooMany(what string, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return &core.Error{
		Kind: core.KindRateLimited, Code: "rate_limited", RetryAfter: wait,
		Detail: "Too many attempts " + what + ". Try again in " + core.InWords(wait) + ".",
	}
}

// throttle is a bounded set of token buckets. A bucket that is full again is as good as none and dropped with the sweep.
type throttle struct {
	burst float64
	every time.Duration

	mu      sync.Mutex
	buckets map[uint64]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// maxBuckets bounds the memory of a throttle to a few megabytes.
const maxBuckets = 50_000

// take takes a token, or returns how long it takes until there is one.
func (t *throttle) take(key uint64, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, known := t.buckets[key]
	if !known {
		t.makeRoom(now)
		b = bucket{tokens: t.burst, at: now}
	}
	b = t.filled(b, now)
	wait := time.Duration(0)
	if b.tokens < 1 {
		wait = time.Duration((1 - b.tokens) * float64(t.every))
	} else {
		b.tokens--
	}
	t.buckets[key] = b
	return wait
}

func (t *throttle) giveBack(key uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, known := t.buckets[key]; known {
		b.tokens = min(t.burst, b.tokens+1)
		t.buckets[key] = b
	}
}

func (t *throttle) filled(b bucket, now time.Time) bucket {
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens, b.at = min(t.burst, b.tokens+float64(passed)/float64(t.every)), now
	}
	return b
}

// makeRoom drops full buckets when there are too many, and if none is full all of them: whoever can fill a table of
// this size from as many networks is not held up by it anyway.
func (t *throttle) makeRoom(now time.Time) {
	if t.buckets == nil {
		t.buckets = map[uint64]bucket{}
	}
	if len(t.buckets) < maxBuckets {
		return
	}
	for key, b := range t.buckets {
		if t.filled(b, now).tokens >= t.burst {
			delete(t.buckets, key)
		}
	}
	if len(t.buckets) >= maxBuckets {
		clear(t.buckets)
	}
}
