package signin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
)

// Bucket is a token bucket of attempts.
type Bucket struct {
	// Key is a keyed hash of the account, network, browser or session that the attempts are counted for.
	Key []byte
	core.TokenBucket
}

// LimitStore persists the buckets, shared by all nodes.
type LimitStore interface {
	// TakeAttempts takes one attempt from each bucket in order and stops at the first empty one. It returns the number of
	// buckets that had an attempt, and the time until the empty one is refilled. Concurrent callers never take more than
	// a bucket holds.
	TakeAttempts(ctx context.Context, buckets []Bucket, now time.Time) (taken int, wait time.Duration, err error)
	// ReturnAttempts puts one attempt back into each bucket.
	ReturnAttempts(ctx context.Context, buckets []Bucket) error
	// PruneAttempts deletes full buckets.
	PruneAttempts(ctx context.Context, now time.Time) error
}

// Limits rate-limits the guessing of secrets. All methods of sign-in and proof share the buckets, so combining methods
// gains an attacker nothing, and so do all nodes.
//
// Attempts are counted per account and network, so an attacker who fails on purpose exhausts only the bucket of their
// own network. A ceiling per account over all networks slows distributed guessing. Known browsers and sessions of the
// account have their own bucket and skip the ceiling, so an attacker cannot lock the owner out.
type Limits struct {
	store    LimitStore
	browsers *Browsers
	clock    core.Clock
	key      []byte
	on       bool
}

// networkBucket is shared by all accounts. Successful attempts count too.
func (l *Limits) networkBucket(from netip.Addr) Bucket {
	key := l.hash("network", core.ClientNetwork(from).String())
	return Bucket{key, core.TokenBucket{Burst: 40, Every: 3 * time.Second}}
}

func (l *Limits) accountNetworkBucket(email string, from netip.Addr) Bucket {
	key := l.hash("account and network", email, core.ClientNetwork(from).String())
	return Bucket{key, core.TokenBucket{Burst: 10, Every: time.Minute}}
}

// accountBucket is the ceiling of one account over all networks: at most 4,420 guesses per day.
func (l *Limits) accountBucket(email string) Bucket {
	return Bucket{l.hash("account", email), core.TokenBucket{Burst: 100, Every: 20 * time.Second}}
}

// knownBucket is the bucket of one known browser or one session.
func (l *Limits) knownBucket(kind, id string) Bucket {
	return Bucket{l.hash(kind, id), core.TokenBucket{Burst: 10, Every: time.Minute}}
}

// hash returns the key of a bucket. E-mail and IP addresses are never stored in clear text.
func (l *Limits) hash(parts ...string) []byte {
	mac := hmac.New(sha256.New, l.key)
	for _, part := range append([]string{"limit"}, parts...) {
		mac.Write([]byte(part + "\x00"))
	}
	return mac.Sum(nil)
}

// Guess is an attempt to prove an identity.
type Guess struct {
	From  netip.Addr
	Email string
	// Browser is the known-browser token of the request, or empty.
	Browser string
	// SessionID is the session in which the attempt is made, or empty.
	SessionID string
}

// Counted is a counted attempt. Forgive returns it to its buckets.
type Counted struct{ buckets []Bucket }

// FromNetwork counts an attempt without a known account. Beyond the limit it returns a rate_limited error.
func (l *Limits) FromNetwork(ctx context.Context, from netip.Addr) error {
	if !l.on {
		return nil
	}
	_, err := l.take(ctx, []Bucket{l.networkBucket(from)}, tooManyFromNetwork)
	return err
}

// Attempt counts an attempt on an account, whether it exists or not. Beyond a limit it returns a rate_limited error.
func (l *Limits) Attempt(ctx context.Context, g Guess) (Counted, error) {
	if !l.on {
		return Counted{}, nil
	}
	if g.SessionID != "" {
		return l.take(ctx, []Bucket{l.knownBucket("session", g.SessionID)}, tooManyInBrowser)
	}
	email := account.NormalEmail(g.Email)
	if g.Browser != "" {
		known, err := l.browsers.Knows(ctx, g.Browser, email)
		if err != nil {
			return Counted{}, err
		}
		if known {
			return l.take(ctx, []Bucket{l.knownBucket("browser", g.Browser)}, tooManyInBrowser)
		}
	}
	counted, err := l.take(ctx,
		[]Bucket{l.networkBucket(g.From), l.accountNetworkBucket(email, g.From), l.accountBucket(email)},
		tooManyFromNetwork, tooManyHere, tooManyOnAccount)
	if err == nil {
		counted.buckets = counted.buckets[1:] // the network bucket keeps successful attempts
	}
	return counted, err
}

// Forgive returns a successful attempt to the buckets of its account or browser.
func (l *Limits) Forgive(ctx context.Context, c Counted) error {
	if len(c.buckets) == 0 {
		return nil
	}
	return l.store.ReturnAttempts(ctx, c.buckets)
}

func (l *Limits) prune(ctx context.Context) error { return l.store.PruneAttempts(ctx, l.clock.Now()) }

// The details of rate_limited errors.
const (
	tooManyFromNetwork = "Too many attempts from your network. Try again in %s."
	tooManyHere        = "Too many attempts on this account from your network. Try again in %s."
	tooManyOnAccount   = "Too many attempts on this account. Try again in %s, " +
		"or use a browser where you have signed in before."
	tooManyInBrowser = "Too many attempts on this account. Try again in %s."
)

// take counts an attempt in all buckets. details holds the error detail for each bucket being empty.
func (l *Limits) take(ctx context.Context, buckets []Bucket, details ...string) (Counted, error) {
	taken, wait, err := l.store.TakeAttempts(ctx, buckets, l.clock.Now())
	if err != nil {
		return Counted{}, err
	}
	if taken == len(buckets) {
		return Counted{buckets}, nil
	}
	return Counted{}, &core.Error{
		Kind:       core.KindRateLimited,
		Code:       "rate_limited",
		RetryAfter: wait,
		Detail:     fmt.Sprintf(details[taken], core.InWords(wait)),
	}
}
