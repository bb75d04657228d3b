package credential

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// Use is the time, IP address and User-Agent of a credential's last use.
type Use struct {
	At               time.Time
	Address, Program string
}

func (s *Service) use(ctx context.Context, now time.Time) Use {
	u := Use{At: now}
	u.Address, u.Program = s.caller(ctx)
	return u
}

// useBuffer collects the last uses of credentials in memory, so a request causes no write.
type useBuffer struct {
	mu   sync.Mutex
	last map[string]Use
}

func (b *useBuffer) add(id string, use Use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.last = map[string]Use{}
	}
	b.last[id] = use
}

func (b *useBuffer) take() map[string]Use {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.last
	b.last = nil
	return taken
}

// restore puts back uses that could not be written. Later uses take precedence.
func (b *useBuffer) restore(taken map[string]Use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(taken, b.last)
	b.last = taken
}

// FlushUses writes the collected last uses. The server calls it every minute and at shutdown; a crash loses at most a
// minute of them.
func (s *Service) FlushUses(ctx context.Context) error {
	return errors.Join(s.keyUses.flush(ctx, s.store.TouchKeys), s.grantUses.flush(ctx, s.tokens.Store.TouchGrants))
}

// flush writes the collected uses and restores them if that fails.
func (b *useBuffer) flush(ctx context.Context, write func(context.Context, map[string]Use) error) error {
	taken := b.take()
	if len(taken) == 0 {
		return nil
	}
	for id, use := range taken {
		use.Program = cleanUserAgent(use.Program) // once per flush instead of once per request
		taken[id] = use
	}
	err := write(ctx, taken)
	if err != nil {
		b.restore(taken)
	}
	return err
}
