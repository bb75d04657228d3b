package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
)

type connectionCommands struct {
	List   connectionList   `cmd:"" help:"List the connected programs of an account: keys minted from connect codes, and OAuth grants."`
	Revoke connectionRevoke `cmd:"" help:"Revoke a connection. Its next request fails."`
}

// connection is a minted key or an OAuth grant.
type connection struct {
	id, name           string
	kind               core.CredentialKind
	scopes             []string
	created            time.Time
	used, end, revoked *time.Time
}

// connections returns the minted keys and OAuth grants of a user, newest first.
func (a admin) connections(ctx context.Context, u account.User) ([]connection, error) {
	keys, err := a.Credentials.Keys(ctx, core.Operator(u.ID))
	if err != nil {
		return nil, err
	}
	grants, err := a.OAuth.Grants(ctx, core.Operator(u.ID))
	if err != nil {
		return nil, err
	}
	list := []connection{}
	for _, k := range keys {
		if k.Kind != core.CredentialMinted {
			continue // API keys are no connections
		}
		c := connection{
			id:      k.ID,
			kind:    k.Kind,
			name:    k.Name,
			created: k.CreatedAt,
			used:    k.LastUsedAt,
			end:     k.ExpiresAt,
			revoked: k.RevokedAt,
		}
		for _, s := range k.Scopes {
			c.scopes = append(c.scopes, string(s))
		}
		list = append(list, c)
	}
	for _, g := range grants {
		list = append(list, connection{
			id: g.ID, kind: core.CredentialOAuth, name: g.ClientName, scopes: g.Scopes, created: g.CreatedAt, used: g.LastUsedAt,
			end: &g.ExpiresAt, revoked: g.RevokedAt,
		})
	}
	slices.SortStableFunc(list, func(x, y connection) int { return y.created.Compare(x.created) })
	return list, nil
}

func (c connection) json() map[string]any {
	out := map[string]any{
		"id": c.id, "kind": c.kind, "name": c.name, "scopes": c.scopes,
		"createdAt": date(c.created), "revoked": c.revoked != nil,
	}
	for name, t := range map[string]*time.Time{"lastUsedAt": c.used, "expiresAt": c.end, "revokedAt": c.revoked} {
		if t != nil {
			out[name] = date(*t)
		}
	}
	return out
}

type connectionList struct {
	userFlag
	JSON bool `help:"Print one JSON object: {\"connections\":[…]}."`
}

// Run lists connections.
func (c connectionList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		list, err := a.connections(ctx, u)
		if err != nil {
			return err
		}
		objects, rows := make([]map[string]any, len(list)), make([][]string, len(list))
		for i, k := range list {
			objects[i] = k.json()
			rows[i] = []string{
				k.id, string(k.kind), k.name, strings.Join(k.scopes, " "), date(k.created), dateOr(k.used, "never"),
				dateOr(k.end, "never"), dateOr(k.revoked, "-"),
			}
		}
		if c.JSON {
			return a.print(true, map[string]any{"connections": objects}, "")
		}
		return a.table("ID\tKIND\tNAME\tSCOPES\tCREATED\tLAST USED\tEXPIRES\tREVOKED", rows)
	})
}

type connectionRevoke struct {
	userFlag
	ID   string `required:"" placeholder:"ID" help:"The connection's id; see: carrel admin connection list."`
	JSON bool   `help:"Print one JSON object."`
}

// Run revokes a connection.
func (c connectionRevoke) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		list, err := a.connections(ctx, u)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(k connection) bool { return k.id == c.ID })
		if i < 0 {
			return errors.New("the account has no such connection; see: carrel admin connection list --user EMAIL")
		}
		revoke := a.Credentials.RevokeKey
		if list[i].kind == core.CredentialOAuth {
			revoke = a.OAuth.RevokeGrant
		}
		if err := revoke(ctx, core.Operator(u.ID), c.ID); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"connection": map[string]any{"id": c.ID, "revoked": true}},
			"Revoked %s (%s).", list[i].name, c.ID)
	})
}

type signingKeyCommands struct {
	Rotate signingKeyRotate `cmd:"" help:"Create the next signing key. It is published at once and used a day later."`
	Reseal secretKeyReseal  `cmd:"" help:"Encrypt stored secrets with secret-key, and tell whether secret-key-previous is still needed."`
	Reset  secretKeyReset   `cmd:"" help:"Accept a new secret-key after the old one was lost. All keys, sessions and stored secrets become invalid."`
}

type signingKeyRotate struct {
	JSON bool `help:"Print one JSON object."`
}

// Run rotates the signing keys.
func (c signingKeyRotate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		at, err := a.OAuth.RotateKeys(ctx, true)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"activeAt": date(at)}, "The next key is used from %s.", date(at))
	})
}
