package oauth

import (
	"context"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Recorder writes down what happens to clients and grants. What has happened can't be undone, so it has no error.
type Recorder interface {
	Note(ctx context.Context, r audit.Record)
}

// RecordTo makes the service write down what it does. It must be called before the service is used.
func (s *Service) RecordTo(r Recorder) { s.recorder = r }

func (s *Service) note(ctx context.Context, r audit.Record) {
	if s.recorder != nil {
		s.recorder.Note(ctx, r)
	}
}

// noteGrant writes down that a client has got what a user allowed it.
func (s *Service) noteGrant(ctx context.Context, g Grant) {
	s.note(ctx, audit.Record{Event: audit.GrantGiven, UserID: g.UserID, Detail: map[string]string{
		"id": g.ID, "client": g.ClientID, "name": g.ClientName, "scopes": strings.Join(g.Scopes, " "),
	}})
}

// noteEnd writes down that a grant ended because of the code or refresh token with this hash: it was shown again, or the
// client gave it back.
func (s *Service) noteEnd(ctx context.Context, event audit.Event, hash []byte) {
	h, err := s.store.Holder(ctx, hash)
	if err != nil {
		h = Holder{} // that it happened is worth a line all the same
	}
	s.note(ctx, audit.Record{Event: event, UserID: h.UserID, Actor: h.ClientID, Detail: map[string]string{"id": h.GrantID}})
}

// actorName is who did something, for the log.
func actorName(a core.Actor) string {
	if a.CredentialID != "" {
		return a.CredentialID
	}
	return string(a.Credential)
}
