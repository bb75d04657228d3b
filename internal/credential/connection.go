package credential

import (
	"context"
	"strconv"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Connection is a program that acts for a user and that they let in: a minted key or an OAuth grant.
type Connection struct {
	ID   string
	Kind core.CredentialKind
	// Name is the user's word for it, at first what the program called itself: ClientName.
	Name, ClientName string
	Scopes           []core.Scope
	// Agents are the only agents it may touch; empty means all.
	Agents                   []string
	CreatedAt                time.Time
	ExpiresAt                *time.Time
	LastUsedAt               *time.Time
	LastAddress, LastProgram string
}

// ConnectionKey is where a page of connections ended.
type ConnectionKey struct {
	CreatedAt time.Time
	ID        string
}

// ConnectionStore finds and names connections.
type ConnectionStore interface {
	// Connections returns up to limit connections of a user that work at this time, newest first, after a key.
	Connections(ctx context.Context, userID string, now time.Time, after *ConnectionKey, limit int) ([]Connection, error)
	// Connection returns one that works at this time.
	Connection(ctx context.Context, userID, connectionID string, now time.Time) (Connection, error)
	// RenameConnection gives one that is not revoked another name.
	RenameConnection(ctx context.Context, userID, connectionID, name string) error
}

// Grants ends OAuth grants. The authorization server does, because it knows what else ends with one.
type Grants interface {
	RevokeGrant(ctx context.Context, actor core.Actor, grantID string) error
}

// EndGrants tells the service how OAuth grants are ended. It must be called before the service is used.
func (s *Service) EndGrants(g Grants) { s.grants = g }

// Connections lists the programs that act for a user, newest first, and returns the cursor of the next page.
func (s *Service) Connections(ctx context.Context, actor core.Actor, p core.Page) ([]Connection, string, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, "", err
	}
	rows, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	after, err := connectionKey(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	list, err := s.store.Connections(ctx, actor.UserID, s.clock.Now(), after, rows+1)
	if err != nil || len(list) <= rows {
		return list, "", err
	}
	last := list[rows-1]
	return list[:rows], core.EncodeCursor("connections", strconv.FormatInt(last.CreatedAt.UnixMilli(), 10), last.ID), nil
}

// connectionKey reads a cursor; nil is the first page.
func connectionKey(cursor string) (*ConnectionKey, error) {
	parts, err := core.DecodeCursor("connections", cursor, 2)
	if parts == nil || err != nil {
		return nil, err
	}
	created, err := core.CursorTime(parts[0])
	return &ConnectionKey{CreatedAt: created, ID: parts[1]}, err
}

// RenameConnection gives a program another name, for its user alone.
func (s *Service) RenameConnection(ctx context.Context, actor core.Actor, id, name string) (Connection, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return Connection{}, err
	}
	name, detail := (core.TextRule{Min: 1, Max: 100}).Clean(name)
	if detail != "" {
		return Connection{}, core.InvalidField("/name", detail)
	}
	c, err := s.store.Connection(ctx, actor.UserID, id, s.clock.Now())
	if err != nil || c.Name == name {
		return c, err
	}
	if err := s.store.RenameConnection(ctx, actor.UserID, id, name); err != nil {
		return Connection{}, err
	}
	s.note(ctx, actor, audit.ConnectionNamed, id, "")
	c.Name = name
	return c, nil
}

// RevokeConnection ends a program's access: the very next request with it fails.
func (s *Service) RevokeConnection(ctx context.Context, actor core.Actor, id string) error {
	if err := actor.Allow(core.OpAccount); err != nil {
		return err
	}
	c, err := s.store.Connection(ctx, actor.UserID, id, s.clock.Now())
	if err != nil {
		return err
	}
	if c.Kind == core.CredentialOAuth {
		return s.grants.RevokeGrant(ctx, actor, id)
	}
	return s.RevokeKey(ctx, actor, id)
}
