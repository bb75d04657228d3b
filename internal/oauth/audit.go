package oauth

import (
	"context"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Recorder writes the audit log. It returns no error: the event has already happened and can't be undone.
type Recorder interface {
	Note(ctx context.Context, r audit.Record)
}

func (s *Service) recordGrant(ctx context.Context, g Grant) {
	s.audit.Note(ctx, audit.Record{Event: audit.GrantGiven, UserID: g.UserID, Detail: map[string]string{
		"id": g.ID, "client": g.ClientID, "name": g.ClientName, "scopes": strings.Join(g.Scopes, " "),
	}})
}

// recordGrantEnd records the end of the grant that the code or refresh token with this hash belongs to: the token was
// reused, or the client revoked it.
func (s *Service) recordGrantEnd(ctx context.Context, event audit.Event, hash []byte) {
	owner, err := s.store.TokenOwner(ctx, hash)
	if err != nil {
		owner = TokenOwner{} // an entry without a name is better than none
	}
	s.audit.Note(ctx, audit.Record{
		Event: event, UserID: owner.UserID, Actor: owner.ClientID, Detail: map[string]string{"id": owner.GrantID},
	})
}

// actorName is the actor's name in the audit log.
func actorName(a core.Actor) string {
	if a.CredentialID != "" {
		return a.CredentialID
	}
	return string(a.Credential)
}
