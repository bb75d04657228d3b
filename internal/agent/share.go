package agent

import (
	"context"
	"strings"
	"time"

	"carrel/internal/core"
)

// Share is somebody, or everybody, who may use an agent besides its owner.
type Share struct {
	// UserID is empty for everybody of the installation; then there is no name and no address.
	UserID, Name, Email string
	Grant               core.Grant
	CreatedAt           time.Time
}

// ShareStore keeps whom agents are shared with.
type ShareStore interface {
	Shares(ctx context.Context, agentID string) ([]Share, error)
	// UserIDByEmail returns whose address this is; nobody's is not_found.
	UserIDByEmail(ctx context.Context, email string) (string, error)
	// PutShare takes the place of what the user, or everybody, had; a user who is not there is not_found.
	PutShare(ctx context.Context, agentID string, s Share) error
	DeleteShare(ctx context.Context, agentID, userID string) error
}

// Shares lists whom an agent is shared with.
func (s *Service) Shares(ctx context.Context, actor core.Actor, agentID string) ([]Share, error) {
	if err := s.Allow(ctx, actor, core.OpListGrants, agentID); err != nil {
		return nil, err
	}
	return s.store.Shares(ctx, agentID)
}

// Share lets a user, or with an empty id everybody, use an agent from their next request on. A user is named by id or
// e-mail address: people know each other by addresses, and only those who administer accounts see ids.
func (s *Service) Share(ctx context.Context, actor core.Actor, agentID, user, grant string) error {
	if err := s.Allow(ctx, actor, core.OpPutGrant, agentID); err != nil {
		return err
	}
	userID, err := s.userID(ctx, user)
	if err != nil {
		return err
	}
	g, ok := core.GrantOf(strings.TrimSpace(grant))
	switch {
	case !ok:
		return core.InvalidField("/grant", "Must be viewer, user or manager.")
	case userID == actor.UserID:
		return core.InvalidField("userId", "The agent is theirs.")
	case userID != "" && !core.IsID(core.PrefixUser, userID):
		return core.NotFound("user")
	}
	return s.store.PutShare(ctx, agentID, Share{UserID: userID, Grant: g, CreatedAt: s.clock.Now()})
}

// userID returns the id of a user who may be named by their address.
func (s *Service) userID(ctx context.Context, user string) (string, error) {
	if !strings.Contains(user, "@") {
		return user, nil
	}
	return s.store.UserIDByEmail(ctx, user)
}

// Unshare takes a user's, or everybody's, grant away; what they wrote with the agent stays in their account
// and its export, and is shown to them again if the agent is shared with them again.
func (s *Service) Unshare(ctx context.Context, actor core.Actor, agentID, user string) error {
	if err := s.Allow(ctx, actor, core.OpDeleteGrant, agentID); err != nil {
		return err
	}
	userID, err := s.userID(ctx, user)
	if err != nil {
		return err
	}
	return s.store.DeleteShare(ctx, agentID, userID)
}
