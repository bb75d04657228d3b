package httpapi

import (
	"context"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/httpapi/oas"
)

// ListSessions answers GET /api/account/sessions.
func (h handlers) ListSessions(ctx context.Context) (*oas.SessionList, error) {
	who := actor(ctx)
	sessions, err := h.Sessions.Own(ctx, who)
	if err != nil {
		return nil, err
	}
	out := &oas.SessionList{Sessions: make([]oas.Session, len(sessions))}
	for i, s := range sessions {
		out.Sessions[i] = oas.Session{
			ID: s.ID, Current: who.Credential == core.CredentialSession && s.ID == who.CredentialID,
			Address: optional(s.Address), Program: optional(s.Agent), CreatedAt: timestamp(s.CreatedAt),
			AuthenticatedAt: timestamp(s.AuthenticatedAt), SeenAt: timestamp(s.SeenAt), ExpiresAt: timestamp(s.ExpiresAt),
		}
	}
	return out, nil
}

// EndSession answers DELETE /api/account/sessions/{sessionId}.
func (h handlers) EndSession(ctx context.Context, p oas.EndSessionParams) (*oas.Deleted, error) {
	return deleted(h.Sessions.EndOwn(ctx, actor(ctx), p.SessionId))
}

// EndOtherSessions answers DELETE /api/account/sessions.
func (h handlers) EndOtherSessions(ctx context.Context) (*oas.Deleted, error) {
	return deleted(h.Sessions.EndOwnOthers(ctx, actor(ctx)))
}

// ListConnections answers GET /api/account/connections.
func (h handlers) ListConnections(ctx context.Context, p oas.ListConnectionsParams) (*oas.ConnectionList, error) {
	list, next, err := h.Credentials.Connections(ctx, actor(ctx), page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.ConnectionList{Connections: make([]oas.Connection, len(list)), NextCursor: optional(next)}
	for i, c := range list {
		out.Connections[i] = connectionOf(c)
	}
	return out, nil
}

// RenameConnection answers PATCH /api/account/connections/{connectionId}.
func (h handlers) RenameConnection(
	ctx context.Context, req *oas.ConnectionChange, p oas.RenameConnectionParams,
) (*oas.ConnectionReply, error) {
	c, err := h.Credentials.RenameConnection(ctx, actor(ctx), p.ConnectionId, req.Name)
	if err != nil {
		return nil, err
	}
	return &oas.ConnectionReply{Connection: connectionOf(c)}, nil
}

// RevokeConnection answers DELETE /api/account/connections/{connectionId}.
func (h handlers) RevokeConnection(ctx context.Context, p oas.RevokeConnectionParams) (*oas.Deleted, error) {
	return deleted(h.Credentials.RevokeConnection(ctx, actor(ctx), p.ConnectionId))
}

func connectionOf(c credential.Connection) oas.Connection {
	out := oas.Connection{
		ID: c.ID, Kind: oas.ConnectionKind(c.Kind), Name: c.Name, ClientName: c.ClientName,
		Scopes: []oas.ConnectionScope{},
		Agents: emptyNotNull(c.Agents), CreatedAt: timestamp(c.CreatedAt), ExpiresAt: optionalTime(c.ExpiresAt),
		LastUsedAt: optionalTime(c.LastUsedAt), LastAddress: optional(c.LastAddress), LastProgram: optional(c.LastProgram),
	}
	for _, s := range c.Scopes {
		out.Scopes = append(out.Scopes, oas.ConnectionScope(s))
	}
	return out
}

// ListConnectionAttempts answers GET /api/account/connections/attempts.
func (h handlers) ListConnectionAttempts(ctx context.Context) (*oas.AttemptList, error) {
	attempts, err := h.Attempts.Attempts(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.AttemptList{Attempts: make([]oas.Attempt, len(attempts))}
	for i, a := range attempts {
		out.Attempts[i] = oas.Attempt{
			ID: a.ID, Stage: string(a.Stage), Problem: a.Problem, Asked: a.Asked, Wrong: a.Wrong, Mend: a.Mend,
			ClientName: optional(a.ClientName), Count: int(a.Count), FirstAt: timestamp(a.FirstAt), LastAt: timestamp(a.LastAt),
			Address: optional(a.Address), Program: optional(a.Program),
		}
	}
	return out, nil
}

// ListAudit answers GET /api/account/audit.
func (h handlers) ListAudit(ctx context.Context, p oas.ListAuditParams) (*oas.AuditList, error) {
	entries, next, err := h.Audit.Own(ctx, actor(ctx), page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.AuditList{Events: make([]oas.AuditEvent, len(entries)), NextCursor: optional(next)}
	for i, e := range entries {
		out.Events[i] = oas.AuditEvent{
			At: timestamp(e.At), Event: string(e.Event), Actor: e.Actor, Address: optional(e.Address),
			Detail: oas.AuditDetail(e.Detail),
		}
	}
	return out, nil
}
