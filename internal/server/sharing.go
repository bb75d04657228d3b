package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"carrel/internal/core"
)

// SharedLimits are the dependencies of rate limits that hold for all nodes together.
type SharedLimits struct {
	Store UseStore
	// Secret is the same on all nodes. It keys the hashes of credentials, users and networks in the store.
	Secret []byte
}

// UseStore adds up the use of token buckets on all nodes.
type UseStore interface {
	// ShareUse adds the uses of this node and returns, in the same order, the time until each bucket is full.
	ShareUse(ctx context.Context, uses []core.BucketUse) ([]time.Duration, error)
}

const (
	// exchangeEvery is the time between two exchanges. An exchange on request follows the last one after exchangePause.
	exchangeEvery = time.Second
	exchangePause = 100 * time.Millisecond
	// exchangeTimeout limits an exchange. Requests never wait for one.
	exchangeTimeout = 5 * time.Second
	// exchangeBatch is the number of buckets in one statement.
	exchangeBatch = 1000
	// reportShare is the part of its rate below which a node does not report the use of a bucket: a tenth. So ordinary
	// use costs no statements.
	reportShare = 10
	// wakeShare is the part of a burst after which a node requests an exchange: a quarter.
	wakeShare = 4
)

// sharing is the state of the exchange with the other nodes.
type sharing struct {
	SharedLimits
	log  *slog.Logger
	wake chan struct{}
}

// newSharing returns nil for a single node.
func newSharing(s *SharedLimits, log *slog.Logger) *sharing {
	if s == nil {
		return nil
	}
	return &sharing{SharedLimits: *s, log: log, wake: make(chan struct{}, 1)}
}

// key returns a keyed hash. Most of the digest is dropped, which prevents length extension, so that it needs no HMAC.
func (s *sharing) key(id string) uint64 {
	var buf [256]byte
	sum := sha256.Sum256(append(append(buf[:0], s.Secret...), id...))
	return binary.BigEndian.Uint64(sum[:8])
}

// runExchange exchanges the use of the buckets with the other nodes until ctx ends. While the store fails, every node
// applies the limits by itself.
func (l *limiter) runExchange(ctx context.Context) {
	tick := time.NewTicker(exchangeEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.shared.wake:
		}
		err := l.exchange(ctx, time.Now())
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			l.shared.log.WarnContext(ctx, "rate limits are not shared with the other nodes", slog.Any("error", err))
		}
		if err == nil && failing {
			l.shared.log.InfoContext(ctx, "rate limits are shared with the other nodes again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(exchangePause):
		}
	}
}

// exchange reports the use of the buckets and applies the use of the other nodes.
//
// A node refuses requests by the last state it knows. In the time d between two exchanges, n nodes may therefore admit
// n bursts and n*d of the rate. The excess is missing in the shared bucket afterwards, so that all nodes refuse until
// it is regained. In any time t, n nodes admit at most n*(burst + d*rate) + t*rate, and n*t*rate/reportShare of
// unreported use.
func (l *limiter) exchange(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	var reports []report
	for _, b := range l.sets() {
		reports = b.report(reports, now)
	}
	for batch := range slices.Chunk(reports, exchangeBatch) {
		uses := make([]core.BucketUse, len(batch))
		for i, r := range batch {
			uses[i] = r.use
		}
		missing, err := l.shared.Store.ShareUse(ctx, uses)
		if err != nil {
			return err // the tokens stay unreported
		}
		for i, r := range batch {
			r.apply(now, missing[i])
		}
	}
	return nil
}

// report is the reported use of one bucket.
type report struct {
	shard  *shard
	bucket *bucket
	policy *policy
	taken  int
	use    core.BucketUse
}

// report appends the use of the set's buckets to reports.
func (b *buckets) report(reports []report, now time.Time) []report {
	for i := range b.shards {
		s := &b.shards[i]
		s.Lock()
		for _, generation := range []map[uint64]*bucket{s.young, s.old} {
			for key, l := range generation {
				if l.due(now) {
					reports = append(reports, report{
						shard: s, bucket: l, policy: l.policy, taken: l.taken,
						use: core.BucketUse{
							Key: l.policy.sharedKey(key), Taken: time.Duration(l.taken) * l.policy.Every,
							Age: max(0, now.Sub(l.since)), Missing: max(0, l.full.Sub(now)),
						},
					})
				}
			}
		}
		s.Unlock()
	}
	return reports
}

// due reports whether the use of the bucket is large enough for a report. Smaller use is forgotten.
func (l *bucket) due(now time.Time) bool {
	if l.taken == 0 {
		return false
	}
	age := now.Sub(l.since)
	if time.Duration(l.taken)*l.policy.Every >= max(age, exchangeEvery)/reportShare {
		return true
	}
	if age >= exchangeEvery {
		l.taken = 0
	}
	return false
}

// sharedKey returns the key of a bucket on all nodes. It contains the rate, because the state of a bucket is a time,
// which has another meaning at another rate.
func (p *policy) sharedKey(key uint64) string {
	return p.name + " " + strconv.Itoa(p.Burst) + " " + p.Every.String() + " " + strconv.FormatUint(key, 16)
}

// apply sets the state of the bucket to the shared one. Tokens taken since the report are added.
func (r report) apply(reported time.Time, missing time.Duration) {
	r.shard.Lock()
	defer r.shard.Unlock()
	l := r.bucket
	l.taken -= r.taken
	l.since = reported
	full := reported.Add(missing + time.Duration(l.taken)*r.policy.Every)
	if l.policy == r.policy && full.After(l.full) {
		l.full = full
	}
}
