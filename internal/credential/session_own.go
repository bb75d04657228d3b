package credential

import (
	"context"
	"slices"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// RecordTo makes the service write down which sessions people end. It must be called before the service is used.
func (s *Sessions) RecordTo(r Recorder) { s.recorder = r }

// Own lists where the actor's user is signed in, newest first.
func (s *Sessions) Own(ctx context.Context, actor core.Actor) ([]Session, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, err
	}
	return s.List(ctx, actor.UserID)
}

// EndOwn signs the actor's user out somewhere: the very next request there fails. It may be where they are.
func (s *Sessions) EndOwn(ctx context.Context, actor core.Actor, sessionID string) error {
	list, err := s.Own(ctx, actor)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(o Session) bool { return o.ID == sessionID }) {
		return core.NotFound("session")
	}
	if err := s.End(ctx, actor.UserID, sessionID); err != nil {
		return err
	}
	s.note(ctx, actor, map[string]string{"id": sessionID})
	return nil
}

// EndOwnOthers signs the actor's user out everywhere but where they are. A key is nowhere, so with one it is everywhere.
func (s *Sessions) EndOwnOthers(ctx context.Context, actor core.Actor) error {
	if err := actor.Allow(core.OpAccount); err != nil {
		return err
	}
	except := ""
	if actor.Credential == core.CredentialSession {
		except = actor.CredentialID
	}
	if err := s.EndOthers(ctx, actor.UserID, except); err != nil {
		return err
	}
	s.note(ctx, actor, map[string]string{"which": "all others"})
	return nil
}

func (s *Sessions) note(ctx context.Context, actor core.Actor, detail map[string]string) {
	if s.recorder != nil {
		s.recorder.Note(ctx, audit.Record{Event: audit.SessionEnded, UserID: actor.UserID, Actor: actor.CredentialID, Detail: detail})
	}
}
