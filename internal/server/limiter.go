package server

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
)

// limiter limits the rate of requests with token buckets. Every valid credential has a bucket, independent of the
// address, and the session of a browser counts as a credential; all credentials of a user share a further bucket with
// the rate of the user's plan. Requests without a credential, or with one that has not been validated yet, count
// against the address. So invented credentials gain neither requests nor memory, and a valid credential is not affected
// by other clients at the same address.
//
// Buckets are kept in the memory of a node, because a write for every request would cost more than it protects. Several
// nodes exchange the use of their buckets; see exchange.
type limiter struct {
	seed        maphash.Seed
	shared      *sharing // nil on a single node
	credentials *buckets
	users       *buckets
	addresses   *buckets
	signIns     *buckets
	signInPaths map[string]bool
	cookie      string
}

// The minimum times for which unused buckets are kept. A bucket must not be dropped before it is full again, because
// its replacement would start full. With several nodes a bucket may miss more than its burst, so the times are longer
// than a refill. Credentials are kept longer, so that they need not be validated again.
const (
	keepCredential = time.Hour
	keepUser       = time.Hour
	keepAddress    = time.Minute
	keepSignIn     = 15 * time.Minute
)

// unauthenticated are the API paths that accept secrets to guess, or create objects without a credential.
var unauthenticated = []string{"/api/connect/exchange", "/api/auth/mcp/register", "/api/auth/mcp/token"}

func newLimiter(signInPaths []string, cookie string, shared *sharing) *limiter {
	l := &limiter{
		seed:        maphash.MakeSeed(),
		credentials: newBuckets(newPolicy("credential", core.TokenBucket{Burst: 200, Every: perSecond(50)}), keepCredential),
		users:       newBuckets(newPolicy("user", core.TokenBucket{Burst: 400, Every: perSecond(100)}), keepUser),
		addresses:   newBuckets(newPolicy("address", core.TokenBucket{Burst: 200, Every: perSecond(50)}), keepAddress),
		signIns:     newBuckets(newPolicy("sign-in", core.TokenBucket{Burst: 40, Every: 3 * time.Second}), keepSignIn),
		signInPaths: map[string]bool{},
		cookie:      cookie,
		shared:      shared,
	}
	if shared != nil {
		for _, b := range l.sets() {
			b.wake = shared.wake
		}
	}
	for _, paths := range [][]string{unauthenticated, signInPaths} {
		for _, p := range paths {
			l.signInPaths[p] = true
		}
	}
	return l
}

func (l *limiter) sets() []*buckets {
	return []*buckets{l.credentials, l.users, l.addresses, l.signIns}
}

// limit applies the rate limits, and remembers credentials that handlers have accepted.
func (s *Server) limit(next http.Handler) http.Handler {
	l := s.limiter
	if l == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbe(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		x := exchangeOf(r.Context())
		t := l.take(x, r)
		x.setLimitHeaders(0, t.verdict)
		if !t.allowed {
			s.opts.Problem(w, r, s.refusal(x, t.verdict))
			return
		}
		x.server = s
		next.ServeHTTP(w, r)
		l.remember(x, t)
	})
}

// setLimitHeaders adds the result of the n-th bucket to the headers of the reply.
func (x *exchange) setLimitHeaders(n int, v verdict) {
	x.limitHeader[n], x.policyHeader[n] = v.header(), v.policy.header
	h := x.out.Header()
	h["Ratelimit"], h["Ratelimit-Policy"] = x.limitHeader[:n+1], x.policyHeader[:n+1]
}

// refusal counts a refused request and returns its error.
func (s *Server) refusal(x *exchange, v verdict) error {
	if s.metrics != nil {
		s.metrics.Limited(v.policy.name)
	}
	wait := v.retryAfter()
	x.out.Header().Set("Retry-After", strconv.FormatInt(int64(wait/time.Second), 10))
	return &core.Error{
		Kind: core.KindRateLimited, Code: "rate_limited",
		Detail: "Too many requests. Try again in " + core.InWords(wait) + ".", RetryAfter: wait,
	}
}

// admit takes a token from the user's bucket, in addition to the credential or address bucket before authentication.
func (s *Server) admit(x *exchange, who core.Actor) error {
	v := s.limiter.users.takeAt(s.limiter.key(who.UserID), who.Rate, x.started)
	x.setLimitHeaders(1, v)
	if v.allowed {
		return nil
	}
	return s.refusal(x, v)
}

// ticket is the result of a bucket, and the state that remember needs after the request.
type ticket struct {
	verdict
	credential uint64 // 0 without a credential
	known      bool   // the credential has a bucket
}

func (l *limiter) take(x *exchange, r *http.Request) ticket {
	if l.signInPaths[r.URL.Path] {
		return ticket{verdict: l.signIns.take(l.addressKey(x.addr), x.started)}
	}
	credential := l.credentialKey(r)
	if credential != 0 {
		if v, known := l.credentials.takeKnown(credential, x.started); known {
			return ticket{verdict: v, credential: credential, known: true}
		}
	}
	return ticket{verdict: l.addresses.take(l.addressKey(x.addr), x.started), credential: credential}
}

// remember creates the bucket of a credential that was accepted. A known credential that is refused, for example after
// its revocation, counts against the address too; its bucket stays, because a new one would be full.
func (l *limiter) remember(x *exchange, t ticket) {
	switch {
	case t.credential == 0:
	case !t.known && x.authenticated.Load():
		l.credentials.take(t.credential, x.started)
	case t.known && x.out.status == http.StatusUnauthorized:
		l.addresses.take(l.addressKey(x.addr), x.started)
	}
}

// credentialKey returns a hash of the request's credential. It excludes the scheme and white space, so that different
// spellings share a bucket.
func (l *limiter) credentialKey(r *http.Request) uint64 {
	lines := r.Header["Authorization"]
	if len(lines) == 0 {
		return l.sessionKey(r)
	}
	token := strings.TrimSpace(lines[0])
	if i := strings.IndexAny(token, " \t"); i >= 0 {
		token = strings.TrimLeft(token[i:], " \t")
	}
	if token == "" {
		return 0
	}
	return l.key(token)
}

// sessionKey returns a hash of the session cookie.
func (l *limiter) sessionKey(r *http.Request) uint64 {
	if l.cookie == "" || len(r.Header["Cookie"]) == 0 {
		return 0
	}
	sent := r.CookiesNamed(l.cookie)
	if len(sent) != 1 || sent[0].Value == "" {
		return 0
	}
	return l.key(sent[0].Value)
}

// addressKey returns a hash of the client's network.
func (l *limiter) addressKey(addr netip.Addr) uint64 {
	b := core.ClientNetwork(addr).As16()
	return l.key(string(b[:]))
}

// key returns the key of the bucket of a credential, user or network. It is the same on all nodes that share limits.
func (l *limiter) key(id string) uint64 {
	if l.shared != nil {
		return l.shared.key(id)
	}
	return maphash.String(l.seed, id)
}
