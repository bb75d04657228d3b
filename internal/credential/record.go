package credential

import (
	"context"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// record appends an audit entry about a credential of the actor's user.
func (s *Service) record(ctx context.Context, actor core.Actor, event audit.Event, id, name string) {
	detail := map[string]string{"id": id}
	if name != "" {
		detail["name"] = name
	}
	s.audit.Note(ctx, audit.Record{Event: event, UserID: actor.UserID, Actor: audit.ActorID(actor), Detail: detail})
}

// recordExchange appends an audit entry about an exchanged code. The exchange is unauthenticated, so the user is looked
// up through the minted key.
func (s *Service) recordExchange(ctx context.Context, minted Key, token string) {
	r := audit.Record{
		Event:  audit.CodeExchanged,
		Actor:  minted.ID,
		Detail: map[string]string{"id": minted.ID, "name": minted.Name},
	}
	if found, err := s.store.KeyByHash(ctx, hashToken(s.hashKey, token), core.Month(s.clock.Now())); err == nil {
		r.UserID = found.User.ID
	}
	s.audit.Note(ctx, r)
}
