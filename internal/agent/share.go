package agent

import (
	"context"
	"net/mail"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// Share is a grant or an open invitation, as the agent's owner sees it.
type Share struct {
	// UserID, Name and Email describe the account that has the grant. They are empty for a share with everybody, and while
	// the share is pending: an invitation must not reveal whether an account exists.
	UserID, Name, Email string
	// Invitee is the e-mail address or account id of a pending share, as the owner entered it. It is empty otherwise.
	Invitee   string
	Grant     core.Grant
	CreatedAt time.Time
}

// Pending reports whether the share is an open invitation.
func (s Share) Pending() bool { return s.Invitee != "" }

// Offer is a new invitation.
type Offer struct {
	// Invitee is a normalised e-mail address or an account id.
	Invitee string
	Grant   core.Grant
	At      time.Time
}

// MaxInvitations limits the open invitations of an account, over all its agents.
const MaxInvitations = 50

// ShareStore stores grants and invitations.
type ShareStore interface {
	// Shares returns the grant of everybody, then grants of accounts, then open invitations, oldest first.
	Shares(ctx context.Context, agentID string) ([]Share, error)
	// Offer changes an existing grant and returns the id of its account, or else creates or changes an invitation and
	// returns "". For an invitation it does the same work and returns the same result whether or not the invitee has an
	// account. It returns invalid_request for the owner's own account, and conflict if the owner has more than limit open
	// invitations.
	Offer(ctx context.Context, ownerID, agentID string, o Offer, limit int) (userID string, err error)
	// DeleteShare removes the grant of, and the invitation to, an address or account id. It returns the id of the account
	// that had the grant, "" if there was only an invitation, or not_found if there was neither.
	DeleteShare(ctx context.Context, agentID, invitee string, now time.Time) (userID string, err error)
	// ShareWithAll sets the grant of everybody.
	ShareWithAll(ctx context.Context, agentID string, g core.Grant, now time.Time) error
	// DeleteShareWithAll removes the grant of everybody, or returns not_found.
	DeleteShareWithAll(ctx context.Context, agentID string, now time.Time) error
}

// Shares lists the grants and open invitations of an agent.
func (s *Service) Shares(ctx context.Context, actor core.Actor, agentID string) ([]Share, error) {
	if err := s.Allow(ctx, actor, core.OpListGrants, agentID); err != nil {
		return nil, err
	}
	return s.store.Shares(ctx, agentID)
}

// Share invites a user to an agent, or changes the grant of a user who has accepted. The user is given by e-mail
// address or account id, and the result does not reveal whether the account exists. An empty user shares the agent with
// everybody, without an invitation. Only administrators may do that, because the agent then appears in every account's
// list.
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
	event := shareEvent{agentID: agentID, ownerID: actor.UserID, grant: g, with: withEverybody}
	if user == "" {
		if err := s.store.ShareWithAll(ctx, agentID, g, s.clock.Now()); err != nil {
			return err
		}
		s.noteShare(ctx, actor, audit.AgentShared, event)
		return nil
	}
	invitee, err := inviteeOf(user)
	if err != nil {
		return err
	}
	if invitee == actor.UserID {
		return OwnAgent()
	}
	offer := Offer{Invitee: invitee, Grant: g, At: s.clock.Now()}
	if event.recipientID, err = s.store.Offer(ctx, actor.UserID, agentID, offer, MaxInvitations); err != nil {
		return err
	}
	event.with = withInvitee(invitee)
	s.noteShare(ctx, actor, audit.AgentShared, event)
	return nil
}

// Unshare removes a user's grant or invitation, or with an empty user the grant of everybody. Content that the other
// account created with the agent stays in that account and its export, and is shown again if the agent is shared again.
func (s *Service) Unshare(ctx context.Context, actor core.Actor, agentID, user string) error {
	if err := s.Allow(ctx, actor, core.OpDeleteGrant, agentID); err != nil {
		return err
	}
	event := shareEvent{agentID: agentID, ownerID: actor.UserID, with: withEverybody}
	if user == "" {
		if err := s.store.DeleteShareWithAll(ctx, agentID, s.clock.Now()); err != nil {
			return err
		}
		s.noteShare(ctx, actor, audit.AgentUnshared, event)
		return nil
	}
	invitee, err := inviteeOf(user)
	if err != nil {
		return err
	}
	if event.recipientID, err = s.store.DeleteShare(ctx, agentID, invitee, s.clock.Now()); err != nil {
		return err
	}
	event.with = withInvitee(invitee)
	s.noteShare(ctx, actor, audit.AgentUnshared, event)
	return nil
}

// OwnAgent is the error for sharing an agent with its owner.
func OwnAgent() *core.Error {
	return core.InvalidField("userId", "This is your own account. Choose another one.")
}

// maxAddress is the maximum length of an e-mail address (RFC 5321, 4.5.3.1.3).
const maxAddress = 254

// inviteeOf normalises an e-mail address or account id. It checks the syntax only.
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
