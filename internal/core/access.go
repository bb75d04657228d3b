package core

import (
	"fmt"
	"slices"
	"time"
)

// The plans that exist until an operator makes others: everything without a cap, and no subscription.
const (
	PlanOpen = "open"
	PlanNone = "none"
)

// Scope is what a credential was made for.
type Scope string

// The scopes. Agents covers the daily work (search, chat, memories, favourites); manage adds making and changing
// agents and sources; account reaches keys, billing and settings, and no minted key ever has it; admin is for
// people who run the installation.
const (
	ScopeAgents  Scope = "agents"
	ScopeManage  Scope = "manage"
	ScopeAccount Scope = "account"
	ScopeAdmin   Scope = "admin"
)

// Capability is something that can be done with an agent; an agent's record lists the ones the caller has.
type Capability string

// The capabilities, in the order in which they are listed.
const (
	CapSearch     Capability = "search"
	CapChat       Capability = "chat"
	CapResearch   Capability = "research"
	CapMemories   Capability = "memories"
	CapFavourites Capability = "favourites"
	CapManage     Capability = "manage"
	// CapMCP is reaching agents through MCP. It is no part of an agent's record: whoever reads that is in already.
	CapMCP Capability = "mcp"
)

var capabilities = []Capability{CapSearch, CapChat, CapResearch, CapMemories, CapFavourites, CapManage}

// Allow decides everything about an operation that does not depend on an agent: what the credential and the plan permit,
// then what the account can pay for. It returns nil or the error to answer with.
func (a Actor) Allow(op Operation) error {
	if err := a.permit(op); err != nil {
		return err
	}
	return a.pay(op)
}

// permit decides what the credential, the role and the plan allow. Its refusals are forbidden errors.
func (a Actor) permit(op Operation) error {
	r, known := op.Rule()
	switch {
	case !known || r.Access == AccessPublic || a.UserID == "" && r.Access != AccessAdmin:
		return Forbidden("forbidden", "This is not allowed.")
	case r.Access == AccessUser:
		return nil
	case !a.reaches(r.Area):
		scope := areaScopes[r.Area]
		return &Error{
			Kind: KindForbidden, Code: "insufficient_scope", Scope: scope,
			Detail: "This credential was not made for this. Use one with the scope " + string(scope) + ".",
		}
	case r.accountWide() && len(a.Agents) > 0:
		return a.AllowWholeAccount()
	case r.Access == AccessAdmin && !a.Role.Administers():
		return Forbidden("forbidden", "This is for those who administer the installation.")
	case r.Session && !a.signedIn():
		return SessionRequired()
	case r.Plan != "" && a.Lacks.Has(r.Plan):
		return Forbidden("capability_disabled",
			"The plan of this account does not include this ("+string(r.Plan)+"). See what it includes at /api/account/subscription.")
	}
	return nil
}

// pay decides whether the account may have metered work done. Its refusals are payment_required errors. What is not
// metered stays possible without a subscription and at the spend cap.
func (a Actor) pay(op Operation) error {
	r, _ := op.Rule()
	switch {
	case !r.Metered:
		return nil
	case a.Plan == PlanNone:
		return &Error{
			Kind: KindPaymentRequired, Code: "no_subscription",
			Detail: "This account has no subscription. What is already here can be read; a plan is needed to search and to chat.",
		}
	case a.Spend.Capped && a.Spend.Used >= a.Spend.Cap:
		return a.Spend.Reached()
	case a.CredentialSpend.Capped && a.CredentialSpend.Used >= a.CredentialSpend.Cap:
		return a.CredentialSpend.Reached()
	}
	return nil
}

// Reached is the answer to work that would go beyond the cap.
func (s Spend) Reached() *Error {
	e := &Error{Kind: KindPaymentRequired, Code: "spend_cap_reached"}
	switch s.Of {
	case SpendOfTurn:
		e.Detail = fmt.Sprintf("One turn may spend %s (%s used). Ask for less at once; an admin can raise it.", USD(s.Cap), USD(s.Used))
	case SpendOfCredential:
		e.Detail = fmt.Sprintf("The spend cap of this credential, %s, is reached (%s used). It resets at %s; whoever owns it can raise it.",
			USD(s.Cap), USD(s.Used), s.ResetsAt.Format(time.RFC3339))
	default:
		e.Detail = fmt.Sprintf("The spend cap of %s is reached (%s used). It resets at %s; an admin can raise it.",
			USD(s.Cap), USD(s.Used), s.ResetsAt.Format(time.RFC3339))
	}
	return e
}

// AllowModel returns nil when the plan of the actor pays for this model, or no model is asked.
func (a Actor) AllowModel(name string) error {
	if name == "" || len(a.Models) == 0 || slices.Contains(a.Models, name) {
		return nil
	}
	return Forbidden("capability_disabled",
		"The plan of this account does not include this model. Choose another one for the agent; /api/account/subscription lists those it has.")
}

// capabilityOps ties each capability to the operation that it stands for.
var capabilityOps = map[Capability]Operation{
	CapSearch: OpSearch, CapChat: OpSendMessage, CapResearch: OpResearch,
	CapMemories: OpAddMemory, CapFavourites: OpSaveFavourite, CapManage: OpChangeAgent,
}

// Capabilities lists what the actor may do with an agent of theirs now.
func (a Actor) Capabilities() []Capability {
	out := make([]Capability, 0, len(capabilities))
	for _, c := range capabilities {
		if a.Allow(capabilityOps[c]) == nil {
			out = append(out, c)
		}
	}
	return out
}

// USD renders micro-dollars for a sentence.
func USD(micros int64) string {
	return fmt.Sprintf("%d.%02d USD", micros/1e6, micros%1e6/1e4)
}
