package httpapi

import (
	"context"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// GetAccount answers GET /api/account.
func (h handlers) GetAccount(ctx context.Context) (*oas.AccountReply, error) {
	u, err := h.Accounts.Profile(ctx, actor(ctx))
	return accountReply(ctx, u, err)
}

// ChangeAccount answers PATCH /api/account.
func (h handlers) ChangeAccount(ctx context.Context, req *oas.AccountChange) (*oas.AccountReply, error) {
	u, err := h.Accounts.ChangeProfile(ctx, actor(ctx), account.ProfileChange{
		Name: pointer(req.Name), Email: pointer(req.Email),
	})
	return accountReply(ctx, u, err)
}

func accountReply(ctx context.Context, u account.User, err error) (*oas.AccountReply, error) {
	if err != nil {
		return nil, err
	}
	who := actor(ctx)
	out := &oas.AccountReply{
		Account: oas.Account{
			ID: u.ID, Email: u.Email, PendingEmail: optional(u.PendingEmail), Name: u.Name, Role: oas.Role(u.Role),
			Plan: u.Plan, CreatedAt: timestamp(u.CreatedAt),
		},
		Credential: oas.CallerCredential{ID: who.CredentialID, Kind: oas.CallerCredentialKind(who.Credential)},
	}
	for _, s := range who.Scopes {
		out.Credential.Scopes = append(out.Credential.Scopes, oas.Scope(s))
	}
	if who.Credential == core.CredentialSession {
		out.Credential.ProvedUntil = optional(timestamp(who.AuthenticatedAt.Add(core.ProofLife)))
	}
	return out, nil
}
