package credential

import (
	"context"
	"fmt"
	"slices"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// NewKey is what is asked of a key to make.
type NewKey struct {
	Name      string
	Scopes    []core.Scope
	Agents    []string
	ExpiresAt *time.Time
}

// Agents tells which agents there are.
type Agents interface {
	// Reach is nil when the agent is the actor's and the credential may touch it.
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// KnowAgents lets the service make sure that a key is for agents that are there. It must be called before the service is
// used.
func (s *Service) KnowAgents(a Agents) { s.agents = a }

// maxKeyAgents bounds the list of agents that a key may touch.
const maxKeyAgents = 100

// defaultScopes are those of a key made for working with agents.
var defaultScopes = []core.Scope{core.ScopeAgents, core.ScopeManage}

// CreateKey makes an API key for a user and returns its secret, which can't be had again. It needs a recent proof, and no
// key can do more than what it was made with.
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
	token := newToken(s.prefixes.Key)
	k := s.newKey(core.NewIDIn(ctx, core.PrefixCredential), core.CredentialKey, n, token)
	k.UserID, k.MadeWith = actor.UserID, maker.ID
	if err := s.store.InsertKey(ctx, k, hashToken(s.secret, token)); err != nil {
		return Key{}, "", err
	}
	s.note(ctx, actor, audit.KeyCreated, k.ID, k.Name)
	return k, token, nil
}

// maker returns the key that the actor makes another credential with; sessions and the operator have none. A leaked key
// must not turn into one that lives longer or may spend more than it.
func (s *Service) maker(ctx context.Context, actor core.Actor) (Key, error) {
	if actor.Credential != core.CredentialKey {
		return Key{}, nil
	}
	if actor.CredentialSpend.Capped {
		return Key{}, core.Forbidden("forbidden", "This key has a spend cap, and what it makes would have none. Use a session.")
	}
	return s.store.APIKey(ctx, actor.UserID, actor.CredentialID)
}

// checkKey says what is wrong with a key to make. What is named twice counts once.
func (s *Service) checkKey(ctx context.Context, actor core.Actor, maker Key, n *NewKey) error {
	var bad []core.FieldError
	var detail string
	if n.Name, detail = (core.TextRule{Min: 1, Max: 100}).Clean(n.Name); detail != "" {
		bad = append(bad, core.FieldError{Pointer: "/name", Detail: detail})
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(s.clock.Now()) {
		bad = append(bad, core.FieldError{Pointer: "/expiresAt", Detail: "Must lie in the future."})
	}
	if maker.ExpiresAt != nil && n.ExpiresAt.After(*maker.ExpiresAt) {
		bad = append(bad, core.FieldError{Pointer: "/expiresAt", Detail: "Must not lie after the end of the key that makes it."})
	}
	for i, scope := range n.Scopes {
		if !slices.Contains(actor.Scopes, scope) {
			bad = append(bad, core.FieldError{
				Pointer: fmt.Sprintf("/scopes/%d", i), Detail: "Must be a scope that you have yourself: a key can't do more than what it is made with.",
			})
		}
	}
	n.Scopes = slices.DeleteFunc(core.RoleOwner.Scopes(), func(s core.Scope) bool { return !slices.Contains(n.Scopes, s) })
	if len(n.Agents) > maxKeyAgents {
		bad = append(bad, core.FieldError{Pointer: "/agents", Detail: "Must be at most 100 agents. Leave it out for all of them."})
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

func (s *Service) checkAgents(ctx context.Context, actor core.Actor, agents []string) (bad []core.FieldError, err error) {
	for i, id := range agents {
		if s.agents != nil {
			err = s.agents.Allow(ctx, actor, core.OpGetAgent, id)
		}
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

// Keys lists a user's keys, minted ones included, newest first.
func (s *Service) Keys(ctx context.Context, actor core.Actor) ([]Key, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return nil, err
	}
	return s.store.Keys(ctx, actor.UserID)
}

// APIKeys lists the keys that a user made and has not revoked, newest first, and returns the cursor of the next page.
func (s *Service) APIKeys(ctx context.Context, actor core.Actor, p core.Page) ([]Key, string, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return nil, "", err
	}
	return pageByID("keys", p, func(before string, limit int) ([]Key, error) {
		return s.store.APIKeys(ctx, actor.UserID, before, limit)
	}, func(k Key) string { return k.ID })
}

// pageByID reads one page of a list that is ordered by id. It asks for a row more, to know whether another page follows.
func pageByID[T any](list string, p core.Page, read func(before string, limit int) ([]T, error), id func(T) string) ([]T, string, error) {
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

// RevokeKey ends a key of the user, minted or not: the very next request with it fails. Commands use it; one that is
// revoked already stays so.
func (s *Service) RevokeKey(ctx context.Context, actor core.Actor, keyID string) error {
	if err := actor.Allow(core.OpKeys); err != nil {
		return err
	}
	if err := s.store.RevokeKey(ctx, actor.UserID, keyID, s.clock.Now()); err != nil {
		return err
	}
	s.note(ctx, actor, audit.KeyRevoked, keyID, "")
	return nil
}

// DeleteKey is RevokeKey for what APIKeys lists; all else is not_found.
func (s *Service) DeleteKey(ctx context.Context, actor core.Actor, keyID string) error {
	if err := actor.Allow(core.OpKeys); err != nil {
		return err
	}
	if _, err := s.store.APIKey(ctx, actor.UserID, keyID); err != nil {
		return err
	}
	return s.RevokeKey(ctx, actor, keyID)
}
