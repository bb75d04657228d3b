package core

import (
	"maps"
	"slices"
)

//go:generate go run ./gen

// Operation is something that a caller may ask for: an operation of the contract by its operationId, or one of the few
// below that the contract has no id for.
type Operation string

// Operations that are not in the contract by themselves. OpResearch is a message that asks for research. OpUseMCP is the
// MCP endpoint as a whole. OpAccount, OpKeys, OpBilling and OpAdmin stand for a whole area, in services whose methods
// serve several operations of it.
const (
	OpResearch Operation = "research"
	OpUseMCP   Operation = "useMCP"
	OpAccount  Operation = "account"
	OpKeys     Operation = "keys"
	OpBilling  Operation = "billing"
	OpAdmin    Operation = "admin"
)

// Access is the level of access that an operation needs.
type Access uint8

// The levels. Read, Use, Manage and Own are levels of access to an agent and everything below it, and correspond to the
// grants viewer, user, manager and owner; without an agent in the path, they only say what the credential is needed for.
// Account and Admin are the caller's own account and the administration of the installation. A User operation takes any
// valid credential, and a Public one none. The zero value allows nothing.
const (
	AccessNone Access = iota
	AccessRead
	AccessUse
	AccessManage
	AccessOwn
	AccessAccount
	AccessAdmin
	AccessUser
	AccessPublic
)

// grants are the grants that the levels of access to an agent correspond to.
var grants = map[Access]Grant{
	AccessRead: GrantViewer, AccessUse: GrantUser, AccessManage: GrantManager, AccessOwn: GrantOwner,
}

// Grant is the least grant with which a user has this level of access to an agent.
func (a Access) Grant() Grant { return grants[a] }

// Rule is what an operation asks of its caller.
type Rule struct {
	Access Access
	// Area is the part of the service that the credential must reach.
	Area Area
	// Plan is the capability that the user's plan must include, or empty.
	Plan Capability
	// Metered operations need a subscription and room under the spend cap.
	Metered bool
	// Session operations are never allowed to keys and tokens, whatever their scopes.
	Session bool
	// Proof operations need a session whose user proved who they are within ProofLife; see Actor.Proved.
	Proof bool
	// OnAgent operations have an agent in their path, for which the user needs the grant of Access.
	OnAgent bool
}

// others are the rules of the operations that are not in the contract by themselves.
var others = map[Operation]Rule{
	OpResearch: {Access: AccessUse, Area: AreaChat, Plan: CapResearch, Metered: true, OnAgent: true},
	OpUseMCP:   {Access: AccessRead, Area: AreaAgents, Plan: CapMCP},
	OpAccount:  {Access: AccessAccount, Area: AreaAccount},
	OpKeys:     {Access: AccessAccount, Area: AreaKeys},
	OpBilling:  {Access: AccessAccount, Area: AreaBilling},
	OpAdmin:    {Access: AccessAdmin, Area: AreaAdmin},
}

// Rule returns what the operation asks of its caller. An unknown operation has no rule and is allowed to nobody.
func (op Operation) Rule() (Rule, bool) {
	r, ok := operations[op]
	if !ok {
		r, ok = others[op]
	}
	return r, ok
}

// Operations lists the operations of the contract, sorted.
func Operations() []Operation { return slices.Sorted(maps.Keys(operations)) }
