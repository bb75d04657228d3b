package credential

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"carrel/internal/core"
)

// Authenticate returns the actor behind a bearer token, on REST and MCP alike. An OAuth token must have been issued for
// this installation. A cached token is used only while the store's version is unchanged, so a revoked key or a disabled
// user fails on the very next request, on every node.
func (s *Service) Authenticate(ctx context.Context, token string) (core.Actor, error) {
	invalid := core.Unauthenticated("invalid_credential",
		"This credential is unknown, revoked or expired. Make a new key, or connect again.")
	isToken := s.oauth.recognise(token)
	if !isToken && !wellFormed(s.prefixes.Key, token) {
		return core.Actor{}, invalid
	}
	now := s.clock.Now()
	found, err := s.find(ctx, token, now)
	if core.IsKind(err, core.KindNotFound) {
		return core.Actor{}, invalid
	}
	if err != nil {
		return core.Actor{}, err
	}
	k, u := found.Key, found.User
	if k.RevokedAt != nil || u.DisabledAt != nil || (k.ExpiresAt != nil && !now.Before(*k.ExpiresAt)) {
		return core.Actor{}, invalid
	}
	if isToken {
		if !s.oauth.intended(found.Audience) {
			return core.Actor{}, core.Unauthenticated("invalid_credential",
				"This access token was issued for another resource. Ask for one with this resource.")
		}
		s.oauth.uses.note(k.ID, s.use(ctx, now))
	} else {
		s.uses.note(k.ID, s.use(ctx, now))
	}
	who := core.Actor{
		UserID: u.ID, Role: u.Role, CredentialID: k.ID, Credential: k.Kind, Scopes: k.Scopes, Agents: k.Agents,
	}
	found.Entitlement.Entitle(&who, u.SpendCap, found.Used, now)
	if found.Cap != nil {
		who.CredentialSpend = core.Spend{Of: core.SpendOfCredential, Capped: true, Cap: *found.Cap, Used: found.CapUsed, ResetsAt: core.MonthEnd(now)}
	}
	return who, nil
}

// find looks a key up.
func (s *Service) find(ctx context.Context, token string, now time.Time) (Found, error) {
	at := state{month: int(now.Month()) + 12*now.Year()}
	var known bool
	at.version, known = s.store.Version() // before the look-up, so that a write during it is noticed
	digest := sha256.Sum256([]byte(token))
	if known {
		if found, ok := s.recent.get(at, digest); ok {
			return found, nil
		}
	}
	look := s.store.KeyByHash
	if s.oauth.recognise(token) {
		look = s.oauth.tokens.TokenByHash
	}
	found, err := look(ctx, hashToken(s.secret, token), core.Month(now))
	if err == nil && known {
		s.recent.put(at, digest, found)
	}
	return found, err
}

// state is what a look-up was true in: a version of the store and a month of spend.
type state struct {
	version uint64
	month   int
}

// recent remembers keys that were looked up in one state, by a digest that never leaves the process.
type recent struct {
	mu    sync.RWMutex
	at    state
	found map[[sha256.Size]byte]Found
}

// maxRecent bounds what is remembered; beyond it one starts anew.
const maxRecent = 10_000

func (r *recent) get(at state, digest [sha256.Size]byte) (Found, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.at != at {
		return Found{}, false
	}
	found, ok := r.found[digest]
	return found, ok
}

func (r *recent) put(at state, digest [sha256.Size]byte, found Found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found == nil || r.at != at || len(r.found) >= maxRecent {
		r.at, r.found = at, map[[sha256.Size]byte]Found{}
	}
	r.found[digest] = found
}

// maxClient bounds the name a connecting tool gives itself, in code points.
const maxClient = 64

func printable(s string) bool {
	n := utf8.RuneCountInString(s)
	if n < 1 || n > maxClient || !utf8.ValidString(s) {
		return false
	}
	blank := true
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
		blank = blank && unicode.IsSpace(r)
	}
	return !blank
}
