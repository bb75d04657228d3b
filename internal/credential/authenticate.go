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

// Authenticate returns the actor of a bearer token, for REST and MCP. An OAuth token must have been issued for this
// installation. Revoked keys and disabled users are rejected from the next request on, on every node.
func (s *Service) Authenticate(ctx context.Context, token string) (core.Actor, error) {
	isOAuth := IsSecret(s.tokens.Prefix, token)
	if !isOAuth && !IsSecret(s.prefixes.Key, token) {
		return core.Actor{}, invalidCredential()
	}
	now := s.clock.Now()
	found, err := s.lookup(ctx, token, isOAuth, now)
	if core.IsKind(err, core.KindNotFound) {
		return core.Actor{}, invalidCredential()
	}
	if err != nil {
		return core.Actor{}, err
	}
	k, u := found.Key, found.User
	if k.RevokedAt != nil || u.DisabledAt != nil || (k.ExpiresAt != nil && !now.Before(*k.ExpiresAt)) {
		return core.Actor{}, invalidCredential()
	}
	uses := &s.keyUses
	if isOAuth {
		if !s.tokens.accepts(found.Audience) {
			return core.Actor{}, core.Unauthenticated("invalid_credential",
				"This access token was issued for another resource. Request one for this resource.")
		}
		uses = &s.grantUses
	}
	uses.add(k.ID, s.use(ctx, now))
	actor := core.Actor{
		UserID: u.ID, Role: u.Role, CredentialID: k.ID, Credential: k.Kind, Scopes: k.Scopes, Agents: k.Agents,
	}
	found.Entitlement.Entitle(&actor, u.SpendCap, found.Used, now)
	if found.Cap != nil {
		actor.CredentialSpend = core.Spend{
			Of: core.SpendOfCredential, Capped: true, Cap: *found.Cap, Used: found.CapUsed, ResetsAt: core.MonthEnd(now),
		}
	}
	return actor, nil
}

func invalidCredential() error {
	return core.Unauthenticated("invalid_credential",
		"This credential is unknown, revoked or expired. Create a new key or connect again.")
}

// lookup resolves a token to its key and user. It uses the cache only while the store's access version is unchanged.
func (s *Service) lookup(ctx context.Context, token string, isOAuth bool, now time.Time) (Found, error) {
	at := cacheState{month: int(now.Month()) + 12*now.Year()}
	var known bool
	at.version, known = s.store.AccessVersion() // before the lookup, so a concurrent write invalidates the result
	digest := sha256.Sum256([]byte(token))
	if known {
		if found, ok := s.cache.get(at, digest); ok {
			return found, nil
		}
	}
	byHash := s.store.KeyByHash
	if isOAuth {
		byHash = s.tokens.Store.TokenByHash
	}
	found, err := byHash(ctx, Hash(s.hashKey, token), core.Month(now))
	if err == nil && known {
		s.cache.put(at, digest, found)
	}
	return found, err
}

// cacheState identifies the state of the database that a cached lookup belongs to. Spend is per month.
type cacheState struct {
	version uint64
	month   int
}

// lookupCache holds lookups of one state by the digest of the token.
type lookupCache struct {
	mu    sync.RWMutex
	at    cacheState
	found map[[sha256.Size]byte]Found
}

// maxCached is the number of entries at which the cache is emptied.
const maxCached = 10_000

func (c *lookupCache) get(at cacheState, digest [sha256.Size]byte) (Found, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.at != at {
		return Found{}, false
	}
	found, ok := c.found[digest]
	return found, ok
}

func (c *lookupCache) put(at cacheState, digest [sha256.Size]byte, found Found) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil || c.at != at || len(c.found) >= maxCached {
		c.at, c.found = at, map[[sha256.Size]byte]Found{}
	}
	c.found[digest] = found
}

// maxClient is the maximum length of a client name, in code points.
const maxClient = 64

// validClientName reports whether s has 1 to maxClient printable characters and is not blank.
func validClientName(s string) bool {
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
