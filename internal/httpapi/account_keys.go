package httpapi

import (
	"context"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/httpapi/oas"
)

// ListKeys answers GET /api/account/keys.
func (h handlers) ListKeys(ctx context.Context, p oas.ListKeysParams) (*oas.KeyList, error) {
	keys, next, err := h.Credentials.APIKeys(ctx, actor(ctx), page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.KeyList{Keys: make([]oas.Key, len(keys)), NextCursor: optional(next)}
	for i, k := range keys {
		out.Keys[i] = keyOf(k)
	}
	return out, nil
}

// CreateKey answers POST /api/account/keys. The token is in no other reply.
func (h handlers) CreateKey(ctx context.Context, req *oas.KeyCreate) (*oas.KeyCreated, error) {
	n := credential.NewKey{Name: req.Name, Agents: req.Agents}
	for _, s := range req.Scopes {
		n.Scopes = append(n.Scopes, core.Scope(s))
	}
	if req.ExpiresAt.Set {
		at, err := time.Parse(time.RFC3339, req.ExpiresAt.Value)
		if err != nil {
			return nil, core.InvalidField("/expiresAt", ruleOf("expiresAt"))
		}
		at = at.UTC().Truncate(time.Millisecond)
		n.ExpiresAt = &at
	}
	k, token, err := h.Credentials.CreateKey(ctx, actor(ctx), n)
	if err != nil {
		return nil, err
	}
	out := oas.NewKey{
		ID: k.ID, Name: k.Name, Hint: k.Hint, Agents: emptyNotNull(k.Agents), CreatedAt: timestamp(k.CreatedAt),
		ExpiresAt: optionalTime(k.ExpiresAt),
	}
	for _, s := range k.Scopes {
		out.Scopes = append(out.Scopes, oas.Scope(s))
	}
	return &oas.KeyCreated{Key: out, Secret: token, Token: token}, nil
}

// GetKey answers GET /api/account/keys/{keyId}.
func (h handlers) GetKey(ctx context.Context, p oas.GetKeyParams) (*oas.KeyReply, error) {
	k, err := h.Credentials.APIKey(ctx, actor(ctx), p.KeyId)
	if err != nil {
		return nil, err
	}
	return &oas.KeyReply{Key: keyOf(k)}, nil
}

// DeleteKey answers DELETE /api/account/keys/{keyId}.
func (h handlers) DeleteKey(ctx context.Context, p oas.DeleteKeyParams) (*oas.Deleted, error) {
	return deleted(h.Credentials.DeleteKey(ctx, actor(ctx), p.KeyId))
}

func keyOf(k credential.Key) oas.Key {
	out := oas.Key{
		ID: k.ID, Name: k.Name, Hint: k.Hint, Agents: emptyNotNull(k.Agents), CreatedAt: timestamp(k.CreatedAt),
		ExpiresAt:  optionalTime(k.ExpiresAt),
		LastUsedAt: optionalTime(k.LastUsedAt), LastAddress: optional(k.LastAddress), LastProgram: optional(k.LastProgram),
	}
	for _, s := range k.Scopes {
		out.Scopes = append(out.Scopes, oas.Scope(s))
	}
	return out
}

// ListConnectCodes answers GET /api/account/connect-codes.
func (h handlers) ListConnectCodes(ctx context.Context, p oas.ListConnectCodesParams) (*oas.ConnectCodeList, error) {
	codes, next, err := h.Credentials.Codes(ctx, actor(ctx), page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.ConnectCodeList{ConnectCodes: make([]oas.ConnectCode, len(codes)), NextCursor: optional(next)}
	for i, c := range codes {
		out.ConnectCodes[i] = h.codeOf(c)
	}
	return out, nil
}

// CreateConnectCode answers POST /api/account/connect-codes. The code is in no other reply.
func (h handlers) CreateConnectCode(ctx context.Context) (*oas.ConnectCodeCreated, error) {
	c, code, err := h.Credentials.CreateCode(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	return &oas.ConnectCodeCreated{
		ConnectCode: oas.NewConnectCode{ID: c.ID, CreatedAt: timestamp(c.CreatedAt), ExpiresAt: timestamp(c.ExpiresAt)},
		Secret:      code, Code: code,
	}, nil
}

// GetConnectCode answers GET /api/account/connect-codes/{codeId}.
func (h handlers) GetConnectCode(ctx context.Context, p oas.GetConnectCodeParams) (*oas.ConnectCodeReply, error) {
	c, err := h.Credentials.Code(ctx, actor(ctx), p.CodeId)
	if err != nil {
		return nil, err
	}
	return &oas.ConnectCodeReply{ConnectCode: h.codeOf(c)}, nil
}

// CancelConnectCode answers DELETE /api/account/connect-codes/{codeId}.
func (h handlers) CancelConnectCode(ctx context.Context, p oas.CancelConnectCodeParams) (*oas.Deleted, error) {
	return deleted(h.Credentials.CancelCode(ctx, actor(ctx), p.CodeId))
}

func (h handlers) codeOf(c credential.Code) oas.ConnectCode {
	return oas.ConnectCode{
		ID: c.ID, State: oas.ConnectCodeState(c.State(h.Clock.Now())), CreatedAt: timestamp(c.CreatedAt),
		ExpiresAt: timestamp(c.ExpiresAt),
		ClaimedAt: optionalTime(c.UsedAt), ConnectionId: optional(c.KeyID), ClientName: optional(c.ClientName),
	}
}
