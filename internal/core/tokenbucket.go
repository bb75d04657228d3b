package core

import "time"

// TokenBucket is a rate limit: Burst tokens, of which one is regained per Every. The state of a bucket is a single
// time, at which it is full again (generic cell rate algorithm). The request limits keep it in the memory of each node,
// the sign-in limits in the database.
type TokenBucket struct {
	Burst int
	Every time.Duration
}

// Latest returns the latest time at which a bucket may be full again and still have a token now.
func (b TokenBucket) Latest(now time.Time) time.Time {
	return now.Add(time.Duration(b.Burst-1) * b.Every)
}

// Take takes a token from a bucket that is full again at full, and returns its new state. It reports false if the
// bucket has no token. The zero time is a full bucket.
func (b TokenBucket) Take(full, now time.Time) (time.Time, bool) {
	if full.After(b.Latest(now)) {
		return full, false
	}
	if full.Before(now) {
		full = now
	}
	return full.Add(b.Every), true
}

// Tokens returns the number of tokens in a bucket that is full again at full.
func (b TokenBucket) Tokens(full, now time.Time) float64 {
	missing := max(0, full.Sub(now))
	return float64(b.Burst) - float64(missing)/float64(b.Every)
}

// Wait returns the time until a bucket that is full again at full has a token.
func (b TokenBucket) Wait(full, now time.Time) time.Duration { return max(0, full.Sub(b.Latest(now))) }

// BucketUse is the use of a token bucket that a node reports to the others.
type BucketUse struct {
	// Key identifies the bucket on all nodes.
	Key string
	// Taken is the time in which the tokens taken since the last report are regained, and Age the age of the first one.
	Taken, Age time.Duration
	// Missing is the time until the bucket is full, according to the node.
	Missing time.Duration
}
