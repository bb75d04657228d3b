package credential

import (
	"context"
	"fmt"
	"slices"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// NewKey describes a key to create. The default scopes are agents and manage.
type NewKey struct {
	Name      string
	Scopes    []core.Scope
	Agents    []string
	ExpiresAt *time.Time
}

// Agents decides access to agents.
type Agents interface {
	// Allow returns nil if the actor may perform the operation on the agent.
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// maxKeyAgents is the maximum number of agents that a key can be restricted to.
const maxKeyAgents = 100

var defaultScopes = []core.Scope{core.ScopeAgents, core.ScopeManage}

// CreateKey creates an API key and returns its secret, which is shown only once. It requires a recent proof. The key
// cannot have more access than the credential that creates it.
func (s *Service) CreateKey(ctx context.Context, actor core.Actor, n NewKey) (Key, string, error) {
	if err := actor.AllowProved(core.OpKeys, s.clock.Now()); err != nil {
		return Key{}, "", err
	}
	if len(n.Scopes) == 0 {
		n.Scopes = defaultScopes
	}
	if len(n.Agents) == 0 {
		n.Agents = actor.Agents
	}
	maker, err := s.maker(ctx, actor)
	if err != nil {
		return Key{}, "", err
	}
	if n.ExpiresAt == nil {
		n.ExpiresAt = maker.ExpiresAt
	}
	if err := s.checkKey(ctx, actor, maker, &n); err != nil {
		return Key{}, "", err
	}
	token := NewSecret(s.prefixes.Key)
	k := s.newKey(core.NewIDIn(ctx, core.PrefixCredential), core.CredentialKey, n, token)
	k.UserID, k.MadeWith = actor.UserID, maker.ID
	if err := s.store.InsertKey(ctx, k, Hash(s.hashKey, token)); err != nil {
		return Key{}, "", err
	}
	s.record(ctx, actor, audit.KeyCreated, k.ID, k.Name)
	return k, token, nil
}

// maker returns the API key with which the actor creates another credential, or the zero Key for sessions and the
// operator. A leaked key must not create credentials that expire later or may spend more.
func (s *Service) maker(ctx context.Context, actor core.Actor) (Key, error) {
	if actor.Credential != core.CredentialKey {
		return Key{}, nil
	}
	if actor.CredentialSpend.Capped {
		return Key{}, core.Forbidden("forbidden",
			"A key with a spend cap cannot create credentials, because they would have no cap. Use a session.")
	}
	return s.store.APIKey(ctx, actor.UserID, actor.CredentialID)
}

// checkKey validates a key to create and removes duplicate scopes and agents.
func (s *Service) checkKey(ctx context.Context, actor core.Actor, maker Key, n *NewKey) error {
	var bad []core.FieldError
	var detail string
	if n.Name, detail = (core.TextRule{Min: 1, Max: 100}).Clean(n.Name); detail != "" {
		bad = append(bad, core.FieldError{Pointer: "/name", Detail: detail})
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(s.clock.Now()) {
		bad = append(bad, core.FieldError{Pointer: "/expiresAt", Detail: "Must be in the future."})
	}
	if maker.ExpiresAt != nil && n.ExpiresAt.After(*maker.ExpiresAt) {
		bad = append(bad, core.FieldError{
			Pointer: "/expiresAt", Detail: "Must not be later than the expiry of the key that creates it.",
		})
	}
	for i, scope := range n.Scopes {
		if !slices.Contains(actor.Scopes, scope) {
			bad = append(bad, core.FieldError{
				Pointer: fmt.Sprintf("/scopes/%d", i),
				Detail:  "Must be one of your own scopes. A key cannot have more access than its creator.",
			})
		}
	}
	n.Scopes = slices.DeleteFunc(core.RoleOwner.Scopes(), func(s core.Scope) bool { return !slices.Contains(n.Scopes, s) })
	if len(n.Agents) > maxKeyAgents {
		bad = append(bad, core.FieldError{Pointer: "/agents", Detail: "Must be at most 100 agents. Omit it to allow all."})
	} else {
		more, err := s.checkAgents(ctx, actor, n.Agents)
		if err != nil {
			return err
		}
		bad = append(bad, more...)
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	n.Agents = slices.Compact(slices.Sorted(slices.Values(n.Agents)))
	return nil
}

func (s *Service) checkAgents(
	ctx context.Context, actor core.Actor, agents []string,
) (bad []core.FieldError, err error) {
	for i, id := range agents {
		err = s.agents.Allow(ctx, actor, core.OpGetAgent, id)
		switch {
		case core.IsKind(err, core.KindNotFound):
			bad = append(bad, core.FieldError{Pointer: fmt.Sprintf("/agents/%d", i), Detail: "There is no such agent."})
		case err != nil:
			return nil, err
		}
	}
	return bad, nil
}

func (s *Service) newKey(id string, kind core.CredentialKind, n NewKey, token string) Key {
	return Key{
		ID: id, Kind: kind, Name: n.Name, Hint: token[len(token)-4:],
		Scopes: n.Scopes, Agents: n.Agents, CreatedAt: s.clock.Now(), ExpiresAt: n.ExpiresAt,
	}
}

// Keys returns all keys of a user, including minted and revoked ones, newest first.
func (s *Service) Keys(ctx context.Context, actor core.Actor) ([]Key, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return nil, err
	}
	return s.store.Keys(ctx, actor.UserID)
}

// APIKeys returns one page of the keys a user created and has not revoked, newest first, and the next cursor.
func (s *Service) APIKeys(ctx context.Context, actor core.Actor, p core.Page) ([]Key, string, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return nil, "", err
	}
	return pageByID("keys", p, func(before string, limit int) ([]Key, error) {
		return s.store.APIKeys(ctx, actor.UserID, before, limit)
	}, func(k Key) string { return k.ID })
}

// APIKey returns a key that APIKeys lists. Any other key is not_found.
func (s *Service) APIKey(ctx context.Context, actor core.Actor, keyID string) (Key, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return Key{}, err
	}
	return s.store.APIKey(ctx, actor.UserID, keyID)
}

// pageByID returns one page of a list ordered by id. It reads one extra row to find out whether another page follows.
func pageByID[T any](
	list string, p core.Page, read func(before string, limit int) ([]T, error), id func(T) string,
) ([]T, string, error) {
	rows, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := core.DecodeIDCursor(list, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	items, err := read(before, rows+1)
	if err != nil || len(items) <= rows {
		return items, "", err
	}
	return items[:rows], core.EncodeCursor(list, id(items[rows-1])), nil
}

// RevokeKey revokes a key of the user, minted or not. It is rejected from the next request on.
func (s *Service) RevokeKey(ctx context.Context, actor core.Actor, keyID string) error {
	if err := actor.Allow(core.OpKeys); err != nil {
		return err
	}
	if err := s.store.RevokeKey(ctx, actor.UserID, keyID, s.clock.Now()); err != nil {
		return err
	}
	s.record(ctx, actor, audit.KeyRevoked, keyID, "")
	return nil
}

// DeleteKey revokes a key that APIKeys lists. Any other key is not_found.
func (s *Service) DeleteKey(ctx context.Context, actor core.Actor, keyID string) error {
	if err := actor.Allow(core.OpKeys); err != nil {
		return err
	}
	if _, err := s.store.APIKey(ctx, actor.UserID, keyID); err != nil {
		return err
	}
	return s.RevokeKey(ctx, actor, keyID)
}
