package httpapi

import (
	"context"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/sharelink"
)

// ListThreadLinks answers GET /api/agents/{agentId}/threads/{threadId}/links.
func (h handlers) ListThreadLinks(ctx context.Context, p oas.ListThreadLinksParams) (*oas.ThreadLinkList, error) {
	links, err := h.Links.OfThread(ctx, actor(ctx), p.AgentId, p.ThreadId)
	if err != nil {
		return nil, err
	}
	return &oas.ThreadLinkList{Links: h.linksOf(links)}, nil
}

// CreateThreadLink answers POST /api/agents/{agentId}/threads/{threadId}/links. The address is in no other reply.
func (h handlers) CreateThreadLink(
	ctx context.Context, req oas.OptThreadLinkCreate, p oas.CreateThreadLinkParams,
) (*oas.ThreadLinkCreated, error) {
	who := actor(ctx)
	if err := h.Agents.Allow(ctx, who, core.OpCreateThreadLink, p.AgentId); err != nil {
		return nil, err
	}
	expiresAt, err := timeOf("/expiresAt", req.Value.ExpiresAt)
	if err != nil {
		return nil, err
	}
	l, token, err := h.Links.Create(ctx, who, p.AgentId, p.ThreadId, expiresAt)
	if err != nil {
		return nil, err
	}
	return &oas.ThreadLinkCreated{Link: h.linkOf(l), URL: h.baseURL + sharelink.Path + token}, nil
}

// ListLinks answers GET /api/account/links.
func (h handlers) ListLinks(ctx context.Context, p oas.ListLinksParams) (*oas.LinkList, error) {
	links, next, err := h.Links.List(ctx, actor(ctx), page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	return &oas.LinkList{Links: h.linksOf(links), NextCursor: optional(next)}, nil
}

// DeleteLink answers DELETE /api/account/links/{linkId}.
func (h handlers) DeleteLink(ctx context.Context, p oas.DeleteLinkParams) (*oas.Deleted, error) {
	return deleted(h.Links.Delete(ctx, actor(ctx), p.LinkId))
}

func (h handlers) linksOf(links []sharelink.Link) []oas.ThreadLink {
	out := make([]oas.ThreadLink, len(links))
	for i, l := range links {
		out[i] = h.linkOf(l)
	}
	return out
}

func (h handlers) linkOf(l sharelink.Link) oas.ThreadLink {
	return oas.ThreadLink{
		ID: l.ID, AgentId: l.AgentID, ThreadId: l.ThreadID, Title: l.Title, CreatedAt: timestamp(l.CreatedAt),
		ExpiresAt: optionalTime(l.ExpiresAt), Expired: l.Expired(h.Clock.Now()),
	}
}
