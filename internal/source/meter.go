package source

import (
	"context"
	"sync"
	"time"
)

// Buyer is who pays for a search that costs: the user, by the credential and for the agent that they used. In a turn the
// credential is empty, as the turn has its own.
type Buyer struct {
	UserID, TurnID, CredentialID, AgentID string
}

// Payer holds the searches of paid kinds to what their buyers may spend.
type Payer interface {
	// HoldSearch puts aside what one search of a kind may cost, before it is made; beyond the cap it is a *core.Error, which
	// the user is told, and the search is not made. Settle is called once after it, whether it succeeded or not.
	HoldSearch(ctx context.Context, buyer Buyer, kind string) (settle func(context.Context) error, err error)
}

// Searches is how often a user searched on a day (UTC, 2006-01-02).
type Searches struct {
	UserID string
	Day    string
	Count  int
}

// meter counts searches in memory, so that a search costs no write.
type meter struct {
	mu     sync.Mutex
	counts map[meterKey]int
}

type meterKey struct{ userID, day string }

func (m *meter) add(key meterKey, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = map[meterKey]int{}
	}
	m.counts[key] += n
}

func (m *meter) drain() map[meterKey]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.counts
	m.counts = nil
	return taken
}

// count notes a search.
func (s *Service) count(userID string, now time.Time) {
	s.meter.add(meterKey{userID, now.UTC().Format(time.DateOnly)}, 1)
}

// FlushSearches writes down how often users searched. The server calls it now and then and once at the end; what a
// crash loses is the searches of half a minute.
func (s *Service) FlushSearches(ctx context.Context) error {
	taken := s.meter.drain()
	if len(taken) == 0 {
		return nil
	}
	counts := make([]Searches, 0, len(taken))
	for key, n := range taken {
		counts = append(counts, Searches{UserID: key.userID, Day: key.day, Count: n})
	}
	err := s.store.AddSearches(ctx, counts)
	if err != nil {
		for key, n := range taken {
			s.meter.add(key, n)
		}
	}
	return err
}
