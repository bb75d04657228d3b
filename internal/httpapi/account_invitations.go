package httpapi

import (
	"context"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/signin"
)

// ListAccountInvitations answers GET /api/admin/invitations.
func (h handlers) ListAccountInvitations(ctx context.Context) (*oas.AccountInvitationList, error) {
	list, err := h.Auth.Invitations.List(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.AccountInvitationList{Invitations: make([]oas.AccountInvitation, len(list))}
	for i, found := range list {
		out.Invitations[i] = accountInvitationOf(found)
	}
	return out, nil
}

// CreateAccountInvitation answers POST /api/admin/invitations. The code is in no other reply.
func (h handlers) CreateAccountInvitation(
	ctx context.Context, req *oas.AccountInvitationCreate,
) (*oas.AccountInvitationCreated, error) {
	if err := h.checkPlan(ctx, req.Plan.Value); err != nil {
		return nil, err
	}
	i, code, err := h.Auth.Invitations.Issue(ctx, actor(ctx), signin.NewInvitation{
		Email: req.Email.Value, Plan: req.Plan.Value, Role: core.Role(req.Role.Value), Days: req.Days.Value,
	})
	if err != nil {
		return nil, err
	}
	link := h.baseURL + signin.JoinPath + "#" + code
	return &oas.AccountInvitationCreated{Invitation: accountInvitationOf(i), URL: link, Code: code}, nil
}

// RevokeAccountInvitation answers DELETE /api/admin/invitations/{invitationId}.
func (h handlers) RevokeAccountInvitation(
	ctx context.Context, p oas.RevokeAccountInvitationParams,
) (*oas.Deleted, error) {
	return deleted(h.Auth.Invitations.Revoke(ctx, actor(ctx), p.InvitationId))
}

func accountInvitationOf(i signin.Invitation) oas.AccountInvitation {
	return oas.AccountInvitation{
		ID: i.ID, Email: optional(i.Email), Role: oas.GivenRole(i.Role), Plan: optional(i.Plan),
		CreatedBy: optional(i.CreatorEmail), CreatedAt: timestamp(i.CreatedAt), ExpiresAt: timestamp(i.ExpiresAt),
	}
}
