package credential

import (
	"context"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Recorder writes down what happens to credentials. What has happened can't be undone, so it has no error.
type Recorder interface {
	Note(ctx context.Context, r audit.Record)
}

// RecordTo makes the service write down what it does. It must be called before the service is used.
func (s *Service) RecordTo(r Recorder) { s.recorder = r }

// note writes down an act on a credential of the actor's user.
func (s *Service) note(ctx context.Context, actor core.Actor, event audit.Event, id, name string) {
	if s.recorder == nil {
		return
	}
	by := actor.CredentialID
	if by == "" {
		by = string(actor.Credential)
	}
	detail := map[string]string{"id": id}
	if name != "" {
		detail["name"] = name
	}
	s.recorder.Note(ctx, audit.Record{Event: event, UserID: actor.UserID, Actor: by, Detail: detail})
}

// noteExchange writes down that a client turned a code into a key. Whose code it was only the store knows.
func (s *Service) noteExchange(ctx context.Context, minted Key, token string) {
	if s.recorder == nil {
		return
	}
	r := audit.Record{Event: audit.CodeExchanged, Actor: minted.ID, Detail: map[string]string{"id": minted.ID, "name": minted.Name}}
	if found, err := s.store.KeyByHash(ctx, hashToken(s.secret, token), core.Month(s.clock.Now())); err == nil {
		r.UserID = found.User.ID
	}
	s.recorder.Note(ctx, r)
}
