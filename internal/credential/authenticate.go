package credential

import (
	"context"
	"maps"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"carrel/internal/core"
)

// Authenticate returns the actor behind a bearer token. It asks the database every time, so that a revoked key or
// a disabled user fails on the very next request, on every node.
func (s *Service) Authenticate(ctx context.Context, token string) (core.Actor, error) {
	invalid := core.Unauthenticated("invalid_credential",
		"This credential is unknown, revoked or expired. Make a new key, or connect again.")
	if !wellFormed(s.prefixes.Key, token) {
		return core.Actor{}, invalid
	}
	now := s.clock.Now()
	found, err := s.store.KeyByHash(ctx, hashToken(s.secret, token), now.Format("2006-01"))
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
	s.uses.note(k.ID, now)
	actor := core.Actor{
		UserID: u.ID, Role: u.Role, Plan: u.Plan, CredentialID: k.ID, Credential: k.Kind,
		Scopes: k.Scopes, Agents: k.Agents,
	}
	if u.SpendCap != nil {
		actor.Spend = core.Spend{Capped: true, Cap: *u.SpendCap, Used: found.Used, ResetsAt: core.MonthEnd(now)}
	}
	return actor, nil
}

// uses gathers when keys were used, so that a request costs no write.
type uses struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (u *uses) note(keyID string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[string]time.Time{}
	}
	u.last[keyID] = at
}

func (u *uses) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.last
	u.last = nil
	return taken
}

// put gives back what could not be written, without hiding later uses.
func (u *uses) put(taken map[string]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.Copy(taken, u.last)
	u.last = taken
}

// FlushUses writes when keys were last used. The server calls it now and then and once at the end; what a crash
// loses is a minute of "last used".
func (s *Service) FlushUses(ctx context.Context) error {
	taken := s.uses.take()
	if len(taken) == 0 {
		return nil
	}
	if err := s.store.TouchKeys(ctx, taken); err != nil {
		s.uses.put(taken)
		return err
	}
	return nil
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
