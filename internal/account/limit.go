package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"carrel/internal/core"
)

// Bucket is a number of attempts, of which one comes back in each interval.
type Bucket struct {
	// Key is a keyed hash of what the attempts are counted for.
	Key   []byte
	Burst int
	Every time.Duration
}

// LimitStore counts attempts for all nodes of an installation.
type LimitStore interface {
	// TakeAttempts takes an attempt from each bucket in order and stops at the first that is empty. It returns how many
	// had one, and how long it takes until the next has one. Of many callers at once no more succeed than there are
	// attempts.
	TakeAttempts(ctx context.Context, buckets []Bucket, now time.Time) (taken int, wait time.Duration, err error)
	// ReturnAttempts puts an attempt back into each bucket.
	ReturnAttempts(ctx context.Context, buckets []Bucket) error
	// PruneAttempts forgets the buckets that are full again.
	PruneAttempts(ctx context.Context, now time.Time) error
}

// KnownBrowsers tells in which browsers an account was signed in to.
type KnownBrowsers interface {
	// Knows reports whether the account with this address was signed in to in the browser that holds the token.
	Knows(ctx context.Context, token, email string) (bool, error)
}

// Limits bound how often secrets can be guessed. All ways of proving who one is share them, so that trying each of them
// gives no more guesses, and the database keeps them, so that asking another node gives none either.
//
// Attempts on an account are counted by account and network: a stranger who fails on purpose uses up the attempts of their
// own network alone. Across all networks the account has a ceiling, which slows guessing from many networks down. A
// browser in which the account was signed in to before, and a session of it, have a bucket of their own instead, so
// that no stranger can lock its owner out.
type Limits struct {
	store    LimitStore
	browsers KnownBrowsers
	clock    core.Clock
	key      []byte
	on       bool
}

// NewLimits returns limits whose keys are hashed with key; with on = false they never refuse.
func NewLimits(store LimitStore, browsers KnownBrowsers, clock core.Clock, key []byte, on bool) *Limits {
	return &Limits{store: store, browsers: browsers, clock: clock, key: key, on: on}
}

// networkBucket is for all accounts together; attempts that succeed count as well.
func (l *Limits) networkBucket(from netip.Addr) Bucket {
	return Bucket{Key: l.hash("network", network(from)), Burst: 40, Every: 3 * time.Second}
}

func (l *Limits) accountNetworkBucket(email string, from netip.Addr) Bucket {
	return Bucket{Key: l.hash("account and network", email, network(from)), Burst: 10, Every: time.Minute}
}

// accountBucket is the ceiling for one account: at most 4,420 guesses in a day, however many networks they come from.
func (l *Limits) accountBucket(email string) Bucket {
	return Bucket{Key: l.hash("account", email), Burst: 100, Every: 20 * time.Second}
}

// knownBucket is for one browser or one session of an account.
func (l *Limits) knownBucket(kind, id string) Bucket {
	return Bucket{Key: l.hash(kind, id), Burst: 10, Every: time.Minute}
}

// network is what counts as one network: an IPv4 address, or a /64 of IPv6, which is what one subscriber gets.
func network(addr netip.Addr) string {
	addr = addr.Unmap()
	if !addr.Is6() {
		return addr.String() // the zero address is one too
	}
	prefix, _ := addr.WithZone("").Prefix(64) // 64 bits are never too many
	return prefix.String()
}

// hash is the key of a bucket: neither addresses of people nor of networks are stored.
func (l *Limits) hash(parts ...string) []byte {
	mac := hmac.New(sha256.New, l.key)
	for _, part := range append([]string{"limit"}, parts...) {
		mac.Write([]byte(part + "\x00"))
	}
	return mac.Sum(nil)
}

// Guess is an attempt to prove who one is.
type Guess struct {
	From  netip.Addr
	Email string
	// Browser is the token that the browser keeps since somebody signed in with it, if there is one.
	Browser string
	// SessionID is the session of the account that the attempt is made in, if there is one.
	SessionID string
}

// Counted is an attempt that was counted, to be forgiven if it succeeds.
type Counted struct{ buckets []Bucket }

// FromNetwork counts an attempt that is on no account in particular. Beyond the limit it returns the error to answer with.
func (l *Limits) FromNetwork(ctx context.Context, from netip.Addr) error {
	if !l.on {
		return nil
	}
	_, err := l.take(ctx, []Bucket{l.networkBucket(from)}, tooManyFromNetwork)
	return err
}

// Attempt counts an attempt on an account, whether there is such an account or not. Beyond the limits it returns the error
// to answer with.
func (l *Limits) Attempt(ctx context.Context, g Guess) (Counted, error) {
	if !l.on {
		return Counted{}, nil
	}
	if g.SessionID != "" {
		return l.take(ctx, []Bucket{l.knownBucket("session", g.SessionID)}, tooManyInBrowser)
	}
	email := NormalEmail(g.Email)
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
		counted.buckets = counted.buckets[1:] // a network pays for attempts that succeed too
	}
	return counted, err
}

// Forgive gives back what an attempt that succeeded has cost its account or browser.
func (l *Limits) Forgive(ctx context.Context, c Counted) error {
	if len(c.buckets) == 0 {
		return nil
	}
	return l.store.ReturnAttempts(ctx, c.buckets)
}

// Prune forgets what is counted no more.
func (l *Limits) Prune(ctx context.Context) error { return l.store.PruneAttempts(ctx, l.clock.Now()) }

// The answers to one attempt too many.
const (
	tooManyFromNetwork = "Too many attempts from your network. Try again in %s."
	tooManyHere        = "Too many attempts on this account from your network. Try again in %s."
	tooManyOnAccount   = "Too many attempts on this account. Try again in %s, or in a browser in which you have signed in before."
	tooManyInBrowser   = "Too many attempts on this account. Try again in %s."
)

// take counts an attempt in all buckets; answers are the sentences for each of them being empty.
func (l *Limits) take(ctx context.Context, buckets []Bucket, answers ...string) (Counted, error) {
	taken, wait, err := l.store.TakeAttempts(ctx, buckets, l.clock.Now())
	if err != nil {
		return Counted{}, err
	}
	if taken == len(buckets) {
		return Counted{buckets}, nil
	}
	return Counted{}, &core.Error{
		Kind: core.KindRateLimited, Code: "rate_limited", RetryAfter: wait, Detail: fmt.Sprintf(answers[taken], core.InWords(wait)),
	}
}
