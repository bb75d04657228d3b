package httpapi

import (
	"cmp"
	"context"
	"strings"

	"carrel/internal/agent"
	"carrel/internal/httpapi/oas"
)

// everybody is the user id that means all accounts of the installation.
const everybody = "everybody"

// grantee returns the user of a path; it is empty for everybody.
func grantee(user string) string {
	if user == everybody {
		return ""
	}
	return user
}

// ListGrants answers GET /api/agents/{agentId}/grants.
func (h handlers) ListGrants(ctx context.Context, p oas.ListGrantsParams) (*oas.GrantList, error) {
	return h.grants(ctx, p.AgentId)
}

// PutGrant answers PUT /api/agents/{agentId}/grants/{userId}.
func (h handlers) PutGrant(ctx context.Context, req *oas.GrantChange, p oas.PutGrantParams) (*oas.GrantList, error) {
	if err := h.Agents.Share(ctx, actor(ctx), p.AgentId, grantee(p.UserId), string(req.Grant)); err != nil {
		return nil, err
	}
	return h.grants(ctx, p.AgentId)
}

// DeleteGrant answers DELETE /api/agents/{agentId}/grants/{userId}.
func (h handlers) DeleteGrant(ctx context.Context, p oas.DeleteGrantParams) (*oas.Deleted, error) {
	return deleted(h.Agents.Unshare(ctx, actor(ctx), p.AgentId, grantee(p.UserId)))
}

func (h handlers) grants(ctx context.Context, agentID string) (*oas.GrantList, error) {
	shares, err := h.Agents.Shares(ctx, actor(ctx), agentID)
	if err != nil {
		return nil, err
	}
	out := &oas.GrantList{Grants: make([]oas.AgentGrant, len(shares))}
	for i, s := range shares {
		out.Grants[i] = grantOf(s)
	}
	return out, nil
}

// grantOf converts a share. A pending one shows only what the owner entered, so that it does not reveal whether the
// account exists.
func grantOf(s agent.Share) oas.AgentGrant {
	g := oas.AgentGrant{
		UserId: cmp.Or(s.UserID, s.Invitee, everybody), Name: optional(s.Name), Email: optional(s.Email),
		Grant: oas.Grant(s.Grant.String()), State: oas.AgentGrantStateAccepted, CreatedAt: timestamp(s.CreatedAt),
	}
	if s.Pending() {
		g.State = oas.AgentGrantStatePending
		if strings.Contains(s.Invitee, "@") {
			g.Email = optional(s.Invitee)
		}
	}
	return g
}
