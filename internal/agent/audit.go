package agent

import (
	"context"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// shareEvent describes a share that began, changed or ended.
type shareEvent struct {
	agentID, ownerID string
	// recipientID is the account whose access changes at once. It is empty for an invitation and for a share with
	// everybody.
	recipientID string
	// with is the other party in the owner's entry.
	with string
	// grant is GrantNone if the share ended.
	grant core.Grant
}

const (
	withEverybody = "everybody"
	// withAddress replaces an e-mail address: the log must not contain addresses that were typed in, and the id of the
	// account would reveal that it exists.
	withAddress = "address"
)

// withInvitee returns the value of shareEvent.with for an account id or e-mail address.
func withInvitee(invitee string) string {
	if strings.Contains(invitee, "@") {
		return withAddress
	}
	return invitee
}

// noteShare records an event for the owner and the recipient. The entry of the account that did not cause it names the
// other account as the actor, without its credential and IP address, because each account can read its own entries.
func (s *Service) noteShare(ctx context.Context, actor core.Actor, event audit.Event, e shareEvent) {
	for _, userID := range []string{e.ownerID, e.recipientID} {
		if userID == "" {
			continue
		}
		r := audit.Record{Event: event, UserID: userID, Detail: map[string]string{"agent": e.agentID}}
		if e.grant != core.GrantNone {
			r.Detail["grant"] = e.grant.String()
		}
		if userID == e.ownerID {
			r.Detail["with"] = e.with
		}
		if r.Actor = audit.ActorID(actor); userID != actor.UserID {
			r.Actor, r.OmitAddress = actor.UserID, true
		}
		s.audit.Note(ctx, r)
	}
}
