package credential

import (
	"context"
	"slices"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Own returns the active sessions of the actor's user, newest first.
func (s *Sessions) Own(ctx context.Context, actor core.Actor) ([]Session, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, err
	}
	return s.List(ctx, actor.UserID)
}

// EndOwn ends a session of the actor's user, which may be the current one.
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
	s.record(ctx, actor, map[string]string{"id": sessionID})
	return nil
}

// EndOwnOthers ends all sessions of the actor's user except the current one. An actor with a key has no current
// session, so all sessions end.
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
	s.record(ctx, actor, map[string]string{"which": "all others"})
	return nil
}

func (s *Sessions) record(ctx context.Context, actor core.Actor, detail map[string]string) {
	s.audit.Note(ctx, audit.Record{
		Event: audit.SessionEnded, UserID: actor.UserID, Actor: actor.CredentialID, Detail: detail,
	})
}
