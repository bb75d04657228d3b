package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/credential"
)

type keyCommands struct {
	Create keyCreate `cmd:"" help:"Create an API key. It is printed once."`
	List   keyList   `cmd:"" help:"List an account's keys, including those of connected programs."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key. Its next request fails."`
}

type keyCreate struct {
	User    string        `required:"" aliases:"email" placeholder:"EMAIL" help:"The account of the key."`
	Name    string        `required:"" help:"A name for the key."`
	Scopes  []string      `aliases:"scope" enum:"agents,manage,account,admin" placeholder:"SCOPE" help:"agents, manage, account, admin (administrators only). Repeat the flag or separate by commas. Default: agents,manage."`
	Agents  []string      `aliases:"agent" placeholder:"ID" help:"Limit the key to these agents. Default: all."`
	Expires time.Duration `placeholder:"DURATION" help:"Lifetime, such as 720h. Default: until revoked."`
	JSON    bool          `help:"Print one JSON object: {\"key\":\"…\"}."`
}

// Run creates a key.
func (c keyCreate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		n := credential.NewKey{Name: c.Name, Agents: c.Agents}
		for _, s := range c.Scopes {
			if core.Scope(s) == core.ScopeAdmin && !u.Role.Administers() {
				return core.InvalidField("/scopes", c.User+" is not an administrator, so their keys can't have the scope admin.")
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
		return a.print(c.JSON, map[string]any{"secret": token, "key": token, "id": k.ID}, "%s", token)
	})
}

type keyList struct {
	userFlag
	JSON bool `help:"Print one JSON object: {\"keys\":[…]}."`
}

// Run lists keys.
func (c keyList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		keys, err := a.Credentials.Keys(ctx, core.Operator(u.ID))
		if err != nil {
			return err
		}
		return printList(a, c.JSON, "keys", keys, keyJSON,
			"ID\tKIND\tNAME\tENDS IN\tCREATED\tLAST USED\tEXPIRES\tREVOKED", func(k credential.Key) []string {
				return []string{
					k.ID, string(k.Kind), k.Name, "…" + k.Hint, date(k.CreatedAt),
					dateOr(k.LastUsedAt, "never"), dateOr(k.ExpiresAt, "never"), dateOr(k.RevokedAt, "-"),
				}
			})
	})
}

func keyJSON(k credential.Key) map[string]any {
	out := map[string]any{
		"id": k.ID, "kind": k.Kind, "name": k.Name, "hint": k.Hint, "scopes": k.Scopes, "agents": k.Agents,
		"createdAt": date(k.CreatedAt), "revoked": k.RevokedAt != nil,
	}
	for name, t := range map[string]*time.Time{
		"lastUsedAt": k.LastUsedAt,
		"expiresAt":  k.ExpiresAt,
		"revokedAt":  k.RevokedAt,
	} {
		if t != nil {
			out[name] = date(*t)
		}
	}
	return out
}

type keyRevoke struct {
	userFlag
	ID   string `arg:"" optional:"" name:"id" help:"The id of the key, or its name if it is unique."`
	Flag string `name:"id" placeholder:"ID" help:"The id as a flag."`
	Name string `help:"The name of the key, if it is unique."`
	Key  string `help:"The key itself, for example a leaked one; - reads it from standard input."`
	JSON bool   `help:"Print one JSON object."`
}

// Run revokes a key.
func (c keyRevoke) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	secret, err := readSecret(env, c.Key, "Key")
	if err != nil {
		return err
	}
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
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
		return a.print(c.JSON, map[string]any{"key": map[string]any{"id": k.ID, "revoked": true}}, "Revoked %s (%s).", k.Name,
			k.ID)
	})
}

// pick returns the key that the flags name.
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
	return credential.Key{}, errors.New("several keys have this name; use the id, see: carrel admin key list --user EMAIL")
}

type connectCodeCommands struct {
	Create connectCodeCreate `cmd:"" help:"Create a connect code, valid once within 15 minutes."`
}

type connectCodeCreate struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account that the program will act for."`
	JSON bool   `help:"Print one JSON object: {\"code\":\"…\"}."`
}

// Run creates a connect code.
func (c connectCodeCreate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		code, token, err := a.Credentials.CreateCode(ctx, core.Operator(u.ID))
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"secret": token, "code": token, "expiresAt": date(code.ExpiresAt)}, "%s", token)
	})
}
