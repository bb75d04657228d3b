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

// limiter decides who may ask how often. A credential that has proved good has a bucket of its own, whatever address
// it comes from, and the session of a browser is one; all of a user's together have another, as their plan has it.
// Everything else counts against the address: requests without a credential, and those with one that
// nobody has vouched for yet. So inventing credentials gains nothing, neither more requests nor room in our memory,
// and a good credential keeps working while somebody behind the same address misbehaves.
//
// It counts in the memory of this node: a limit that all nodes shared would cost every request a write. So n nodes let
// through up to n times what the limit says, and a node that starts begins with full buckets.
type limiter struct {
	seed        maphash.Seed
	credentials *buckets
	users       *buckets
	addresses   *buckets
	signIns     *buckets
	signInPaths map[string]bool
	cookie      string
}

// How long an unused bucket is kept at least. It must not be shorter than the time in which the bucket fills up
// again, or forgetting it would give something away. A known credential is kept for longer, to stay known.
const (
	keepCredential = time.Hour
	keepUser       = time.Hour
	keepAddress    = time.Minute
	keepSignIn     = 2 * time.Minute
)

// guessable are the paths of the API where a secret can be guessed or something made without a credential.
var guessable = []string{"/api/connect/exchange", "/api/auth/mcp/register", "/api/auth/mcp/token"}

func newLimiter(signInPaths []string, cookie string) *limiter {
	l := &limiter{
		seed:        maphash.MakeSeed(),
		credentials: newBuckets(newPolicy("credential", 50, 200), keepCredential),
		users:       newBuckets(newPolicy("user", 100, 400), keepUser),
		addresses:   newBuckets(newPolicy("address", 50, 200), keepAddress),
		signIns:     newBuckets(newPolicy("sign-in", 20.0/60, 40), keepSignIn),
		signInPaths: map[string]bool{},
		cookie:      cookie,
	}
	for _, paths := range [][]string{guessable, signInPaths} {
		for _, p := range paths {
			l.signInPaths[p] = true
		}
	}
	return l
}

// limit applies the limits, and learns from the outcome which credentials are good.
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
		x.tellLimit(0, t.verdict)
		if !t.allowed {
			s.opts.Problem(w, r, s.refusal(x, t.verdict))
			return
		}
		x.server = s
		next.ServeHTTP(w, r)
		l.learn(x, t)
	})
}

// tellLimit puts what the n-th bucket said into the reply.
func (x *exchange) tellLimit(n int, v verdict) {
	x.limitHeader[n], x.policyHeader[n] = v.header(), v.policy.header
	h := x.out.Header()
	h["Ratelimit"], h["Ratelimit-Policy"] = x.limitHeader[:n+1], x.policyHeader[:n+1]
}

// refusal counts a request that is turned away and returns what it is answered with.
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

// admit counts a request against its user, beside the credential or address that it was counted against before anybody
// knew whose it is.
func (s *Server) admit(x *exchange, who core.Actor) error {
	v := s.limiter.users.takeAt(maphash.String(s.limiter.seed, who.UserID), who.Rate, x.started)
	x.tellLimit(1, v)
	if v.allowed {
		return nil
	}
	return s.refusal(x, v)
}

// ticket is what a bucket said to one request, and what to remember until its outcome is known.
type ticket struct {
	verdict
	credential uint64 // 0: none was sent
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

// learn gives a credential that was accepted its bucket. A known one that is refused now, as after it was revoked,
// counts against the address too; it keeps its bucket, because a fresh one would be full.
func (l *limiter) learn(x *exchange, t ticket) {
	switch {
	case t.credential == 0:
	case !t.known && x.authenticated.Load():
		l.credentials.take(t.credential, x.started)
	case t.known && x.out.status == http.StatusUnauthorized:
		l.addresses.take(l.addressKey(x.addr), x.started)
	}
}

// credentialKey names the credential of a request without keeping it. The scheme and white space are left out, so
// that spelling them in other ways makes no new credential.
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
	return maphash.String(l.seed, token)
}

// sessionKey names the session of a browser in the same way.
func (l *limiter) sessionKey(r *http.Request) uint64 {
	if l.cookie == "" || len(r.Header["Cookie"]) == 0 {
		return 0
	}
	sent := r.CookiesNamed(l.cookie)
	if len(sent) != 1 || sent[0].Value == "" {
		return 0
	}
	return maphash.String(l.seed, sent[0].Value)
}

// addressKey names the network of a client: with IPv6 a whole /64 is one subscriber's.
func (l *limiter) addressKey(addr netip.Addr) uint64 {
	b := addr.As16()
	if addr.Is6() {
		clear(b[8:])
	}
	return maphash.Bytes(l.seed, b[:])
}
