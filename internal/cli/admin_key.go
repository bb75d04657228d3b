package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

type keyCommands struct {
	Create keyCreate `cmd:"" help:"Create an API key; it is shown once."`
	List   keyList   `cmd:"" help:"List an account's keys, those of connected clients included."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key; the very next request with it fails."`
}

type keyCreate struct {
	User    string        `required:"" aliases:"email" placeholder:"EMAIL" help:"The account that the key acts for."`
	Name    string        `required:"" help:"What the key is for."`
	Scopes  []string      `aliases:"scope" enum:"agents,manage,account,admin" placeholder:"SCOPE" help:"agents, manage, account, admin (for admins alone); repeat or separate by commas. Default: agents,manage."`
	Agents  []string      `aliases:"agent" placeholder:"ID" help:"The only agents it may touch. Default: all."`
	Expires time.Duration `placeholder:"DURATION" help:"How long it is valid, such as 720h. Default: until revoked."`
	JSON    bool          `help:"Print one JSON object: {\"key\":\"…\"}."`
}

// Run creates a key.
func (c keyCreate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		n := credential.NewKey{Name: c.Name, Agents: c.Agents}
		for _, s := range c.Scopes {
			if core.Scope(s) == core.ScopeAdmin && !u.Role.Administers() {
				return core.InvalidField("/scopes", c.User+" is no admin, so that a key of theirs can't be one's.")
			}
			n.Scopes = append(n.Scopes, core.Scope(s))
		}
		if c.Expires != 0 {
			at := a.Clock.Now().Add(c.Expires)
			n.ExpiresAt = &at
		}
		k, token, err := a.Credentials.CreateKey(ctx, core.Operator(u.ID), n)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"key": token, "id": k.ID}, "%s", token)
	})
}

type keyList struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	JSON bool   `help:"Print one JSON object: {\"keys\":[…]}."`
}

// Run lists keys.
func (c keyList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		keys, err := a.Credentials.Keys(ctx, core.Operator(u.ID))
		if err != nil {
			return err
		}
		if c.JSON {
			list := make([]map[string]any, len(keys))
			for i, k := range keys {
				list[i] = keyJSON(k)
			}
			return a.print(true, map[string]any{"keys": list}, "")
		}
		rows := make([][]string, len(keys))
		for i, k := range keys {
			rows[i] = []string{
				k.ID, string(k.Kind), k.Name, "…" + k.Hint, date(k.CreatedAt),
				dateOr(k.LastUsedAt, "never"), dateOr(k.ExpiresAt, "never"), dateOr(k.RevokedAt, "-"),
			}
		}
		return a.table("ID\tKIND\tNAME\tENDS IN\tCREATED\tLAST USED\tEXPIRES\tREVOKED", rows)
	})
}

func keyJSON(k credential.Key) map[string]any {
	out := map[string]any{
		"id": k.ID, "kind": k.Kind, "name": k.Name, "hint": k.Hint, "scopes": k.Scopes, "agents": k.Agents,
		"createdAt": date(k.CreatedAt), "revoked": k.RevokedAt != nil,
	}
	for name, t := range map[string]*time.Time{"lastUsedAt": k.LastUsedAt, "expiresAt": k.ExpiresAt, "revokedAt": k.RevokedAt} {
		if t != nil {
			out[name] = date(*t)
		}
	}
	return out
}

type keyRevoke struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	ID   string `arg:"" optional:"" name:"id" help:"The key's id, or its name where only one key has it."`
	Flag string `name:"id" placeholder:"ID" help:"The same as a flag."`
	Name string `help:"The key's name, where only one key has it."`
	Key  string `help:"The key itself, such as one that leaked; - reads it from the standard input."`
	JSON bool   `help:"Print one JSON object."`
}

// Run revokes a key.
func (c keyRevoke) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	secret, err := secretOf(env, c.Key, "Key")
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		keys, err := a.Credentials.Keys(ctx, core.Operator(u.ID))
		if err != nil {
			return err
		}
		k, err := c.pick(ctx, a, keys, secret)
		if err != nil {
			return err
		}
		if err := a.Credentials.RevokeKey(ctx, core.Operator(u.ID), k.ID); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"key": map[string]any{"id": k.ID, "revoked": true}}, "Revoked %s (%s).", k.Name, k.ID)
	})
}

// pick finds the one key that the command names.
func (c keyRevoke) pick(ctx context.Context, a admin, keys []credential.Key, secret string) (credential.Key, error) {
	id := c.ID + c.Flag
	if secret != "" {
		actor, err := a.Credentials.Authenticate(ctx, strings.TrimSpace(secret))
		if err != nil {
			return credential.Key{}, err
		}
		id = actor.CredentialID
	}
	var found []credential.Key
	for _, k := range keys {
		if k.ID == id || k.RevokedAt == nil && (k.Name == c.Name && c.Name != "" || k.Name == id && id != "") {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return credential.Key{}, errors.New("the account has no such key; see: carrel admin key list --user EMAIL")
	case 1:
		return found[0], nil
	}
	return credential.Key{}, errors.New("several keys have that name; name one by its id, see: carrel admin key list --user EMAIL")
}

type connectCodeCommands struct {
	Create connectCodeCreate `cmd:"" help:"Create a connect code: valid for 15 minutes, once."`
}

type connectCodeCreate struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account that the client will act for."`
	JSON bool   `help:"Print one JSON object: {\"code\":\"…\"}."`
}

// Run creates a connect code.
func (c connectCodeCreate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		code, token, err := a.Credentials.CreateCode(ctx, core.Operator(u.ID))
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"code": token, "expiresAt": date(code.ExpiresAt)}, "%s", token)
	})
}
