package source

import (
	"context"
	"sync"
	"time"
)

// Buyer is charged for a paid search. In a turn the credential is empty, because the turn has its own.
type Buyer struct {
	UserID, TurnID, CredentialID, AgentID string
}

// Payer enforces the spend caps of users on paid searches.
type Payer interface {
	// HoldSearch reserves the cost of one search of a kind before it is sent. Beyond the cap it returns a *core.Error
	// for the user, and the search is not sent. Settle must be called once afterwards, whether the search succeeded
	// or not.
	HoldSearch(ctx context.Context, buyer Buyer, kind string) (settle func(context.Context) error, err error)
}

// Searches is the number of searches of a user on a day (UTC, 2006-01-02).
type Searches struct {
	UserID string
	Day    string
	Count  int
}

// meter counts searches in memory, so that a search needs no write.
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

func (s *Service) count(userID string, now time.Time) {
	s.meter.add(meterKey{userID, now.UTC().Format(time.DateOnly)}, 1)
}

// FlushSearches stores the counted searches. The server calls it periodically and at shutdown; a crash loses the
// counts of half a minute.
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
