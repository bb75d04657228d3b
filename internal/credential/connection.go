package credential

import (
	"context"
	"strconv"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Connection is the access of a client program to a user's account: a minted key or an OAuth grant.
type Connection struct {
	ID   string
	Kind core.CredentialKind
	// Name is chosen by the user and defaults to ClientName, the name the client gave itself.
	Name, ClientName string
	Scopes           []core.Scope
	// Agents restricts the connection to these agents; empty allows all.
	Agents                   []string
	CreatedAt                time.Time
	ExpiresAt                *time.Time
	LastUsedAt               *time.Time
	LastAddress, LastProgram string
}

// ConnectionKey is the sort key of the last connection of a page.
type ConnectionKey struct {
	CreatedAt time.Time
	ID        string
}

// ConnectionStore reads and renames connections.
type ConnectionStore interface {
	// Connections returns up to limit connections of a user that are neither revoked nor expired, newest first, starting
	// after the key.
	Connections(ctx context.Context, userID string, now time.Time, after *ConnectionKey, limit int) ([]Connection, error)
	// Connection returns one of the connections that Connections lists.
	Connection(ctx context.Context, userID, connectionID string, now time.Time) (Connection, error)
	// RenameConnection renames a connection that is not revoked.
	RenameConnection(ctx context.Context, userID, connectionID, name string) error
}

// Grants revokes OAuth grants. The authorization server implements it, because the tokens of a grant are revoked with
// it.
type Grants interface {
	RevokeGrant(ctx context.Context, actor core.Actor, grantID string) error
}

// Connections returns one page of a user's connections, newest first, and the next cursor.
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

// RenameConnection changes the name of a connection.
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
	s.record(ctx, actor, audit.ConnectionNamed, id, "")
	c.Name = name
	return c, nil
}

// RevokeConnection revokes a connection. The client is rejected from the next request on.
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
