package agent

import (
	"context"
	"net/mail"
	"strings"
	"time"

	"carrel/internal/core"
)

// Share is a grant for an agent, or an open invitation to it, as the agent's owner sees it.
type Share struct {
	// UserID, Name and Email are those of the account that has the grant. All are empty for everybody, and while the
	// share is pending: an owner must not learn from an invitation whether an account exists.
	UserID, Name, Email string
	// Invitee is the address or account id of a pending share, as the owner entered it; else it is empty.
	Invitee   string
	Grant     core.Grant
	CreatedAt time.Time
}

// Pending reports whether the share is an invitation that has not been accepted.
func (s Share) Pending() bool { return s.Invitee != "" }

// Offer is an invitation on its way to the store.
type Offer struct {
	// Invitee is a normalised address or the id of an account.
	Invitee string
	Grant   core.Grant
	At      time.Time
}

// MaxInvitations is how many open invitations an account may have, over all its agents.
const MaxInvitations = 50

// ShareStore keeps grants and the invitations that their owners send.
type ShareStore interface {
	// Shares returns everybody's grant first, then those of accounts, then pending ones, oldest first.
	Shares(ctx context.Context, agentID string) ([]Share, error)
	// Offer changes the grant of an account that has one, else it makes or changes an invitation. It does the same work
	// and returns the same result whether or not the invitee has an account. The owner's own account is invalid_request.
	// More than limit open invitations of the owner are a conflict.
	Offer(ctx context.Context, ownerID, agentID string, o Offer, limit int) error
	// DeleteShare removes the grant of, and the invitation to, an address or an account id. Neither is not_found.
	DeleteShare(ctx context.Context, agentID, invitee string) error
	// ShareWithAll sets the grant of everybody.
	ShareWithAll(ctx context.Context, agentID string, g core.Grant, now time.Time) error
	// DeleteShareWithAll removes it; none is not_found.
	DeleteShareWithAll(ctx context.Context, agentID string) error
}

// Shares lists the grants and open invitations of an agent.
func (s *Service) Shares(ctx context.Context, actor core.Actor, agentID string) ([]Share, error) {
	if err := s.Allow(ctx, actor, core.OpListGrants, agentID); err != nil {
		return nil, err
	}
	return s.store.Shares(ctx, agentID)
}

// Share invites a user to an agent, or changes the grant of one who has accepted. The user is named by address or account
// id, and the result does not depend on whether they exist. An empty user is everybody, who need not accept: that is for
// administrators alone, because it puts the agent into every account's lists.
func (s *Service) Share(ctx context.Context, actor core.Actor, agentID, user, grant string) error {
	if err := s.Allow(ctx, actor, core.OpPutGrant, agentID); err != nil {
		return err
	}
	if user == "" {
		if err := actor.Allow(core.OpAdmin); err != nil {
			return err
		}
	}
	g, ok := core.GrantOf(strings.TrimSpace(grant))
	if !ok {
		return core.InvalidField("/grant", "Must be viewer, user or manager.")
	}
	if user == "" {
		return s.store.ShareWithAll(ctx, agentID, g, s.clock.Now())
	}
	invitee, err := inviteeOf(user)
	if err != nil {
		return err
	}
	if invitee == actor.UserID {
		return OwnAgent()
	}
	return s.store.Offer(ctx, actor.UserID, agentID, Offer{Invitee: invitee, Grant: g, At: s.clock.Now()}, MaxInvitations)
}

// Unshare removes a user's grant or invitation, or with an empty user everybody's grant. What the other account
// wrote with the agent stays in that account and its export, and is shown again if the agent is shared again.
func (s *Service) Unshare(ctx context.Context, actor core.Actor, agentID, user string) error {
	if err := s.Allow(ctx, actor, core.OpDeleteGrant, agentID); err != nil {
		return err
	}
	if user == "" {
		return s.store.DeleteShareWithAll(ctx, agentID)
	}
	invitee, err := inviteeOf(user)
	if err != nil {
		return err
	}
	return s.store.DeleteShare(ctx, agentID, invitee)
}

// OwnAgent refuses to share an agent with its owner.
func OwnAgent() *core.Error {
	return core.InvalidField("userId", "This is your own account. Name somebody else.")
}

// maxAddress is the longest address that mail can be sent to (RFC 5321, 4.5.3.1.3).
const maxAddress = 254

// inviteeOf returns the normal form of an address or account id. It looks at the syntax alone.
func inviteeOf(user string) (string, error) {
	if !strings.Contains(user, "@") {
		if !core.IsID(core.PrefixUser, user) {
			return "", core.NotFound("user")
		}
		return user, nil
	}
	address := strings.ToLower(strings.TrimSpace(user))
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > maxAddress || core.HasNUL(address) {
		return "", core.InvalidField("userId", "Must be an e-mail address, the id of an account, or everybody.")
	}
	return address, nil
}
