package source

import (
	"context"
	"slices"
	"strings"

	"carrel/internal/core"
)

// List returns the sources of an agent, oldest first.
func (s *Service) List(ctx context.Context, actor core.Actor, agentID string) ([]Source, error) {
	if err := s.agents.Allow(ctx, actor, core.OpListSources, agentID); err != nil {
		return nil, err
	}
	return s.store.Sources(ctx, actor.UserID, agentID)
}

// Get returns one source of an agent.
func (s *Service) Get(ctx context.Context, actor core.Actor, agentID, sourceID string) (Source, error) {
	return s.For(ctx, actor, core.OpGetSource, agentID, sourceID)
}

// For returns a source after it has checked that the actor may carry out the operation on its agent. Changing a
// source of an Admin kind also requires an administrator.
func (s *Service) For(
	ctx context.Context, actor core.Actor, op core.Operation, agentID, sourceID string,
) (Source, error) {
	if err := s.agents.Allow(ctx, actor, op, agentID); err != nil {
		return Source{}, err
	}
	sources, err := s.store.Sources(ctx, actor.UserID, agentID)
	if err != nil {
		return Source{}, err
	}
	i := slices.IndexFunc(sources, func(src Source) bool { return src.ID == sourceID })
	if i < 0 {
		return Source{}, core.NotFound("source")
	}
	rule, _ := op.Rule()
	if k, _ := s.kind(sources[i].Kind); k.Admin && rule.Access >= core.AccessManage {
		return sources[i], allowAdmin(actor)
	}
	return sources[i], nil
}

// allowAdmin requires an administrator with an admin credential: a program with search access must not be able to
// read the server's disk.
func allowAdmin(actor core.Actor) error { return actor.Allow(core.OpAdmin) }

// Change holds the changes to a source; nil means unchanged.
type Change struct {
	Name, Language *string
	// Default can only be set: to unset it, make another source the default.
	Default  bool
	Settings *Settings
	// Secret replaces the secret; an empty one removes it. If it is nil the secret is kept, unless its scope changes;
	// see Kind.SecretScope.
	Secret *string
}

// Change updates a source.
func (s *Service) Change(ctx context.Context, actor core.Actor, agentID, sourceID string, c Change) (Source, error) {
	src, err := s.For(ctx, actor, core.OpChangeSource, agentID, sourceID)
	if err != nil {
		return Source{}, err
	}
	if err := s.applyChange(&src, c); err != nil {
		return Source{}, err
	}
	if err := s.store.UpdateSource(ctx, src); err != nil {
		return Source{}, err
	}
	language := ""
	if c.Language != nil {
		language = *c.Language
	}
	removed := src.SecretRemoved
	if _, err = s.applyDefaultAndLanguage(ctx, src, New{Default: c.Default, Language: language}); err != nil {
		return Source{}, err
	}
	src, err = s.Get(ctx, actor, agentID, sourceID)
	src.SecretRemoved = removed
	return src, err
}

// applyChange validates a change and applies it to src.
func (s *Service) applyChange(src *Source, c Change) error {
	var bad []core.FieldError
	if c.Name != nil {
		src.Name = strings.TrimSpace(*c.Name)
		if detail := nameRule.Check(src.Name); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/name", Detail: detail})
		}
	}
	if c.Language != nil {
		if detail := s.checkLanguage(*c.Language); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/language", Detail: detail})
		}
	}
	src.UpdatedAt = s.clock.Now()
	wrong, err := s.applySettings(src, c)
	if err != nil {
		return err
	}
	bad = append(bad, wrong...)
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Delete deletes a source with its documents. Deleting the default source requires a successor.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, sourceID, successorID string) error {
	src, err := s.For(ctx, actor, core.OpDeleteSource, agentID, sourceID)
	if err != nil {
		return err
	}
	if successorID != "" {
		if _, err := s.Get(ctx, actor, agentID, successorID); err != nil || successorID == sourceID {
			return core.InvalidField("successor", "Must be another source of this agent.")
		}
	}
	if src.Default && successorID == "" {
		return core.Conflict(
			"conflict", "This is the agent's default source. Set ?successor=ID to the source that becomes the default.",
		)
	}
	return s.store.DeleteSource(ctx, agentID, sourceID, successorID)
}
