package credential

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// Use is when, from where and by what program a credential was last used.
type Use struct {
	At               time.Time
	Address, Program string
}

// DescribeCallers tells the service where the request of a context came from and what its program says of itself. It must
// be called before the first request.
func (s *Service) DescribeCallers(caller func(context.Context) (address, program string)) {
	s.caller = caller
}

// use describes the use of a credential by the request of a context.
func (s *Service) use(ctx context.Context, now time.Time) Use {
	u := Use{At: now}
	if s.caller != nil {
		u.Address, u.Program = s.caller(ctx)
	}
	return u
}

// uses gathers when keys were used, so that a request costs no write.
type uses struct {
	mu   sync.Mutex
	last map[string]Use
}

func (u *uses) note(keyID string, use Use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[string]Use{}
	}
	u.last[keyID] = use
}

func (u *uses) take() map[string]Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.last
	u.last = nil
	return taken
}

// put gives back what could not be written, without hiding later uses.
func (u *uses) put(taken map[string]Use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.Copy(taken, u.last)
	u.last = taken
}

// FlushUses writes when keys were last used. The server calls it now and then and once at the end; what a crash
// loses is a minute of "last used".
func (s *Service) FlushUses(ctx context.Context) error {
	err := s.uses.flush(ctx, s.store.TouchKeys)
	if s.oauth.tokens != nil {
		err = errors.Join(err, s.oauth.uses.flush(ctx, s.oauth.tokens.TouchGrants))
	}
	return err
}

// flush hands over what was gathered, and keeps it when that fails.
func (u *uses) flush(ctx context.Context, write func(context.Context, map[string]Use) error) error {
	taken := u.take()
	if len(taken) == 0 {
		return nil
	}
	for id, use := range taken {
		use.Program = tidyAgent(use.Program) // here and not at each request
		taken[id] = use
	}
	err := write(ctx, taken)
	if err != nil {
		u.put(taken)
	}
	return err
}
