package agent

import (
	"context"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Invitation is an invitation to an agent, as the invited user sees it. The user has no access to the agent before they
// accept it.
type Invitation struct {
	AgentID           string
	Name, Description string
	Grant             core.Grant
	OwnerName         string
	OwnerEmail        string
	CreatedAt         time.Time
}

// declinePeriod is how long further invitations of an owner stay hidden after the user declined one.
const declinePeriod = 30 * 24 * time.Hour

// InvitationStore stores the responses to invitations. An invitation is not_found if it was declined, or if the user
// has declined one of the same owner since the time held.
type InvitationStore interface {
	// Invitations returns the newest 200 invitations, newest first, one per agent.
	Invitations(ctx context.Context, userID string, held time.Time) ([]Invitation, error)
	// AcceptInvitation turns an invitation into a grant and returns the grant.
	AcceptInvitation(ctx context.Context, userID, agentID string, held, now time.Time) (core.Grant, error)
	// DeclineInvitation declines an invitation and removes the user's grant. It returns the agent's owner if the user had
	// a grant and "" if there was only an invitation, or not_found if there was neither.
	DeclineInvitation(ctx context.Context, userID, agentID string, held, now time.Time) (ownerID string, err error)
}

// Invitations lists the actor's open invitations.
func (s *Service) Invitations(ctx context.Context, actor core.Actor) ([]Invitation, error) {
	if err := actor.Allow(core.OpListInvitations); err != nil {
		return nil, err
	}
	return s.store.Invitations(ctx, actor.UserID, s.clock.Now().Add(-declinePeriod))
}

// Accept accepts an invitation and returns the agent.
func (s *Service) Accept(ctx context.Context, actor core.Actor, agentID string) (Agent, error) {
	if err := allowResponse(actor, core.OpAcceptInvitation, agentID); err != nil {
		return Agent{}, err
	}
	now := s.clock.Now()
	g, err := s.store.AcceptInvitation(ctx, actor.UserID, agentID, now.Add(-declinePeriod), now)
	if err != nil {
		return Agent{}, err
	}
	a, err := s.store.Agent(ctx, actor.UserID, agentID)
	if err != nil {
		return Agent{}, err
	}
	s.noteShare(ctx, actor, audit.AgentShared, shareEvent{
		agentID: agentID, ownerID: a.UserID, recipientID: actor.UserID, with: actor.UserID, grant: g,
	})
	return a, nil
}

// Decline declines an invitation, or gives up the grant of an accepted one.
func (s *Service) Decline(ctx context.Context, actor core.Actor, agentID string) error {
	if err := allowResponse(actor, core.OpDeclineInvitation, agentID); err != nil {
		return err
	}
	now := s.clock.Now()
	ownerID, err := s.store.DeclineInvitation(ctx, actor.UserID, agentID, now.Add(-declinePeriod), now)
	if err != nil || ownerID == "" {
		return err // a declined invitation is not recorded, because the owner must not learn of it
	}
	s.noteShare(ctx, actor, audit.AgentUnshared, shareEvent{
		agentID: agentID, ownerID: ownerID, recipientID: actor.UserID, with: actor.UserID,
	})
	return nil
}

// allowResponse decides whether the actor may respond to an invitation. Only browser sessions may: a program could be
// tricked by text it reads (prompt injection) into accepting a malicious agent.
func allowResponse(actor core.Actor, op core.Operation, agentID string) error {
	if err := actor.Allow(op); err != nil {
		return err
	}
	if !core.IsID(core.PrefixAgent, agentID) {
		return core.NotFound("invitation")
	}
	return nil
}
