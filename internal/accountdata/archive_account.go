package accountdata

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/sharelink"
)

// account writes the data that belongs to no agent.
func (a *archive) account(ctx context.Context) error {
	for _, part := range []struct {
		name  string
		write func(context.Context) error
	}{
		{"profile", a.profile},
		{"keys", a.keys},
		{"connections", a.connections},
		{"sessions", a.sessions},
		{"passkeys", a.passkeys},
		{"webhooks", a.webhooks},
		{"links", a.links},
		{"usage", a.usage},
		{"audit log", a.events},
	} {
		if err := part.write(ctx); err != nil {
			return fmt.Errorf("write the %s: %w", part.name, err)
		}
	}
	return nil
}

func (a *archive) profile(ctx context.Context) error {
	u, err := a.Accounts.Profile(ctx, a.actor)
	if err != nil {
		return err
	}
	has, err := a.Billing.Plans.Own(ctx, a.actor)
	if err != nil {
		return err
	}
	out := object{"id": u.ID, "email": u.Email, "name": u.Name, "role": u.Role, "plan": u.Plan}.
		with("createdAt", u.CreatedAt)
	if u.SpendCap != nil {
		out["spendCapMicros"] = *u.SpendCap
	}
	if s := has.Subscription; s != nil {
		out["subscription"] = object{"plan": s.Plan, "status": s.Status, "cancelAtEnd": s.CancelAtEnd}.
			with("startsAt", s.StartsAt).with("endsAt", s.EndsAt)
	}
	return a.json("account.json", out)
}

func (a *archive) keys(ctx context.Context) error {
	list := pages(func(p core.Page) ([]credential.Key, string, error) { return a.Credentials.APIKeys(ctx, a.actor, p) })
	return lines(a, "keys.jsonl", list, func(k credential.Key) any {
		return object{"id": k.ID, "name": k.Name, "hint": k.Hint, "scopes": k.Scopes, "agents": k.Agents}.
			with("createdAt", k.CreatedAt).with("expiresAt", k.ExpiresAt).with("revokedAt", k.RevokedAt).
			with("lastUsedAt", k.LastUsedAt).with("lastAddress", k.LastAddress).with("lastProgram", k.LastProgram)
	})
}

func (a *archive) connections(ctx context.Context) error {
	list := pages(func(p core.Page) ([]credential.Connection, string, error) {
		return a.Credentials.Connections(ctx, a.actor, p)
	})
	return lines(a, "connections.jsonl", list, func(c credential.Connection) any {
		return object{
			"id":         c.ID,
			"kind":       c.Kind,
			"name":       c.Name,
			"clientName": c.ClientName,
			"scopes":     c.Scopes,
			"agents":     c.Agents,
		}.
			with("createdAt", c.CreatedAt).with("expiresAt", c.ExpiresAt).with("lastUsedAt", c.LastUsedAt).
			with("lastAddress", c.LastAddress).with("lastProgram", c.LastProgram)
	})
}

func (a *archive) sessions(ctx context.Context) error {
	list, err := a.Sessions.List(ctx, a.actor.UserID)
	if err != nil {
		return err
	}
	out := make([]object, len(list))
	for i, s := range list {
		out[i] = object{"id": s.ID, "address": s.Address, "program": s.Agent}.
			with("createdAt", s.CreatedAt).with("seenAt", s.SeenAt).with("expiresAt", s.ExpiresAt)
	}
	return a.json("sessions.json", out)
}

func (a *archive) passkeys(ctx context.Context) error {
	list, err := a.Store.Passkeys(ctx, a.actor.UserID)
	if err != nil {
		return err
	}
	out := make([]object, len(list))
	for i, k := range list {
		out[i] = object{"id": k.ID, "name": k.Name}.with("createdAt", k.CreatedAt).with("lastUsedAt", k.LastUsedAt)
	}
	return a.json("passkeys.json", out)
}

func (a *archive) webhooks(ctx context.Context) error {
	list, err := a.Webhooks.List(ctx, a.actor)
	if err != nil {
		return err
	}
	out := make([]object, len(list))
	for i, h := range list {
		out[i] = object{"id": h.ID, "url": h.URL, "events": h.Events}.with("createdAt", h.CreatedAt).
			with("disabledAt", h.DisabledAt).with("credentialId", h.CredentialID)
	}
	return a.json("webhooks.json", out)
}

// usage writes one table per year since the first use, because a year is the longest period that can be queried.
func (a *archive) links(ctx context.Context) error {
	list := pages(func(p core.Page) ([]sharelink.Link, string, error) { return a.Links.List(ctx, a.actor, p) })
	return lines(a, "links.jsonl", list, func(l sharelink.Link) any {
		return object{"id": l.ID, "agentId": l.AgentID, "threadId": l.ThreadID, "messages": l.Messages}.
			with("createdAt", l.CreatedAt).with("expiresAt", l.ExpiresAt)
	})
}

func (a *archive) usage(ctx context.Context) error {
	first, err := a.Store.FirstUsage(ctx, a.actor.UserID)
	if err != nil || first == "" {
		return err
	}
	from, err := time.Parse(time.DateOnly, first)
	if err != nil {
		return err
	}
	for year := from.Year(); year <= a.now.UTC().Year(); year++ {
		q := billing.UsageQuery{From: fmt.Sprintf("%04d-01-01", year), To: fmt.Sprintf("%04d-12-31", year)}
		err := a.text(fmt.Sprintf("usage/%04d.csv", year),
			func(w io.Writer) error { return a.Billing.Usage.WriteOwnCSV(ctx, a.actor, q, w) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) events(ctx context.Context) error {
	list := pages(func(p core.Page) ([]audit.Entry, string, error) { return a.Audit.Own(ctx, a.actor, p) })
	return lines(a, "audit.jsonl", list, func(e audit.Entry) any {
		return object{"event": e.Event, "actor": e.Actor, "detail": json.RawMessage(e.Detail)}.with("at", e.At).
			with("address", e.Address)
	})
}
