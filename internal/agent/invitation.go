package agent

import (
	"context"
	"time"

	"carrel/internal/core"
)

// Invitation is an offer to use an agent, as the invited person sees it. Until they accept it the agent does not exist for
// them.
type Invitation struct {
	AgentID           string
	Name, Description string
	Grant             core.Grant
	OwnerName         string
	OwnerEmail        string
	CreatedAt         time.Time
}

// declineHolds is how long new invitations of an owner are held back after one was declined.
const declineHolds = 30 * 24 * time.Hour

// InvitationStore keeps the answers to invitations. An invitation that was declined, or was made after held by an owner whom
// the user has declined since then, is not_found.
type InvitationStore interface {
	// Invitations returns the newest 200, newest first, one for each agent.
	Invitations(ctx context.Context, userID string, held time.Time) ([]Invitation, error)
	// AcceptInvitation makes a grant of an invitation.
	AcceptInvitation(ctx context.Context, userID, agentID string, held, now time.Time) error
	// DeclineInvitation declines an invitation and drops the user's own grant, whichever there is. Neither is not_found.
	DeclineInvitation(ctx context.Context, userID, agentID string, held, now time.Time) error
}

// Invitations lists the open invitations of the actor.
func (s *Service) Invitations(ctx context.Context, actor core.Actor) ([]Invitation, error) {
	if err := actor.Allow(core.OpListInvitations); err != nil {
		return nil, err
	}
	return s.store.Invitations(ctx, actor.UserID, s.clock.Now().Add(-declineHolds))
}

// Accept accepts an invitation and returns the agent.
func (s *Service) Accept(ctx context.Context, actor core.Actor, agentID string) (Agent, error) {
	if err := allowAnswering(actor, core.OpAcceptInvitation, agentID); err != nil {
		return Agent{}, err
	}
	now := s.clock.Now()
	if err := s.store.AcceptInvitation(ctx, actor.UserID, agentID, now.Add(-declineHolds), now); err != nil {
		return Agent{}, err
	}
	return s.store.Agent(ctx, actor.UserID, agentID)
}

// Decline declines an invitation, or leaves an agent whose invitation was accepted.
func (s *Service) Decline(ctx context.Context, actor core.Actor, agentID string) error {
	if err := allowAnswering(actor, core.OpDeclineInvitation, agentID); err != nil {
		return err
	}
	now := s.clock.Now()
	return s.store.DeclineInvitation(ctx, actor.UserID, agentID, now.Add(-declineHolds), now)
}

// allowAnswering lets a person at a browser answer an invitation. A program must not: text that it reads could talk it into
// accepting an agent that was made to mislead it.
func allowAnswering(actor core.Actor, op core.Operation, agentID string) error {
	if err := actor.Allow(op); err != nil {
		return err
	}
	if !core.IsID(core.PrefixAgent, agentID) {
		return core.NotFound("invitation")
	}
	return nil
}
