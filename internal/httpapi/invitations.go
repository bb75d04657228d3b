package httpapi

import (
	"context"

	"carrel/internal/httpapi/oas"
)

// ListInvitations answers GET /api/account/invitations.
func (h handlers) ListInvitations(ctx context.Context) (*oas.InvitationList, error) {
	invitations, err := h.Agents.Invitations(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.InvitationList{Invitations: make([]oas.Invitation, len(invitations))}
	for n, i := range invitations {
		out.Invitations[n] = oas.Invitation{
			AgentId: i.AgentID, Name: i.Name, Description: i.Description, Grant: oas.Grant(i.Grant.String()),
			InvitedBy: oas.Inviter{Name: i.OwnerName, Email: i.OwnerEmail}, CreatedAt: timestamp(i.CreatedAt),
		}
	}
	return out, nil
}

// AcceptInvitation answers POST /api/account/invitations/{agentId}/accept.
func (h handlers) AcceptInvitation(ctx context.Context, p oas.AcceptInvitationParams) (*oas.AgentReply, error) {
	a, err := h.Agents.Accept(ctx, actor(ctx), p.AgentId)
	return h.agentReply(ctx, a, err)
}

// DeclineInvitation answers DELETE /api/account/invitations/{agentId}.
func (h handlers) DeclineInvitation(ctx context.Context, p oas.DeclineInvitationParams) (*oas.Deleted, error) {
	return deleted(h.Agents.Decline(ctx, actor(ctx), p.AgentId))
}
