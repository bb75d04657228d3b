package core

import (
	"fmt"
	"slices"
	"time"

	"carrel/internal/lazyregexp"
)

// Built-in plans: PlanOpen includes everything without a cap, PlanNone means no subscription.
const (
	PlanOpen = "open"
	PlanNone = "none"
)

var planName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,49}$`)

// ValidPlanName reports whether name is a syntactically valid plan name. PlanNone is valid.
func ValidPlanName(name string) bool { return planName.MatchString(name) }

// Scope is a permission of a credential.
type Scope string

// The scopes. Agents covers search, chat, memories and favourites. Manage covers creating and changing agents and
// sources. Account covers keys, billing and settings; keys minted for connected programs never have it. Admin is for
// administrators.
const (
	ScopeAgents  Scope = "agents"
	ScopeManage  Scope = "manage"
	ScopeAccount Scope = "account"
	ScopeAdmin   Scope = "admin"
)

// Capability is a feature that a plan can include. The record of an agent lists the capabilities of the caller.
type Capability string

// The capabilities, in the order in which they are listed.
const (
	CapSearch     Capability = "search"
	CapChat       Capability = "chat"
	CapResearch   Capability = "research"
	CapMemories   Capability = "memories"
	CapFavourites Capability = "favourites"
	CapManage     Capability = "manage"
	// CapShare is sharing threads with links.
	CapShare Capability = "share"
	// CapMCP is access through MCP. It is not listed in agents' records.
	CapMCP Capability = "mcp"
)

var capabilities = []Capability{CapSearch, CapChat, CapResearch, CapMemories, CapFavourites, CapManage, CapShare}

// Allow decides whether the actor may carry out an operation, as far as that does not depend on an agent: first by
// credential and plan, then by payment. It returns nil or the error for the client.
func (a Actor) Allow(op Operation) error {
	if err := a.permit(op); err != nil {
		return err
	}
	return a.pay(op)
}

// permit decides by credential, role and plan. Its errors are of KindForbidden.
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
			Detail: "This credential lacks a scope. Use one with the scope " + string(scope) + ".",
		}
	case r.accountWide() && len(a.Agents) > 0:
		return a.AllowWholeAccount()
	case r.Access == AccessAdmin && !a.Role.Administers():
		return Forbidden("forbidden", "Only administrators of this installation may do this.")
	case r.Session && !a.signedIn():
		return SessionRequired()
	case r.Plan != "" && a.Lacks.Has(r.Plan):
		return Forbidden("capability_disabled",
			"The plan of this account does not include "+string(r.Plan)+". See /api/account/subscription for its capabilities.")
	}
	return nil
}

// pay decides whether the account can pay for a metered operation. Its errors are of KindPaymentRequired. Other
// operations remain allowed without a subscription and at the spend cap.
func (a Actor) pay(op Operation) error {
	r, _ := op.Rule()
	switch {
	case !r.Metered:
		return nil
	case a.Plan == PlanNone:
		return &Error{
			Kind: KindPaymentRequired, Code: "no_subscription",
			Detail: "This account has no subscription. Existing content stays readable; searching and chatting need a plan.",
		}
	case a.Spend.Capped && a.Spend.Used >= a.Spend.Cap:
		return a.Spend.Reached()
	case a.CredentialSpend.Capped && a.CredentialSpend.Used >= a.CredentialSpend.Cap:
		return a.CredentialSpend.Reached()
	}
	return nil
}

// Reached is the error for an operation beyond the cap.
func (s Spend) Reached() *Error {
	e := &Error{Kind: KindPaymentRequired, Code: "spend_cap_reached", Spend: &s}
	switch s.Of {
	case SpendOfTurn:
		e.Detail = fmt.Sprintf("A turn may spend %s (%s used). Ask a smaller question; an admin can raise the limit.",
			USD(s.Cap), USD(s.Used))
	case SpendOfCredential:
		e.Detail = fmt.Sprintf(
			"The spend cap of this credential, %s, is reached (%s used). It resets at %s; its owner can raise it.",
			USD(s.Cap), USD(s.Used), s.ResetsAt.Format(time.RFC3339))
	default:
		e.Detail = fmt.Sprintf("The spend cap of %s is reached (%s used). It resets at %s; an admin can raise it.",
			USD(s.Cap), USD(s.Used), s.ResetsAt.Format(time.RFC3339))
	}
	return e
}

// AllowModel checks that the actor's plan includes a model. An empty name is always allowed.
func (a Actor) AllowModel(name string) error {
	if name == "" || len(a.Models) == 0 || slices.Contains(a.Models, name) {
		return nil
	}
	return Forbidden("capability_disabled",
		"The plan of this account does not include this model. Choose another one for the agent; "+
			"/api/account/subscription lists the included ones.")
}

// capabilityOps maps each capability to an operation that needs it.
var capabilityOps = map[Capability]Operation{
	CapSearch: OpSearch, CapChat: OpSendMessage, CapResearch: OpResearch,
	CapMemories: OpAddMemory, CapFavourites: OpSaveFavourite, CapManage: OpChangeAgent,
	CapShare: OpCreateThreadLink,
}

// Capabilities lists what the actor may currently do with their own agents.
func (a Actor) Capabilities() []Capability {
	out := make([]Capability, 0, len(capabilities))
	for _, c := range capabilities {
		if a.Allow(capabilityOps[c]) == nil {
			out = append(out, c)
		}
	}
	return out
}

// USD formats micro-dollars for a message.
func USD(micros int64) string {
	return fmt.Sprintf("%d.%02d USD", micros/1e6, micros%1e6/1e4)
}

// accountWide reports whether an operation concerns the whole account or installation, not single agents.
func (r Rule) accountWide() bool {
	return r.Access == AccessAccount || r.Access == AccessAdmin || r.Area == AreaWebhooks
}

// AllowWholeAccount refuses a credential that is limited to certain agents. Such a credential must expose only these
// agents if it leaks, whatever its scopes: it may not read or change keys, sessions, usage, webhooks or exports. Allow
// applies it to every account-wide operation.
func (a Actor) AllowWholeAccount() error {
	if len(a.Agents) == 0 {
		return nil
	}
	return Forbidden("limited_to_agents",
		"This credential is limited to certain agents. Use one for the whole account.")
}
