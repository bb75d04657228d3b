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

// Operation is one thing a caller may ask for, as access sees it.
type Operation string

// The operations.
const (
	OpReadAgents      Operation = "read agents"
	OpManageAgents    Operation = "manage agents"
	OpSearch          Operation = "search"
	OpReadThreads     Operation = "read threads"
	OpWriteThreads    Operation = "write threads"
	OpSendMessage     Operation = "send a message"
	OpResearch        Operation = "have something researched"
	OpReadDocuments   Operation = "read documents"
	OpReadMemories    Operation = "read memories"
	OpWriteMemories   Operation = "write memories"
	OpReadFavourites  Operation = "read favourites"
	OpWriteFavourites Operation = "write favourites"
	OpKeys            Operation = "make keys and connect codes"
	OpBilling         Operation = "see and change what is paid"
	OpAccount         Operation = "change the account"
	OpAdmin           Operation = "administer the installation"
	OpUseMCP          Operation = "reach agents through MCP"
	OpOwnAgents       Operation = "delete and share agents"
)

// rule is what an operation asks of the caller. Metered work needs a subscription and room under the spend cap;
// what is already the user's stays readable without.
type rule struct {
	area    Area
	metered bool
	// needs is what the plan must have, or empty.
	needs Capability
	// grant is what the user must have of the agent, where it is about one.
	grant Grant
}

var rules = map[Operation]rule{
	OpReadAgents:      {area: AreaAgents, grant: GrantViewer},
	OpManageAgents:    {area: AreaManage, needs: CapManage, grant: GrantManager},
	OpSearch:          {area: AreaSearch, metered: true, needs: CapSearch, grant: GrantViewer},
	OpReadThreads:     {area: AreaChat, grant: GrantViewer},
	OpWriteThreads:    {area: AreaChat, needs: CapChat, grant: GrantUser},
	OpSendMessage:     {area: AreaChat, metered: true, needs: CapChat, grant: GrantUser},
	OpResearch:        {area: AreaChat, metered: true, needs: CapResearch, grant: GrantUser},
	OpReadDocuments:   {area: AreaSearch, grant: GrantViewer},
	OpReadMemories:    {area: AreaMemories, grant: GrantViewer},
	OpWriteMemories:   {area: AreaMemories, needs: CapMemories, grant: GrantUser},
	OpReadFavourites:  {area: AreaFavourites, grant: GrantViewer},
	OpWriteFavourites: {area: AreaFavourites, needs: CapFavourites, grant: GrantUser},
	OpKeys:            {area: AreaKeys},
	OpBilling:         {area: AreaBilling},
	OpAccount:         {area: AreaAccount},
	OpAdmin:           {area: AreaAdmin},
	OpUseMCP:          {area: AreaAgents, needs: CapMCP},
	OpOwnAgents:       {area: AreaManage, needs: CapManage, grant: GrantOwner},
}

// Allow is the one place where access is decided. It returns nil when the actor may do the operation, else the
// error to answer with: first what the credential may not, then what the account may not.
func (a Actor) Allow(op Operation) error {
	r, known := rules[op]
	switch {
	case !known || a.UserID == "" && op != OpAdmin:
		return Forbidden("forbidden", "This is not allowed.")
	case !a.reaches(r.area):
		scope := areaScopes[r.area]
		return &Error{
			Kind: KindForbidden, Code: "insufficient_scope", Scope: scope,
			Detail: "This credential was not made for this. Use one with the scope " + string(scope) + ".",
		}
	case r.area == AreaAdmin && !a.Role.Administers():
		return Forbidden("forbidden", "This is for those who administer the installation.")
	case r.needs != "" && a.Lacks.Has(r.needs):
		return Forbidden("capability_disabled",
			"The plan of this account does not include this ("+string(r.needs)+"). See what it includes at /api/account/subscription.")
	case !r.metered:
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

// AllowOn is Allow for an operation on an agent, which the credential must be able to touch. Whether the agent is
// there and the user's is for the store to say.
func (a Actor) AllowOn(op Operation, agentID string) error {
	if err := a.Allow(op); err != nil {
		return err
	}
	if !a.Touches(agentID) {
		return NotFound("agent")
	}
	return nil
}

// capabilityOps ties each capability to the operation that it stands for.
var capabilityOps = map[Capability]Operation{
	CapSearch: OpSearch, CapChat: OpSendMessage, CapResearch: OpResearch,
	CapMemories: OpWriteMemories, CapFavourites: OpWriteFavourites, CapManage: OpManageAgents,
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
